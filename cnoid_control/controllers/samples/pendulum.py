"""A pendulum is held by the torque of its joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cnoid_control.parameters import parameter
from cnoid_control.plugin import ControllerIO, SimpleController, StateFlag


@dataclass
class PendulumParameters:
    """Options of PendulumController."""

    kp: float = parameter(100.0, 'position gain', unit='N m/rad', minimum=0.0)
    kd: float = parameter(10.0, 'velocity gain', unit='N m s/rad', minimum=0.0)
    goal: float = parameter(0.0, 'angle to go to', unit='rad')


class PendulumController(SimpleController):
    """PD control of one joint; the velocity is the difference of two angles."""

    Parameters = PendulumParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Command the torque of the first joint and read its angle."""
        self.io, self.dt = io, io.time_step
        self.joint = io.body.joint(0)
        self.joint.actuation_mode = StateFlag.JOINT_TORQUE
        io.enable_io(self.joint)
        self.q_old = self.joint.q
        return True

    def update_parameters(self, old: Any, new: Any) -> None:
        """Follow all options: control() reads them in every tick."""

    def control(self) -> bool:
        """One tick of PD control."""
        q, options = self.joint.q, self.io.parameters
        dq = (q - self.q_old) / self.dt
        self.joint.q_target = options.goal
        self.joint.u = (options.goal - q) * options.kp - dq * options.kd
        self.q_old = q
        return True
