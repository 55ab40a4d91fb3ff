"""Polynomials through the points of a joint trajectory."""

from __future__ import annotations

import numpy as np


class TrajectorySpline:
    """Piecewise polynomials in time, one per joint, at most of the fifth degree.

    Attributes:
        times: times of the knots [s], shape (knots,), increasing.
    """

    def __init__(
        self,
        times: np.ndarray,
        positions: np.ndarray,
        velocities: np.ndarray | None = None,
        accelerations: np.ndarray | None = None,
        start_velocity: np.ndarray | None = None,
    ) -> None:
        """Join the knots by what is known of them.

        Positions, velocities and accelerations give quintics; positions and velocities cubics.
        Positions alone give cubics that keep between neighbouring knots (no overshoot), begin
        with `start_velocity` and end at rest.

        Args:
            times: shape (knots,), increasing; one knot is a trajectory of no length.
            positions: shape (knots, joints).
            velocities: shape (knots, joints).
            accelerations: shape (knots, joints).
            start_velocity: velocity at the first knot where `velocities` are not given,
                shape (joints,); zero where None.
        """
        self.times = np.asarray(times, dtype=float)
        positions = np.asarray(positions, dtype=float)
        if velocities is None:
            velocities = monotone_velocities(self.times, positions, start_velocity)
            accelerations = None
        self._last = positions[-1].copy(), np.asarray(velocities[-1], dtype=float).copy()
        self._coefficients = _coefficients(self.times, positions, velocities, accelerations)

    @property
    def end_time(self) -> float:
        """Time of the last knot [s]."""
        return float(self.times[-1])

    def sample(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Position, velocity and acceleration at a time, each of shape (joints,).

        Before the first knot its polynomial goes on; from the last knot on its position is given,
        at rest.
        """
        if time >= self.times[-1] or len(self.times) == 1:
            rest = np.zeros_like(self._last[0])
            return self._last[0].copy(), rest, rest.copy()
        segment = max(int(np.searchsorted(self.times, time, side='right')) - 1, 0)
        t = time - float(self.times[segment])
        powers = _POWERS * np.array([1.0, t, t**2, t**3, t**4, t**5])[_SHIFTS]
        q, dq, ddq = powers @ self._coefficients[segment]
        return q, dq, ddq


# Rows: how the six coefficients enter the position, the velocity and the acceleration, and with
# which power of time.
_POWERS = np.array(
    [
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        [0.0, 0.0, 2.0, 6.0, 12.0, 20.0],
    ]
)
_SHIFTS = np.array([[0, 1, 2, 3, 4, 5], [0, 0, 1, 2, 3, 4], [0, 0, 0, 1, 2, 3]])


def monotone_velocities(
    times: np.ndarray, positions: np.ndarray, start_velocity: np.ndarray | None = None
) -> np.ndarray:
    """Velocities for which cubics through the knots do not overshoot (Fritsch and Butland).

    Args:
        times: shape (knots,), increasing.
        positions: shape (knots, joints).
        start_velocity: velocity at the first knot, shape (joints,); zero where None.

    Returns:
        Shape (knots, joints); zero at the last knot, and at knots where a joint turns round.
    """
    velocities = np.zeros_like(positions)
    if start_velocity is not None:
        velocities[0] = start_velocity
    if len(times) > 2:
        steps = np.diff(times)[:, None]
        slopes = np.diff(positions, axis=0) / steps
        before, after = slopes[:-1], slopes[1:]
        w_before, w_after = 2 * steps[1:] + steps[:-1], steps[1:] + 2 * steps[:-1]
        same_way = before * after > 0
        divisor = np.where(same_way, w_before * after + w_after * before, 1.0)
        mean = (w_before + w_after) * before * after / divisor
        velocities[1:-1] = np.where(same_way, mean, 0.0)
    return velocities


def _coefficients(
    times: np.ndarray,
    positions: np.ndarray,
    velocities: np.ndarray,
    accelerations: np.ndarray | None,
) -> np.ndarray:
    """Polynomial coefficients of every segment, shape (segments, 6, joints)."""
    coefficients = np.zeros((max(len(times) - 1, 0), 6, positions.shape[1]))
    T = np.diff(times)[:, None]
    q0, q1 = positions[:-1], positions[1:]
    v0, v1 = velocities[:-1], velocities[1:]
    coefficients[:, 0] = q0
    coefficients[:, 1] = v0
    if accelerations is None:
        coefficients[:, 2] = (3 * (q1 - q0) / T - 2 * v0 - v1) / T
        coefficients[:, 3] = (2 * (q0 - q1) / T + v0 + v1) / T**2
        return coefficients
    a0, a1 = accelerations[:-1], accelerations[1:]
    # What is left to do at the end of the segment after going on with q0, v0 and a0.
    dq = q1 - q0 - v0 * T - 0.5 * a0 * T**2
    dv = (v1 - v0 - a0 * T) * T
    da = (a1 - a0) * T**2
    coefficients[:, 2] = 0.5 * a0
    coefficients[:, 3] = (10 * dq - 4 * dv + 0.5 * da) / T**3
    coefficients[:, 4] = (-15 * dq + 7 * dv - da) / T**4
    coefficients[:, 5] = (6 * dq - 3 * dv + 0.5 * da) / T**5
    return coefficients
