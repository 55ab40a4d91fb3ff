"""Lamp that shines in all directions."""

from __future__ import annotations

from typing import Any

from cnoid_control.body.devices.light import Light


class PointLight(Light):
    """Lamp at a point; its brightness falls with 1 / (constant + linear d + quadratic d^2).

    Attributes:
        constant_attenuation, linear_attenuation, quadratic_attenuation: the three coefficients,
            d in [m].
    """

    state_fields = (
        *Light.state_fields,
        'constant_attenuation',
        'linear_attenuation',
        'quadratic_attenuation',
    )

    def __init__(
        self,
        name: str,
        constant_attenuation: float = 1.0,
        linear_attenuation: float = 0.0,
        quadratic_attenuation: float = 0.0,
        **light: Any,
    ) -> None:
        """Make a lamp.

        Args:
            name: name, unique on the body.
            constant_attenuation: coefficient of 1.
            linear_attenuation: coefficient of the distance [1/m].
            quadratic_attenuation: coefficient of the distance squared [1/m^2].
            **light: what every light has: color, intensity, id, T_local, on.
        """
        super().__init__(name, **light)
        self.constant_attenuation = constant_attenuation
        self.linear_attenuation = linear_attenuation
        self.quadratic_attenuation = quadratic_attenuation
