"""Accelerometer."""

from __future__ import annotations

from typing import Any

import numpy as np

from cnoid_control.body.device import Device


class AccelerationSensor(Device):
    """Acceleration of the link that carries it minus gravity, in sensor axes.

    It reads 9.8 m/s^2 upwards at rest and zero in free fall.

    Attributes:
        dv: acceleration [m/s^2], shape (3,).
        dv_max: largest magnitude the sensor can give, shape (3,); infinite for no limit.
    """

    measured_fields = ('dv',)
    state_fields = (*Device.state_fields, *measured_fields)

    def __init__(self, name: str, dv_max: np.ndarray | None = None, **device: Any) -> None:
        """Make a sensor that reads zero.

        Args:
            name: name, unique on the body.
            dv_max: largest acceleration [m/s^2], shape (3,).
            **device: what every device has: id, T_local, on.
        """
        super().__init__(name, **device)
        self.dv = np.zeros(3)
        self.dv_max = np.full(3, np.inf) if dv_max is None else np.array(dv_max, dtype=float)
