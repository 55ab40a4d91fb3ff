"""Six-axis force and torque sensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from cnoid_control.body.device import Device


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
