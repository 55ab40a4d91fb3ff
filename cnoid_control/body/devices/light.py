"""Light: what all kinds of lamps have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from cnoid_control.body.device import Device


class Light(Device):
    """Lamp that a controller can switch and dim; `notify_state_change` makes it so.

    Attributes:
        color: red, green, blue in [0, 1], shape (3,).
        intensity: brightness in [0, 1].
    """

    state_fields = (*Device.state_fields, 'color', 'intensity')

    def __init__(
        self,
        name: str,
        color: np.ndarray | tuple[float, float, float] = (1.0, 1.0, 1.0),
        intensity: float = 1.0,
        **device: Any,
    ) -> None:
        """Make a lamp.

        Args:
            name: name, unique on the body.
            color: red, green, blue in [0, 1].
            intensity: brightness in [0, 1].
            **device: what every device has: id, T_local, on.
        """
        super().__init__(name, **device)
        self.color = np.array(color, dtype=float)
        self.intensity = intensity
