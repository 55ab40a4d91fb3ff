"""Motion and force sensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from cnoid_control.body.devices.base import Device


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


class ForceSensor(Device):
    """Force and torque that the far side puts on the near side of the link's joint.

    With the ground under a foot the force of an ankle sensor points up; with a weight hanging
    from a wrist it points down. Sensor axes, torque about the sensor's origin. The cut is always
    at the joint of the link, wherever `p_local` is.

    Attributes:
        F: force [N] and torque [N m], shape (6,).
        F_max: largest magnitude the sensor can give, shape (6,); infinite for no limit.
    """

    measured_fields = ('F',)
    state_fields = (*Device.state_fields, *measured_fields)

    def __init__(self, name: str, F_max: np.ndarray | None = None, **device: Any) -> None:
        """Make a sensor that reads zero.

        Args:
            name: name, unique on the body.
            F_max: largest force [N] and torque [N m], shape (6,).
            **device: what every device has: id, T_local, on.
        """
        super().__init__(name, **device)
        self.F = np.zeros(6)
        self.F_max = np.full(6, np.inf) if F_max is None else np.array(F_max, dtype=float)

    @property
    def f(self) -> np.ndarray:
        """Force [N], shape (3,); a view that can be written to."""
        return self.F[:3]

    @property
    def tau(self) -> np.ndarray:
        """Torque [N m], shape (3,); a view that can be written to."""
        return self.F[3:]

    force = f
    torque = tau

    @property
    def wrench(self) -> np.ndarray:
        """Another name for `F`."""
        return self.F
