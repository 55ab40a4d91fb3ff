"""Lights."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from cnoid_control.body.devices.base import Device

# What no lamp has more of.
LARGE = 1e6


class Light(Device):
    """Lamp that a controller can switch and dim; `notify_state_change` makes it so.

    Attributes:
        color: red, green, blue in [0, 1], shape (3,).
        intensity: brightness in [0, 1].
    """

    state_fields = (*Device.state_fields, 'color', 'intensity')
    ranges: ClassVar[dict[str, tuple[float, float]]] = {
        **Device.ranges,
        'color': (0.0, LARGE),
        'intensity': (0.0, LARGE),
    }

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


class PointLight(Light):
    """Lamp at a point; its brightness falls with 1 / (constant + linear d + quadratic d^2).

    Attributes:
        constant_attenuation: the constant coefficient.
        linear_attenuation: the linear coefficient [1/m].
        quadratic_attenuation: the quadratic coefficient [1/m^2].
    """

    state_fields = (
        *Light.state_fields,
        'constant_attenuation',
        'linear_attenuation',
        'quadratic_attenuation',
    )
    ranges: ClassVar[dict[str, tuple[float, float]]] = {
        **Light.ranges,
        'constant_attenuation': (0.0, LARGE),
        'linear_attenuation': (0.0, LARGE),
        'quadratic_attenuation': (0.0, LARGE),
    }

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
    ranges: ClassVar[dict[str, tuple[float, float]]] = {
        **PointLight.ranges,
        'direction': (-LARGE, LARGE),
        'beam_width': (0.0, LARGE),
        'cut_off_angle': (0.0, LARGE),
        'cut_off_exponent': (0.0, LARGE),
    }

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
