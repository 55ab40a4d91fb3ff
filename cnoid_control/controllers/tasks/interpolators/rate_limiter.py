"""The simplest smooth target: follow, but not faster than allowed."""

from __future__ import annotations

import numpy as np

from cnoid_control.controllers.tasks.interpolators.interpolator import Interpolator
from cnoid_control.parameters.exceptions import ParameterOutOfRange


class RateLimiter(Interpolator):
    """Moves every element towards the goal at no more than a given rate.

    Attributes:
        max_rate: largest change per second of each element, > 0.
    """

    def __init__(self, max_rate: float | np.ndarray) -> None:
        """Set the rate, a scalar or one value an element."""
        super().__init__()
        self.max_rate = np.asarray(max_rate, dtype=float)
        if not np.all(self.max_rate > 0.0):
            raise ParameterOutOfRange('max_rate', max_rate, 'it must be > 0')

    def step(self, dt: float) -> np.ndarray:
        """Advance by at most max_rate dt."""
        change = self.max_rate * dt
        self.output = self.output + np.clip(self.goal - self.output, -change, change)
        return self.output
