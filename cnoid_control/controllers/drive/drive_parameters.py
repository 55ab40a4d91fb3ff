"""Options of the joint actuators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cnoid_control.parameters import parameter
from cnoid_control.parameters.exceptions import ParameterOutOfRange

GAINS = ('kp', 'ki', 'kd')


@dataclass
class DriveParameters:
    """Which joints are driven, and how."""

    joints: list[str] = parameter([], 'joints to drive; all where empty', read_only=True)
    actuators: str = parameter(
        'hardware',
        "who closes the loop: the hardware's PID actuators at their own rate, the controller's "
        "PID with effort commands, or the hardware's own position servos",
        choices=('hardware', 'controller', 'servo'),
        read_only=True,
    )
    kp: float | list[float] = parameter(
        1000.0, 'position gain, for all joints or one a joint', unit='N m/rad or N/m', minimum=0.0
    )
    ki: float | list[float] = parameter(
        0.0, 'integral gain', unit='N m/(rad s) or N/(m s)', minimum=0.0
    )
    kd: float | list[float] = parameter(
        50.0, 'velocity gain', unit='N m s/rad or N s/m', minimum=0.0
    )

    def gains(self, size: int) -> np.ndarray:
        """The gains kp, ki and kd of each joint, shape (3, size).

        Raises:
            ParameterOutOfRange: a list has not one value a joint.
        """
        rows = [spread(name, getattr(self, name), size) for name in GAINS]
        return np.array(rows)


def spread(key: str, value: float | list[float], size: int) -> np.ndarray:
    """One value a joint, from one for all or from a list.

    Raises:
        ParameterOutOfRange: a list has not one value a joint.
    """
    if isinstance(value, (int, float)):
        return np.full(size, float(value))
    if len(value) != size:
        raise ParameterOutOfRange(key, value, f'it needs 1 or {size} values')
    return np.array(value, dtype=float)
