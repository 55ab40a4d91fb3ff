"""Lamp that shines in a cone."""

from __future__ import annotations

from typing import Any

import numpy as np

from cnoid_control.body.devices.point_light import PointLight


class SpotLight(PointLight):
    """Lamp with a beam.

    Attributes:
        direction: axis of the beam in the device frame, unit length, shape (3,).
        beam_width: angle of full brightness around the axis [rad].
        cut_off_angle: angle around the axis beyond which it is dark [rad].
        cut_off_exponent: how fast the brightness falls between the two.
    """

    state_fields = (
        *PointLight.state_fields,
        'direction',
        'beam_width',
        'cut_off_angle',
        'cut_off_exponent',
    )

    def __init__(
        self,
        name: str,
        direction: np.ndarray | tuple[float, float, float] = (0.0, 0.0, -1.0),
        beam_width: float = 1.570796,
        cut_off_angle: float = 0.785398,
        cut_off_exponent: float = 1.0,
        **point_light: Any,
    ) -> None:
        """Make a lamp.

        Args:
            name: name, unique on the body.
            direction: axis of the beam in the device frame.
            beam_width: angle of full brightness around the axis [rad].
            cut_off_angle: angle around the axis beyond which it is dark [rad].
            cut_off_exponent: how fast the brightness falls between the two.
            **point_light: what every point light has: attenuations, color, intensity, ...
        """
        super().__init__(name, **point_light)
        self.direction = np.array(direction, dtype=float)
        self.beam_width = beam_width
        self.cut_off_angle = cut_off_angle
        self.cut_off_exponent = cut_off_exponent
