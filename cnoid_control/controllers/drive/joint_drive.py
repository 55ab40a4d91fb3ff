"""Commands of joint actuators, turned into what the robot's channels take."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from cnoid_control.body import StateFlag
from cnoid_control.controllers.drive.drive_parameters import GAINS, DriveParameters
from cnoid_control.controllers.drive.exceptions import TorqueNotAvailable, UnknownDrivenJoint
from cnoid_control.controllers.drive.pid import Pid
from cnoid_control.plugin import ControllerIO

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
            UnknownJoint: a joint does not exist.
            ParameterOutOfRange: a list of gains has not one value a joint.
        """
        body = io.body
        named = parameters.joints or [joint.joint_name for joint in body.joints if joint.name]
        links = [body.joint(name) for name in named]
        self.names = tuple(named)
        self.joints = np.array([link.joint_id for link in links], dtype=np.intp)
        self._io = io
        self._body = body
        self._kind = parameters.actuators
        # Go on from the positions that were commanded before, if they were.
        servoed = [StateFlag.JOINT_DISPLACEMENT in link.actuation_mode for link in links]
        targets, measured = body.q_target[self.joints], body.q[self.joints]
        self.q = np.where(servoed, targets, measured)
        for link in links:
            io.enable_output(link, CHANNEL_OF[self._kind])
            io.enable_input(link, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
        size = len(links)
        self.gains = parameters.gains(size)
        self.modes = np.full(size, DriveMode.PID)
        self.dq = np.zeros(size)
        self.u = np.zeros(size)
        self._pid = Pid(body.u_lower[self.joints].copy(), body.u_upper[self.joints].copy())
        self.write(0.0)

    @property
    def size(self) -> int:
        """Number of joints."""
        return len(self.names)

    @property
    def sensed_q(self) -> np.ndarray:
        """Measured positions [rad] or [m], shape (n,)."""
        return self._body.q[self.joints]

    @property
    def sensed_dq(self) -> np.ndarray:
        """Measured velocities [rad/s] or [m/s], shape (n,)."""
        return self._body.dq[self.joints]

    def places(self, joints: Sequence[str] | None) -> np.ndarray:
        """Places of joints in the arrays; of all where None.

        Raises:
            UnknownDrivenJoint: a joint is not driven here.
        """
        if joints is None:
            return np.arange(self.size)
        for name in joints:
            if name not in self.names:
                raise UnknownDrivenJoint(name, self.names)
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
        self.modes[places] = DriveMode.PID
        self.q[places], self.dq[places], self.u[places] = q, dq, feedforward

    def set_velocity(self, places: np.ndarray, dq: np.ndarray | float) -> None:
        """Drive joints at velocities, from the commanded position on."""
        self.modes[places] = DriveMode.VELOCITY
        self.dq[places], self.u[places] = dq, 0.0

    def set_torque(self, places: np.ndarray, u: np.ndarray | float) -> None:
        """Give joints torques.

        Raises:
            TorqueNotAvailable: the robot's actuators are position servos.
        """
        if self._kind == 'servo':
            raise TorqueNotAvailable([self.names[i] for i in places])
        self.modes[places] = DriveMode.TORQUE
        self.u[places] = u

    def set_off(self, places: np.ndarray) -> None:
        """Let joints go: no torque at all."""
        self.set_torque(places, 0.0)
        self.modes[places] = DriveMode.OFF

    # --- towards the robot --------------------------------------------------------------------

    def write(self, dt: float) -> None:
        """Put the commands into the io body.

        Args:
            dt: time for which they are the commands [s].
        """
        rolling = self.modes == DriveMode.VELOCITY
        if rolling.any():
            self.q[rolling] += self.dq[rolling] * dt
        follows = self.modes >= DriveMode.PID
        # A joint without position control takes its place for the reference, so that it does not
        # jump when it is servoed again.
        if not follows.all():
            self.q[~follows] = self.sensed_q[~follows]
            self.dq[~follows] = 0.0
        body, joints = self._body, self.joints
        body.q_target[joints] = self.q
        if self._kind == 'servo':
            return
        gains = np.where(follows, self.gains, 0.0)
        if self._kind == 'hardware':
            body.dq_target[joints] = self.dq
            body.u[joints] = self.u
            for name, row in zip(GAINS, gains, strict=True):
                getattr(body, name)[joints] = row
        else:
            error, rate = self.q - self.sensed_q, self.dq - self.sensed_dq
            body.u[joints] = self._pid.effort(error, rate, self.u, gains, dt)
