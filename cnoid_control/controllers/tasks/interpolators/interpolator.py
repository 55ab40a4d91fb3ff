"""How a target goes from where it is to where it was told to be."""

from __future__ import annotations

import abc

import numpy as np


class Interpolator(abc.ABC):
    """Turns the input of a target into its output, tick by tick.

    Attributes:
        output: value now, shape (size,).
        goal: value that was asked for, shape (size,).
    """

    def __init__(self) -> None:
        """Make an interpolator that has no value yet; `reset` gives it one."""
        self.output = np.zeros(0)
        self.goal = np.zeros(0)

    def reset(self, value: np.ndarray) -> None:
        """Jump to a value and stay there."""
        self.output = np.array(value, dtype=float)
        self.goal = self.output.copy()
        self._restart()

    def set_goal(self, goal: np.ndarray) -> None:
        """Go to another value from now on."""
        self.goal = np.array(goal, dtype=float)
        self._restart()

    def _restart(self) -> None:  # noqa: B027 - most interpolators have nothing to plan
        """Plan anew from `output` to `goal`."""

    @abc.abstractmethod
    def step(self, dt: float) -> np.ndarray:
        """Advance by dt [s] and give the new output."""


def polynomial(progress: float, degree: int) -> float:
    """Blend from 0 to 1 with zero slope (degree 3) and curvature (degree 5) at both ends."""
    s = min(max(progress, 0.0), 1.0)
    if degree == 1:
        return s
    if degree == 3:
        return s * s * (3.0 - 2.0 * s)
    return s**3 * (10.0 - 15.0 * s + 6.0 * s * s)


# Largest first and second derivative of each blend over a unit interval.
PEAK_SLOPE = {1: 1.0, 3: 1.5, 5: 1.875}
PEAK_CURVATURE = {1: 0.0, 3: 6.0, 5: 10.0 / 3.0**0.5}
