"""The path of the samples that move a whole robot."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cnoid_control.parameters import parameter


@dataclass
class CircleParameters:
    """A circle that is run through from rest, and round and round."""

    radius: float = parameter(0.3, 'radius of the circle', unit='m', minimum=0.0)
    period: float = parameter(4.0, 'time of a round', unit='s', minimum=1e-3)


class Circle:
    """Level circle through a place, with its speed rising over the first period.

    Attributes:
        start: where it begins [m], shape (3,); the centre is one radius away in -x.
    """

    def __init__(self, start: np.ndarray, parameters: CircleParameters) -> None:
        """Begin the circle at a place."""
        self.start = start.copy()
        self._radius, self._period = parameters.radius, parameters.period

    def angle(self, time: float) -> float:
        """Angle along the circle at a time since the start [rad]."""
        rounds = time / self._period
        # The first period brings it up to speed in half a round.
        risen = min(rounds, 1.0)
        return 2.0 * math.pi * (0.5 * risen**2 + max(rounds - 1.0, 0.0))

    def position(self, time: float) -> np.ndarray:
        """Place at a time since the start [m], shape (3,)."""
        angle = self.angle(time)
        turned = np.array([math.cos(angle) - 1.0, math.sin(angle), 0.0])
        return self.start + self._radius * turned

    def velocity(self, time: float) -> np.ndarray:
        """Velocity at a time since the start [m/s], shape (3,)."""
        angle = self.angle(time)
        rate = 2.0 * math.pi / self._period * min(time / self._period, 1.0)
        return self._radius * rate * np.array([-math.sin(angle), math.cos(angle), 0.0])
