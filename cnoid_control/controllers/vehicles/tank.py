"""A tank driven by a joystick, with a turret, and with lights and sensors on buttons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cnoid_control.body import Device
from cnoid_control.body.devices import SpotLight
from cnoid_control.controllers.vehicles.differential import (
    DifferentialDrive,
    DifferentialParameters,
)
from cnoid_control.controllers.vehicles.stick_joints import StickJointParameters, StickJoints
from cnoid_control.controllers.velocity_command import VelocityCommand
from cnoid_control.exceptions import choices
from cnoid_control.parameters import ParameterError, parameter
from cnoid_control.plugin import ControllerIO, SimpleController


@dataclass
class TankParameters(DifferentialParameters):
    """Options of TankJoystickLightController."""

    turret: StickJointParameters = field(default_factory=StickJointParameters)
    switches: dict[str, int] = parameter(
        {}, 'number of the button that switches each device, by its name', minimum=0,
        read_only=True,
    )  # fmt: skip
    narrow_button: int = parameter(
        -1, 'button that narrows the beams of the spot lights; negative for none', minimum=-1
    )
    wide_button: int = parameter(
        -1, 'button that widens the beams of the spot lights; negative for none', minimum=-1
    )
    beam_speed: float = parameter(0.5, 'how fast the beams change', unit='rad/s', minimum=0.0)


class TankJoystickLightController(SimpleController):
    """Drives a tank, turns its turret, and switches its lights and cameras by buttons.

    All switched devices are on at the start. A button toggles its device when it goes down.

    Attributes:
        switched: how often each device was switched.
    """

    Parameters = TankParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Enable tracks, turret and switched devices."""
        self.io, name = io, io.controller_name
        self.base = DifferentialDrive(io, io.parameters, name)
        self.turret = StickJoints(io, io.parameters.turret, f'{name}.turret')
        devices = {device.name: device for device in io.body.devices}
        for device in io.parameters.switches:
            if device not in devices:
                raise ParameterError(
                    f'{name}.switches.{device}', f'unknown device; {choices(devices)}'
                )
        self.devices = [(devices[key], key) for key in io.parameters.switches]
        for switched, _ in self.devices:
            io.enable_output(switched)
        self.switched = dict.fromkeys(io.parameters.switches, 0)
        self.command = VelocityCommand(io, io.parameters.velocity, f'{name}.velocity')
        self.started = False
        return True

    def update_parameters(self, old: Any, new: Any) -> None:
        """Follow speeds; control() reads the others in every tick."""
        self.command.use(new.velocity)

    def control(self) -> bool:
        """One tick of driving, aiming and switching."""
        options = self.io.parameters
        linear, _, angular = self.command.read(self.io.current_time, self.io.time_step)
        self.base.drive(float(linear), float(angular), options)
        self.turret.follow(self.command.joystick, options.turret)
        for device, name in self.devices:
            if self._switch(device, name) | self._set_beam(device):
                # Without this the robot's device stays as it is.
                device.notify_state_change()
        self.started = True
        return True

    def _switch(self, device: Device, name: str) -> bool:
        """Switch a device by its button; whether it was switched."""
        if not self.started:
            device.on = True
            return True
        if not self.command.joystick.was_pressed(self.io.parameters.switches[name]):
            return False
        device.on = not device.on
        self.switched[name] += 1
        return True

    def _set_beam(self, device: Device) -> bool:
        """Narrow or widen a beam; whether it was changed."""
        options, joystick = self.io.parameters, self.command.joystick
        change = options.beam_speed * self.io.time_step
        change *= joystick.is_down(options.wide_button) - joystick.is_down(options.narrow_button)
        if not change or not isinstance(device, SpotLight):
            return False
        device.beam_width = min(max(device.beam_width + change, 0.1), device.cut_off_angle)
        return True

    def report(self) -> dict[str, float]:
        """Odometry, and how often each device was switched."""
        switched = {f'switched_{name}': float(count) for name, count in self.switched.items()}
        return self.base.report() | switched
