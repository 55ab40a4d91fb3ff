"""PID actuators of a robot that takes efforts only, computed here in every tick."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.gains import DAMPING_STEP, joint_gains
from cnoid_control.runtime.safety.commands import Commands
from cnoid_control.runtime.safety.joint_limits import JointLimits

# Time in which efforts fade to zero when states are no longer known [s].
FADE_TIME = 0.5


class ComputedPid:
    """Turns the commands of PID actuators into efforts.

    Attributes:
        joints: which joints have such an actuator, shape (num_joints,).
        is_used: whether any joint has.
        efforts: what is sent of all joints [N m] or [N]: efforts that are commanded, and those
            that are computed.
        kd_limit: damping from which on a joint vibrates, shape (num_joints,); see
            `find_kd_limit`.
    """

    def __init__(
        self,
        body: Body,
        limits: Callable[[], JointLimits],
        on_limit: Callable[[str, np.ndarray], None] | None = None,
    ) -> None:
        """Compute nothing yet.

        Args:
            body: the robot, with its commands and the measured state.
            limits: gives the limits of the efforts.
            on_limit: told what was limited, 'effort' or 'integral', and the joints' ids.
        """
        self._on_limit = on_limit
        self.joints = np.zeros(body.num_joints, dtype=bool)
        self.is_used = False
        self.efforts = body.u.copy()
        self.kd_limit = np.full(body.num_joints, np.inf)
        self._body = body
        self._limits = limits
        self._commands = Commands.of(body)
        self._integral = np.zeros(body.num_joints)

    def find_kd_limit(self, time_step: float) -> None:
        """Find how much damping can be computed with this period [s]; not in the loop's thread."""
        if np.isinf(self.kd_limit).all():
            body = self._body.clone()
            body.calc_forward_kinematics()
            self.kd_limit = joint_gains(body, time_step).kd_limit / DAMPING_STEP

    def vibrating(self) -> np.ndarray:
        """Ids of the joints whose damping acts too late to damp at this period."""
        return np.flatnonzero(self.joints & (self._commands.kd > self.kd_limit))

    def use(self, joints: np.ndarray) -> None:
        """Compute the efforts of these joints from now on; integrals of others are forgotten.

        Args:
            joints: which ones, shape (num_joints,).
        """
        self._integral = np.where(joints & self.joints, self._integral, 0.0)
        self.joints = joints
        self.is_used = bool(joints.any())

    def update(self, dt: float, stale: float = 0.0) -> None:
        """Compute the efforts for the present state and commands.

        Args:
            dt: time since the state before [s]; 0 where the state is the same.
            stale: time for which no state has come that should have [s]: what is computed for a
                state that is not known any more fades.
        """
        body, commands, limits = self._body, self._commands, self._limits()
        efforts = commands.pid_effort(body.q, body.dq)
        if commands.ki.any() and dt > 0.0:
            moved = self._integral + commands.ki * (commands.q_target - body.q) * dt
            held = np.clip(_finite(moved), limits.u_lower, limits.u_upper)
            self._integral = np.where(commands.ki > 0.0, held, 0.0)
            self._tell('integral', (commands.ki > 0.0) & (held != moved))
        efforts += np.where(commands.ki > 0.0, self._integral, 0.0)
        efforts *= max(0.0, 1.0 - stale / FADE_TIME)
        # After the limiter: what is finite, gains and errors, may have a product that is not.
        given = np.clip(_finite(efforts), limits.u_lower, limits.u_upper)
        if dt > 0.0:
            self._tell('effort', given != efforts)
        self.efforts[:] = np.where(self.joints, given, commands.u)

    def _tell(self, kind: str, where: np.ndarray) -> None:
        where &= self.joints
        if self._on_limit is not None and where.any():
            self._on_limit(kind, np.flatnonzero(where))


def _finite(values: np.ndarray) -> np.ndarray:
    """The values, with 0 in the place of those that are too large for a number."""
    return np.nan_to_num(values, copy=False, nan=0.0, posinf=0.0, neginf=0.0)
