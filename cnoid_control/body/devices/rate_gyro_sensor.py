"""Rate gyro."""

from __future__ import annotations

from typing import Any

import numpy as np

from cnoid_control.body.device import Device


class RateGyroSensor(Device):
    """Angular velocity of the link that carries it, in sensor axes.

    Attributes:
        w: angular velocity [rad/s], shape (3,).
        w_max: largest magnitude the sensor can give, shape (3,); infinite for no limit.
    """

    measured_fields = ('w',)
    state_fields = (*Device.state_fields, *measured_fields)

    def __init__(self, name: str, w_max: np.ndarray | None = None, **device: Any) -> None:
        """Make a sensor that reads zero.

        Args:
            name: name, unique on the body.
            w_max: largest angular velocity [rad/s], shape (3,).
            **device: what every device has: id, T_local, on.
        """
        super().__init__(name, **device)
        self.w = np.zeros(3)
        self.w_max = np.full(3, np.inf) if w_max is None else np.array(w_max, dtype=float)
