"""Inertial measurement unit."""

from __future__ import annotations

from typing import Any

import numpy as np

from cnoid_control.body.device import Device


class Imu(Device):
    """Rate gyro and accelerometer in one, with the conventions of both.

    Attributes:
        w: angular velocity in sensor axes [rad/s], shape (3,).
        dv: acceleration minus gravity in sensor axes [m/s^2], shape (3,).
        w_max: largest magnitude of `w`, shape (3,); infinite for no limit.
        dv_max: largest magnitude of `dv`, shape (3,); infinite for no limit.
    """

    measured_fields = ('w', 'dv')
    state_fields = (*Device.state_fields, *measured_fields)

    def __init__(
        self,
        name: str,
        w_max: np.ndarray | None = None,
        dv_max: np.ndarray | None = None,
        **device: Any,
    ) -> None:
        """Make a sensor that reads zero.

        Args:
            name: name, unique on the body.
            w_max: largest angular velocity [rad/s], shape (3,).
            dv_max: largest acceleration [m/s^2], shape (3,).
            **device: what every device has: id, T_local, on.
        """
        super().__init__(name, **device)
        self.w = np.zeros(3)
        self.dv = np.zeros(3)
        self.w_max = np.full(3, np.inf) if w_max is None else np.array(w_max, dtype=float)
        self.dv_max = np.full(3, np.inf) if dv_max is None else np.array(dv_max, dtype=float)
