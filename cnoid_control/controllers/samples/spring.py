"""A slider hangs on a spring that exists in the controller only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cnoid_control.parameters import parameter
from cnoid_control.plugin import ControllerIO, SimpleController, StateFlag


@dataclass
class SpringParameters:
    """Options of SpringController."""

    stiffness: float = parameter(200.0, 'force per displacement', unit='N/m', minimum=0.0)
    damping: float = parameter(2.0, 'force per velocity', unit='N s/m', minimum=0.0)


class SpringController(SimpleController):
    """Virtual springs and dampers on all joints."""

    Parameters = SpringParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Command forces, read displacements and velocities."""
        self.io, self.body = io, io.body
        for joint in self.body.joints:
            io.enable_output(joint, StateFlag.JOINT_FORCE)
            io.enable_input(joint, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
        # The springs rest where the displacements are 0.
        self.body.q_target[:] = 0.0
        return True

    def update_parameters(self, old: Any, new: Any) -> None:
        """Follow all options: control() reads them in every tick."""

    def control(self) -> bool:
        """Pull towards 0."""
        body, spring = self.body, self.io.parameters
        body.u[:] = -spring.stiffness * body.q - spring.damping * body.dq
        return True
