"""Feedback on the error of a task beyond a plain gain, with limits on what it asks for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Limits from here on are none: parameter files know no infinity.
NO_LIMIT = 1e9


@dataclass
class VelocityShaper:
    """Adds integral and derivative action to what a task asks for, then limits its norm.

    Attributes:
        integral_gain: velocity per integral of the error [1/s^2].
        integral_limit: largest norm of that integral.
        derivative_gain: velocity per rate of the error.
        max_speed: largest norm of the velocity asked for; infinite for none.
        max_change: largest norm of its change per second; infinite for none.
    """

    integral_gain: float = 0.0
    integral_limit: float = np.inf
    derivative_gain: float = 0.0
    max_speed: float = np.inf
    max_change: float = np.inf

    def __post_init__(self) -> None:
        """Start from rest."""
        self.reset()

    @property
    def changes_anything(self) -> bool:
        """Whether there is any action or limit at all."""
        acts = self.integral_gain > 0.0 or self.derivative_gain > 0.0
        return acts or min(self.max_speed, self.max_change) < NO_LIMIT

    def reset(self) -> None:
        """Forget the past: the task starts anew."""
        self._integral: np.ndarray | None = None
        self._last_error: np.ndarray | None = None
        self._last_velocity: np.ndarray | None = None

    def shape(self, velocity: np.ndarray, error: np.ndarray, dt: float) -> np.ndarray:
        """Velocity to ask for.

        Args:
            velocity: what the task's own gain asks for.
            error: error of the task.
            dt: time since the last call [s].
        """
        shaped = velocity.copy()
        if self.integral_gain:
            integral = error * dt if self._integral is None else self._integral + error * dt
            self._integral = _limit(integral, self.integral_limit)
            shaped += self.integral_gain * self._integral
        if self.derivative_gain and self._last_error is not None:
            shaped += self.derivative_gain * (error - self._last_error) / dt
        shaped = _limit(shaped, self.max_speed)
        if np.isfinite(self.max_change):
            last = np.zeros_like(shaped) if self._last_velocity is None else self._last_velocity
            shaped = last + _limit(shaped - last, self.max_change * dt)
        self._last_error = error.copy()
        self._last_velocity = shaped
        return shaped


def _limit(vector: np.ndarray, largest: float) -> np.ndarray:
    norm = float(np.linalg.norm(vector))
    return vector * (largest / norm) if norm > largest else vector
