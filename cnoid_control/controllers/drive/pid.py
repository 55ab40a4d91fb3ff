"""PID law of a set of joints, for robots whose actuators only take efforts."""

from __future__ import annotations

import numpy as np


class Pid:
    """Effort kp (q* - q) + kd (dq* - dq) + ki integral(q* - q) + feed-forward.

    The integral's share of the effort stays within the effort limits, as does the whole.
    """

    def __init__(self, lower: np.ndarray, upper: np.ndarray) -> None:
        """Start with an empty integral.

        Args:
            lower: lower effort limits [N m] or [N], shape (n,); infinite for none.
            upper: upper effort limits.
        """
        self._lower = lower
        self._upper = upper
        self._integral = np.zeros(lower.size)

    def effort(
        self,
        error: np.ndarray,
        error_rate: np.ndarray,
        feedforward: np.ndarray,
        gains: np.ndarray,
        dt: float,
    ) -> np.ndarray:
        """Effort for one period, within the limits; the integral goes on by it.

        Args:
            error: q* - q [rad] or [m], shape (n,).
            error_rate: dq* - dq [rad/s] or [m/s], shape (n,).
            feedforward: effort to add [N m] or [N], shape (n,).
            gains: kp, ki and kd of each joint, shape (3, n).
            dt: period [s].
        """
        kp, ki, kd = gains
        if ki.any():
            with np.errstate(divide='ignore', invalid='ignore'):
                low, high = self._lower / ki, self._upper / ki
            moved = np.clip(self._integral + error * dt, low, high)
            self._integral = np.where(ki > 0.0, moved, 0.0)
        effort = kp * error + kd * error_rate + ki * self._integral + feedforward
        return np.clip(effort, self._lower, self._upper)
