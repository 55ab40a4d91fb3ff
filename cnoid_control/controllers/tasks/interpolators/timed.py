"""Polynomial motion to the goal in a given time, or in the time that given limits allow."""

from __future__ import annotations

import math

import numpy as np

from cnoid_control.controllers.tasks.interpolators.interpolator import (
    PEAK_CURVATURE,
    PEAK_SLOPE,
    Interpolator,
    polynomial,
)
from cnoid_control.parameters.exceptions import ParameterOutOfRange


class TimedInterpolator(Interpolator):
    """Reaches each goal in the same time, all elements together, by a polynomial blend.

    Attributes:
        duration: time from a new goal to its being reached [s].
    """

    def __init__(self, degree: int, duration: float) -> None:
        """Choose the shape (degree 1, 3 or 5) and the time [s]."""
        super().__init__()
        if not duration > 0.0:
            raise ParameterOutOfRange('duration', duration, 'it must be > 0')
        self.degree = degree
        self.duration = duration
        self._start = self.output
        self._elapsed = math.inf

    def _restart(self) -> None:
        self._start = self.output
        self._elapsed = 0.0

    def step(self, dt: float) -> np.ndarray:
        """Advance along the blend."""
        self._elapsed += dt
        blend = polynomial(self._elapsed / self.duration, self.degree)
        self.output = self._start + blend * (self.goal - self._start)
        return self.output


class ConstrainedInterpolator(TimedInterpolator):
    """Polynomial blend as fast as limits on the first and second derivative allow.

    Attributes:
        max_velocity: limit of the first derivative of each element, > 0.
        max_acceleration: limit of the second derivative; infinite for none.
    """

    def __init__(
        self,
        degree: int,
        max_velocity: float | np.ndarray,
        max_acceleration: float | np.ndarray = math.inf,
    ) -> None:
        """Choose the shape (degree 3 or 5) and the limits, scalars or one value an element."""
        super().__init__(degree, 1.0)
        self.max_velocity = np.asarray(max_velocity, dtype=float)
        self.max_acceleration = np.asarray(max_acceleration, dtype=float)
        for name in ('max_velocity', 'max_acceleration'):
            if not np.all(getattr(self, name) > 0.0):
                raise ParameterOutOfRange(name, getattr(self, name), 'it must be > 0')

    def _restart(self) -> None:
        super()._restart()
        distance = np.abs(self.goal - self.output)
        if not distance.size:
            return
        by_velocity = float(np.max(distance * PEAK_SLOPE[self.degree] / self.max_velocity))
        by_acceleration = math.sqrt(
            float(np.max(distance * PEAK_CURVATURE[self.degree] / self.max_acceleration))
        )
        self.duration = max(by_velocity, by_acceleration, 1e-9)
