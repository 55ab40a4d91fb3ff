"""Vehicles that turn by driving their two sides at different speeds: crawlers, tanks, carts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from cnoid_control.controllers.vehicles.stick_joints import StickJointParameters, StickJoints
from cnoid_control.controllers.vehicles.vehicle_velocity import VehicleVelocityParameters
from cnoid_control.controllers.vehicles.wheels import WheelDrive, WheelParameters
from cnoid_control.controllers.velocity_command import VelocityCommand
from cnoid_control.parameters import ParameterError, parameter
from cnoid_control.plugin import ControllerIO, SimpleController


@dataclass
class DifferentialParameters(WheelParameters):
    """Options of a differential drive; lengths and names as diff_drive_controller has them."""

    left_wheel_names: list[str] = parameter(
        [], 'tracks or wheels on the left side', read_only=True
    )
    right_wheel_names: list[str] = parameter(
        [], 'tracks or wheels on the right side', read_only=True
    )
    wheel_separation: float = parameter(
        0.0, 'distance of the sides; 0 for that of the model', unit='m', minimum=0.0,
        read_only=True,
    )  # fmt: skip
    wheel_separation_multiplier: float = parameter(
        1.0,
        'how much wider the vehicle acts when it turns: long tracks slip sideways',
        minimum=1e-3,
    )
    velocity: VehicleVelocityParameters = field(default_factory=VehicleVelocityParameters)


class DifferentialDrive:
    """The two sides of a vehicle, driven by speed and turning rate, and its odometry.

    Attributes:
        separation: distance of the sides [m].
        x, y, heading: where the wheels say that the vehicle is, seen from its start [m], [rad].
    """

    def __init__(self, io: ControllerIO, parameters: DifferentialParameters, key: str) -> None:
        """Enable the wheels.

        Raises:
            ParameterError: the sides cannot be driven as the options say.
        """
        self._step = io.time_step
        sides = {
            'left_wheel_names': parameters.left_wheel_names,
            'right_wheel_names': parameters.right_wheel_names,
        }
        for name, wheels in sides.items():
            if not wheels:
                raise ParameterError(f'{key}.{name}', 'a side needs at least one wheel or track')
        self._left, self._right = (
            WheelDrive(io, wheels, parameters, f'{key}.{name}') for name, wheels in sides.items()
        )
        distance = _mean_side(self._left) - _mean_side(self._right)
        self.separation = parameters.wheel_separation or distance
        if not self.separation > 0.0:
            raise ParameterError(
                f'{key}.wheel_separation',
                f'the left side is {distance:g} m to the left of the right one by the model; '
                'exchange the names, or give a distance above 0',
            )
        self.x = self.y = self.heading = 0.0

    def drive(self, linear: float, angular: float, parameters: DifferentialParameters) -> None:
        """Command speed ahead [m/s] and turning rate [rad/s], and go on with the odometry."""
        lever = 0.5 * self.separation * parameters.wheel_separation_multiplier
        self._measure(lever)
        for side, sign in ((self._left, -1.0), (self._right, 1.0)):
            side.drive([linear + sign * lever * angular] * len(side.wheels), parameters)

    def _measure(self, lever: float) -> None:
        left, right = float(self._left.speeds.mean()), float(self._right.speeds.mean())
        turn = (right - left) / (2.0 * lever) * self._step
        way = 0.5 * (left + right) * self._step
        self.x += way * math.cos(self.heading + 0.5 * turn)
        self.y += way * math.sin(self.heading + 0.5 * turn)
        self.heading += turn

    def report(self) -> dict[str, float]:
        """Odometry."""
        return {'odometry_x': self.x, 'odometry_y': self.y, 'odometry_heading': self.heading}


def _mean_side(side: WheelDrive) -> float:
    return sum(float(wheel.place[1]) for wheel in side.wheels) / len(side.wheels)


@dataclass
class DifferentialDriveParameters(DifferentialParameters):
    """Options of DifferentialDriveController."""

    stick_joints: StickJointParameters = field(default_factory=StickJointParameters)


class DifferentialDriveController(SimpleController):
    """Drives a vehicle by twists or a joystick; sticks turn other joints, such as flippers."""

    Parameters = DifferentialDriveParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Enable the sides and open the inputs."""
        self.io = io
        self.base = DifferentialDrive(io, io.parameters, io.controller_name)
        key = f'{io.controller_name}.stick_joints'
        self.stick_joints = StickJoints(io, io.parameters.stick_joints, key)
        key = f'{io.controller_name}.velocity'
        self.command = VelocityCommand(io, io.parameters.velocity, key)
        return True

    def update_parameters(self, old: Any, new: Any) -> None:
        """Follow speeds; control() reads the others in every tick."""
        self.command.use(new.velocity)

    def control(self) -> bool:
        """One tick of driving."""
        options = self.io.parameters
        linear, _, angular = self.command.read(self.io.current_time, self.io.time_step)
        self.base.drive(float(linear), float(angular), options)
        self.stick_joints.follow(self.command.joystick, options.stick_joints)
        return True

    def report(self) -> dict[str, float]:
        """Where the wheels say that the vehicle is."""
        return self.base.report()
