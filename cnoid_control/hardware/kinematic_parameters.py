"""Options of the ideal robot."""

from __future__ import annotations

from dataclasses import dataclass

from cnoid_control.hardware.disturbance import DisturbanceParameters
from cnoid_control.parameters import parameter


@dataclass
class KinematicParameters:
    """What the ideal robot's sensors feel."""

    gravity: float = parameter(9.80665, 'downward gravity that accelerometers feel', unit='m/s^2')
    sensors: dict[str, DisturbanceParameters] = parameter(
        {}, 'errors of sensors: by device name, or q, dq and ddq for those of the joints'
    )
    seed: int = parameter(0, 'seed of all noise', minimum=0)
