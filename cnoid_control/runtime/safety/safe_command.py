"""The safe command: what a robot is told when no controller may command it.

One rule for the safe state, for command controllers that are being switched to, for the end of a
run and for the heartbeat monitor: joints commanded by position hold the measured position, those
commanded by velocity stand still, those commanded by effort hold, damp or relax while the state
is fresh; without a fresh state their effort fades to zero. PID actuators are given the gains to
do so themselves; without a fresh state their stiffness fades to zero and their damping stays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cnoid_control.body import Body, StateFlag
from cnoid_control.body.channels import DAMPING, POSITION
from cnoid_control.runtime.safety.commands import Commands
from cnoid_control.runtime.safety.hold import Hold
from cnoid_control.runtime.safety.joint_limits import JointLimits, model_limits


class SafeCommand:
    """Safe command of a whole robot, tick by tick.

    Attributes:
        commands: the command of the last `update`.
        effort: what joints commanded by effort do: 'hold', 'damping' or 'zero'.
        limits: limits of efforts and gains; more would count as implausible.
    """

    def __init__(
        self,
        body: Body,
        time_step: float,
        kp: float | list[float] = 0.0,
        kd: float | list[float] = 0.0,
        frequency: float = 50.0,
        fade_time: float = 0.5,
        limits: JointLimits | None = None,
    ) -> None:
        """Prepare to hold; `capture` begins.

        Args:
            body: the robot, with the measured state.
            time_step: period of a tick [s].
            kp: stiffness, one for all joints or one each; 0 for one from the joint's inertia.
            kd: damping, one for all joints or one each; 0 for one from the joint's inertia.
            frequency: natural frequency where gains come from the inertia [rad/s].
            fade_time: time in which efforts fade to zero without a fresh state [s].
            limits: limits of efforts and gains; the model's where None.
        """
        self.commands = Commands.of(body).copy()
        self.effort = 'hold'
        self.limits = limits or model_limits(body)
        self._hold = Hold(body, time_step, kp, kd, frequency)
        self._fade_time = fade_time
        self._stale_time = 0.0
        self._modes: Sequence[StateFlag] | None = None

    def capture(
        self,
        effort: str,
        sent: Commands | None = None,
        modes: Sequence[StateFlag] | None = None,
    ) -> None:
        """Hold the state that is measured now.

        Args:
            effort: what joints commanded by effort do: 'hold', 'damping' or 'zero'.
            sent: what was sent last, which fades where the state is stale already; the last
                safe command where None.
            modes: what commands each joint, where that is about to change; what does so now
                where None.
        """
        self.effort = effort
        self._modes = modes
        self._stale_time = 0.0
        if sent is not None:
            self.commands.take(sent)
        self._hold.capture(modes)

    def update(self, dt: float, fresh: bool, tracks: bool = False) -> Commands:
        """The safe command for the present state.

        Args:
            dt: time since the last one [s].
            fresh: whether the measured state is up to date.
            tracks: whether nobody receives the commands: positions then follow the measured
                ones and efforts fade, so that the robot does not jump when somebody does again.
        """
        commands = self.commands
        if tracks:
            self._hold.follow()
        elif fresh and self._stale_time > 0.0:
            # The robot has moved, nobody knows where to: there is no way back to the old posture.
            self._hold.capture(self._modes)
        last = np.array((commands.u, commands.kp))
        self._hold.write(
            commands,
            stiffness=1.0 if self.effort == 'hold' else 0.0,
            damping=0.0 if self.effort == 'zero' else 1.0,
        )
        limits, stiffness = self.limits, self._hold.with_gains
        np.clip(commands.u, limits.u_lower, limits.u_upper, out=commands.u)
        np.fmin(commands.kp, limits.kp_max, out=commands.kp, where=stiffness)
        np.fmin(commands.kd, limits.kd_max, out=commands.kd, where=stiffness)
        if self.effort == 'zero':
            commands.u[:] = 0.0
        elif fresh and not tracks:
            self._stale_time = 0.0
        else:
            # What acted with the last fresh state fades: what is left of the ramp, tick by tick.
            left = max(0.0, self._fade_time - self._stale_time)
            self._stale_time += dt
            still = max(0.0, self._fade_time - self._stale_time)
            np.nan_to_num(last, copy=False, nan=0.0, posinf=0.0, neginf=0.0)
            last *= still / left if left > 0.0 else 0.0
            commands.u[:] = last[0]
            np.fmin(commands.kp, last[1], out=commands.kp, where=stiffness)
        return commands


def write_final_command(body: Body) -> None:
    """Write the command that leaves a robot safe for good: hold positions, no more efforts.

    PID actuators lose their stiffness and keep their damping: nobody will tell them when to let
    go of a position, and damping never drives a joint. The held position is the measured one,
    within the limits unless it was commanded already.
    """
    limited = body.q_lower < body.q_upper
    lower = np.where(limited, np.fmin(body.q_lower, body.q_target), -np.inf)
    upper = np.where(limited, np.fmax(body.q_upper, body.q_target), np.inf)
    np.copyto(body.q_target, np.clip(body.q, lower, upper), where=np.isfinite(body.q))
    body.dq_target[:] = 0.0
    body.u[:] = 0.0
    body.kp[:] = 0.0
    body.ki[:] = 0.0
    # A run may end before the limiter has seen what a controller has written.
    np.copyto(body.kd, 0.0, where=~((body.kd > 0.0) & np.isfinite(body.kd)))


def final_values(interface: str, position: np.ndarray) -> np.ndarray | None:
    """The same for the joints of one ros2_control interface, from their measured positions.

    Args:
        interface: name of the interface.
        position: measured positions [rad] or [m]; not finite where unknown.

    Returns:
        What is to be sent; None where what was sent last is to stay.
    """
    if interface == DAMPING.interface:
        return None
    return position.copy() if interface == POSITION.interface else np.zeros(len(position))
