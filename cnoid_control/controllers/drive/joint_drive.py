"""Commands of joint actuators, turned into what the robot's channels take."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from cnoid_control.body import StateFlag
from cnoid_control.body.gains import JointGains, joint_gains
from cnoid_control.controllers.drive.laws import (
    GAINS,
    DriveError,
    DriveParameters,
    Pid,
    spread,
)
from cnoid_control.exceptions import choices
from cnoid_control.plugin import ControllerIO

ARRAYS = ('q', 'dq', 'q_target', 'dq_target', 'u', *GAINS)

CHANNEL_OF = {
    'hardware': StateFlag.JOINT_PID,
    'controller': StateFlag.JOINT_EFFORT,
    'servo': StateFlag.JOINT_DISPLACEMENT,
}


class DriveMode(IntEnum):
    """What an actuator follows."""

    OFF = 0
    TORQUE = 1
    PID = 2
    VELOCITY = 3


# Looking a member of an enumeration up takes as long as all else that a setter does.
_OFF, _TORQUE, _PID, _VELOCITY = (int(mode) for mode in DriveMode)


class JointDrive:
    """Actuators of some joints of a robot, each in a mode of its own.

    Setters take effect with the next `write`; what was set stays in force until it is set again.
    Without a command yet a joint holds the position where it started.

    Attributes:
        names: joints, in the order of all arrays here.
        joints: their ids.
        q, dq, u: commanded position, velocity and torque (or feed-forward torque), shape (n,).
        gains: kp, ki and kd in force in the modes PID and VELOCITY, shape (3, n).
        modes: what each joint follows, shape (n,).
    """

    def __init__(self, io: ControllerIO, parameters: DriveParameters) -> None:
        """Enable what the actuators need and hold the position.

        Args:
            io: the controller's io, in initialize().
            parameters: options.

        Raises:
            UnknownJoint: a joint does not exist, or has no id.
            ParameterError: a list of gains has not one value per joint.
        """
        body = io.body
        named = parameters.joints or [joint.joint_name for joint in body.joints if joint.name]
        links = [body.joint(name) for name in named]
        self.names = tuple(named)
        self.joints = body.joint_ids(named)
        self._io = io
        self._kind = parameters.actuators
        # Go on from the positions that were commanded before, if they were.
        servoed = [StateFlag.JOINT_DISPLACEMENT in link.actuation_mode for link in links]
        targets, measured = body.q_target[self.joints], body.q[self.joints]
        self.q = np.where(servoed, targets, measured)
        for link in links:
            io.enable_output(link, CHANNEL_OF[self._kind])
            io.enable_input(link, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
        size = len(links)
        self._automatic: JointGains | None = None
        self.gains = self.find_gains(parameters)
        self.modes = np.full(size, _PID)
        self.dq = np.zeros(size)
        self.u = np.zeros(size)
        self._aims = np.full(size, np.nan)
        in_order = np.array_equal(self.joints, np.arange(body.num_joints))
        # A slice where these are all joints: copying through one is much cheaper.
        self._index: slice | np.ndarray = slice(None) if in_order else self.joints
        self._arrays = {name: body.joint_arrays[name][: body.num_joints] for name in ARRAYS}
        self._range = body.q_lower[self.joints].copy(), body.q_upper[self.joints].copy()
        # A little less than the limits, which a sum of steps must not exceed by rounding.
        self._speeds = body.dq_lower[self.joints] * 0.999, body.dq_upper[self.joints] * 0.999
        self._pid = Pid(
            body.u_lower[self.joints].copy(),
            body.u_upper[self.joints].copy(),
            lambda kind, limited: io.count_limited(kind, self.joints[limited]),
        )
        self.write(0.0)

    def find_gains(self, parameters: DriveParameters) -> np.ndarray:
        """The gains kp, ki and kd that options ask for, shape (3, n).

        Raises:
            ParameterError: a list has not one value per joint.
        """
        size, given = self.size, parameters
        ki = spread('ki', given.ki, size)
        if given.kp != [] and given.kd != []:
            return np.array([spread('kp', given.kp, size), ki, spread('kd', given.kd, size)])
        body, joints = self._io.body, self.joints
        if self._automatic is None:
            body.calc_forward_kinematics()
            self._automatic = joint_gains(body, self._io.time_step)
        auto = self._automatic
        all_kp = auto.kp.copy()
        if given.kp != []:
            all_kp[joints] = spread('kp', given.kp, size)
        # Damping belongs to the stiffness that is in force; the model's own to the model's own.
        all_kd = np.where(all_kp == auto.kp, auto.kd, auto.damping_of(all_kp))
        kd = all_kd[joints] if given.kd == [] else spread('kd', given.kd, size)
        return np.array([all_kp[joints], ki, kd])

    @property
    def size(self) -> int:
        """Number of joints."""
        return len(self.names)

    @property
    def sensed_q(self) -> np.ndarray:
        """Measured positions [rad] or [m], shape (n,)."""
        return self._arrays['q'][self.joints]

    @property
    def sensed_dq(self) -> np.ndarray:
        """Measured velocities [rad/s] or [m/s], shape (n,)."""
        return self._arrays['dq'][self.joints]

    def places(self, joints: Sequence[str] | None) -> np.ndarray:
        """Places of joints in the arrays; of all where None.

        Raises:
            DriveError: a joint is not driven here.
        """
        if joints is None:
            return np.arange(self.size)
        for name in joints:
            if name not in self.names:
                raise DriveError(f'unknown joint {name!r}; {choices(self.names)}')
        return np.array([self.names.index(name) for name in joints], dtype=np.intp)

    # --- commands -----------------------------------------------------------------------------

    def set_pid(
        self,
        places: np.ndarray,
        q: np.ndarray,
        dq: np.ndarray | float = 0.0,
        feedforward: np.ndarray | float = 0.0,
    ) -> None:
        """Servo joints (by place) to positions and velocities, with torques added."""
        self.modes[places] = _PID
        self.q[places], self.dq[places], self.u[places] = q, dq, feedforward

    def set_velocity(self, places: np.ndarray, dq: np.ndarray | float) -> None:
        """Drive joints at velocities, from the commanded position on."""
        self.modes[places] = _VELOCITY
        self.dq[places], self.u[places] = dq, 0.0

    def set_torque(
        self, places: np.ndarray, u: np.ndarray | float, aims: np.ndarray | float = np.nan
    ) -> None:
        """Give joints torques.

        Args:
            places: the joints.
            u: the torques.
            aims: positions that they are for, shown in logs; NaN for none.

        Raises:
            DriveError: the robot's actuators are position servos.
        """
        if self._kind == 'servo':
            raise DriveError(
                f'{", ".join(self.names[i] for i in places)}: position servos take no torque; '
                "use actuators 'hardware' or 'controller'"
            )
        self.modes[places] = _TORQUE
        self.u[places], self._aims[places] = u, aims

    def set_off(self, places: np.ndarray) -> None:
        """Let joints go: no torque at all."""
        self.set_torque(places, 0.0)
        self.modes[places] = _OFF

    # --- towards the robot --------------------------------------------------------------------

    def write(self, dt: float) -> None:
        """Put the commands into the io body.

        Args:
            dt: time for which they are the commands [s].
        """
        arrays, index = self._arrays, self._index
        gains = self.gains
        if not (self.modes == _PID).all():
            gains = self._prepare(dt)
        arrays['q_target'][index] = self.q if gains is self.gains else self._shown(dt)
        if self._kind == 'servo':
            return
        if self._kind == 'hardware':
            arrays['dq_target'][index] = self.dq
            arrays['u'][index] = self.u
            for name, row in zip(GAINS, gains, strict=True):
                arrays[name][index] = row
        else:
            error, rate = self.q - arrays['q'][index], self.dq - arrays['dq'][index]
            arrays['u'][index] = self._pid.effort(error, rate, self.u, gains, dt)

    def _shown(self, dt: float) -> np.ndarray:
        """Targets that are written: without stiffness one only says what the torque is for."""
        aims = np.where(self.modes == _TORQUE, self._aims, np.nan)
        if self._kind == 'hardware':
            # It goes along with a command and is held to the same limits: no jump is to count.
            before, (slowest, fastest) = self._arrays['q_target'][self.joints], self._speeds
            steps = np.clip(aims - before, slowest * dt, fastest * dt)
            aims = np.clip(before + steps, *self._range)
        return np.where(np.isnan(aims), self.q, aims)

    def _prepare(self, dt: float) -> np.ndarray:
        """Move the references of joints that are not servoed; gains of all, shape (3, n)."""
        rolling = self.modes == _VELOCITY
        if rolling.any():
            lower, upper = self._range
            moved = self.q + self.dq * dt
            held = np.clip(moved, lower, upper)
            self.q[rolling] = held[rolling]
            stopped = rolling & (held != moved)
            if stopped.any():
                self._io.count_limited('position', self.joints[stopped])
        free = self.modes < _PID
        # A joint without position control takes its place for the reference, so that it does not
        # jump when it is servoed again.
        self.q[free] = self.sensed_q[free]
        self.dq[free] = 0.0
        return np.where(free, 0.0, self.gains)
