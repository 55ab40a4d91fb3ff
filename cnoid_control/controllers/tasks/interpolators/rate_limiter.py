"""The simplest smooth target: follow, but not faster than allowed."""

from __future__ import annotations

import numpy as np

from cnoid_control.controllers.tasks.interpolators.interpolator import Interpolator
from cnoid_control.parameters.exceptions import ParameterOutOfRange


class RateLimiter(Interpolator):
    """Moves every element towards the goal at no more than a given rate.

    Attributes:
        max_velocity: largest rate of each element [1/s], > 0.
    """

    def __init__(self, max_velocity: float | np.ndarray) -> None:
        """Set the rate, a scalar or one value an element."""
        super().__init__()
        self.max_velocity = np.asarray(max_velocity, dtype=float)
        if not np.all(self.max_velocity > 0.0):
            raise ParameterOutOfRange('max_velocity', max_velocity, 'it must be > 0')

    def step(self, dt: float) -> np.ndarray:
        """Advance by at most max_velocity dt."""
        change = self.max_velocity * dt
        self.output = self.output + np.clip(self.goal - self.output, -change, change)
        return self.output
