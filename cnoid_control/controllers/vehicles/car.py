"""Cars: wheels that drive and wheels that are steered."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from cnoid_control.body import Link, StateFlag
from cnoid_control.controllers.vehicles.vehicle_velocity import VehicleVelocityParameters
from cnoid_control.controllers.vehicles.wheels import WheelDrive, WheelParameters, find_joint
from cnoid_control.controllers.velocity_command import VelocityCommand
from cnoid_control.parameters import ParameterError, parameter
from cnoid_control.plugin import ControllerIO, SimpleController

# Speed below which a turning rate says nothing of the curve [m/s].
CRAWL = 0.01


@dataclass
class CarParameters(WheelParameters):
    """Options of CarController."""

    steering: list[str] = parameter([], 'joints that steer', read_only=True)
    driven: list[str] = parameter([], 'wheels that drive', read_only=True)
    axle: list[str] = parameter(
        [], 'wheels that are not steered, on one line; where empty those that drive',
        read_only=True,
    )  # fmt: skip
    curvature: float = parameter(
        1.0, 'curvature at full stick, and highest curvature', unit='1/m', minimum=0.0
    )
    velocity: VehicleVelocityParameters = field(default_factory=VehicleVelocityParameters)
    steering_mode: str = parameter(
        'position',
        'what the steering joints are commanded by',
        choices=('position', 'torque'),
        read_only=True,
    )
    kp: float = parameter(
        100.0, 'position gain of steering by torque', unit='N m/rad', minimum=0.0, read_only=True
    )
    kd: float = parameter(
        5.0, 'velocity gain of steering by torque', unit='N m s/rad', minimum=0.0, read_only=True
    )


class CarController(SimpleController):
    """Drives a car so that all wheels roll about one point (Ackermann), by the model's geometry.

    Attributes:
        curvature: curvature of the way that is steered, left positive [1/m].
    """

    Parameters = CarParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Enable driving and steering."""
        self.io, options, name = io, io.parameters, io.controller_name
        for key in ('steering', 'driven'):
            if not getattr(options, key):
                raise ParameterError(f'{name}.{key}', 'a car needs at least one')
        self.wheels = WheelDrive(io, options.driven, options, f'{name}.driven')
        self.steering = [
            find_joint(io.body, joint, f'{name}.steering') for joint in options.steering
        ]
        root = io.body.root_link
        self.up = [float((root.R.T @ link.R @ link.joint_axis)[2]) for link in self.steering]
        for link, up in zip(self.steering, self.up, strict=True):
            if abs(up) < 0.5:
                raise ParameterError(
                    f'{name}.steering', f'the axis of {link.name!r} does not point up or down (z)'
                )
            torque = options.steering_mode == 'torque'
            mode = StateFlag.JOINT_EFFORT if torque else StateFlag.JOINT_DISPLACEMENT
            io.enable_output(link, mode)
            io.enable_input(link, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
        self._find_axle(options.axle or options.driven, name)
        self.command = VelocityCommand(io, options.velocity, f'{name}.velocity')
        self.curvature = 0.0
        return True

    def _find_axle(self, names: list[str], key: str) -> None:
        """Place of steering joints and wheels seen from the middle of the fixed axle."""
        root = self.io.body.root_link
        links = [find_joint(self.io.body, name, f'{key}.axle') for name in names]
        steered = [link.name for link in links if self._is_steered(link)]
        if steered:
            raise ParameterError(
                f'{key}.axle', f'{", ".join(steered)} are steered; name wheels that are not'
            )
        places = [root.R.T @ (link.p - root.p) for link in links]
        middle = sum(place[0] for place in places) / len(places)
        joints = [root.R.T @ (link.p - root.p) for link in self.steering]
        self.joint_places = [(float(place[0] - middle), float(place[1])) for place in joints]
        self.wheel_places = [
            (float(wheel.place[0] - middle), float(wheel.place[1])) for wheel in self.wheels.wheels
        ]

    def _is_steered(self, link: Link | None) -> bool:
        while link is not None:
            if link in self.steering:
                return True
            link = link.parent
        return False

    def update_parameters(self, old: Any, new: Any) -> None:
        """Follow speeds; control() reads the others in every tick."""
        self.command.use(new.velocity)

    def control(self) -> bool:
        """One tick of driving and steering."""
        options = self.io.parameters
        command = self.command
        velocity = command.read(self.io.current_time, self.io.time_step)
        speed, angular = float(velocity[0]), float(velocity[2])
        if command.by_sticks:
            wanted = options.curvature * command.sticks[2]
        else:
            wanted = angular / speed if abs(speed) > CRAWL else self.curvature
        self.curvature = min(max(wanted, -options.curvature), options.curvature)
        self._steer(options)
        self.wheels.drive(
            [
                speed * math.hypot(1.0 - y * self.curvature, x * self.curvature)
                for x, y in self.wheel_places
            ],
            options,
        )
        return True

    def _steer(self, options: CarParameters) -> None:
        for link, up, (x, y) in zip(self.steering, self.up, self.joint_places, strict=True):
            angle = math.atan2(x * self.curvature, 1.0 - y * self.curvature)
            goal = min(max(math.copysign(1.0, up) * angle, link.q_lower), link.q_upper)
            if options.steering_mode == 'torque':
                link.u = options.kp * (goal - link.q) - options.kd * link.dq
            else:
                link.q_target = goal

    def report(self) -> dict[str, float]:
        """What is steered now."""
        return {'curvature': self.curvature, 'speed': float(self.command.velocity[0])}
