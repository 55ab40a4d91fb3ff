"""The `velocity` section of vehicles, which neither go sideways nor change their speed at once."""

from __future__ import annotations

from dataclasses import dataclass

from cnoid_control.controllers.velocity_command import VelocityParameters
from cnoid_control.parameters import parameter


@dataclass
class VehicleVelocityParameters(VelocityParameters):
    """How fast a vehicle is told to go, and by whom; the left stick drives and steers."""

    lower: list[float] = parameter([-0.5, 0.0, -1.0], 'least vx, vy [m/s] and yaw rate [rad/s]')
    upper: list[float] = parameter([0.5, 0.0, 1.0], 'largest ones')
    acceleration: list[float] = parameter(
        [2.0, 0.0, 6.0],
        'changes per second of vx, vy and yaw rate, 0 for at once; all at once where empty',
        unit='m/s^2 or rad/s^2',
        minimum=0.0,
    )
    axes: list[int] = parameter(
        [1, -1, 0], 'sticks for vx, vy and yaw rate; negative for none', minimum=-1
    )
