"""PD control as a user writes it: what the control node runs in the benchmark."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cnoid_control.body import StateFlag
from cnoid_control.parameters import parameter
from cnoid_control.plugin import ControllerIO, SimpleController
from cnoid_control.plugin.joint_values import JointPosture, posture_of


@dataclass
class HoldingParameters:
    """Options of HoldingController."""

    kp: float = parameter(1000.0, 'position gain', unit='N m/rad', minimum=0.0)
    kd: float = parameter(1.0, 'velocity gain', unit='N m s/rad', minimum=0.0)
    posture: JointPosture = parameter([], 'what to hold', unit='rad')
    sensors: list[str] = parameter([], 'devices that are read', read_only=True)


class HoldingController(SimpleController):
    """Holds a posture by joint efforts, and reads the sensors that are named."""

    Parameters = HoldingParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Command efforts; read displacements, velocities and the devices."""
        self.body, self.given = io.body, io.parameters
        self.q_ref = posture_of(io.body, 'posture', self.given.posture, io.body.q.copy())
        for joint in self.body.joints:
            joint.actuation_mode = StateFlag.JOINT_EFFORT
            io.enable_io(joint)
            io.enable_input(joint, StateFlag.JOINT_VELOCITY)
        for name in self.given.sensors:
            io.enable_input(self.body.device(name))
        return True

    def update_parameters(self, old: HoldingParameters, new: HoldingParameters) -> None:
        """Use other gains at once, and another posture."""
        self.given = new
        self.q_ref = posture_of(self.body, 'posture', new.posture, self.q_ref)

    def control(self) -> bool:
        """One tick of PD control."""
        body, given = self.body, self.given
        np.multiply(self.q_ref - body.q, given.kp, out=body.u)
        body.u -= given.kd * body.dq
        return True
