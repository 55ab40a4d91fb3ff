"""Conveyor belts that run at a speed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cnoid_control.body import JointType, StateFlag
from cnoid_control.controllers.vehicles.wheels import find_joint
from cnoid_control.parameters import ParameterError, parameter
from cnoid_control.plugin import ControllerIO, SimpleController
from cnoid_control.plugin.mailbox import Value


@dataclass
class ConveyorParameters:
    """Options of ConveyorController."""

    belts: list[str] = parameter([], 'belts; where empty all tracks of the model', read_only=True)
    speed: float = parameter(0.2, 'speed of the belts', unit='m/s')
    acceleration: float = parameter(
        1.0, 'change of speed; 0 for at once', unit='m/s^2', minimum=0.0
    )


class ConveyorController(SimpleController):
    """Lets belts run at the speed of the options, or at that of the mailbox `speed`."""

    Parameters = ConveyorParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Command the belts."""
        self.io = io
        names = io.parameters.belts or [
            link.name
            for link in io.body.links
            if link.joint_type is JointType.PSEUDO_CONTINUOUS_TRACK
        ]
        key = f'{io.controller_name}.belts'
        self.belts = [find_joint(io.body, name, key) for name in names]
        for belt in self.belts:
            if belt.joint_type is not JointType.PSEUDO_CONTINUOUS_TRACK:
                raise ParameterError(key, f'{belt.name!r} is no track but {belt.joint_type.value}')
            io.enable_output(belt, StateFlag.JOINT_VELOCITY)
            io.enable_input(belt, StateFlag.JOINT_DISPLACEMENT)
        if not self.belts:
            raise ParameterError(key, f'{io.body.name} has no track')
        self.speeds = io.mailbox('speed', Value)
        self.goal = io.parameters.speed
        self.speed = 0.0
        return True

    def update_parameters(self, old: ConveyorParameters, new: Any) -> None:
        """Follow the speed."""
        if new.speed != old.speed:
            self.goal = new.speed

    def control(self) -> bool:
        """One tick of running."""
        received = self.speeds.take_latest()
        if received is not None:
            self.goal = received.value
        change = self.goal - self.speed
        if self.io.parameters.acceleration > 0.0:
            most = self.io.parameters.acceleration * self.io.time_step
            change = min(max(change, -most), most)
        self.speed += change
        for belt in self.belts:
            belt.dq_target = self.speed
        return True

    def report(self) -> dict[str, float]:
        """Way that each belt has gone [m]."""
        return {f'way_{belt.name}': belt.q for belt in self.belts}
