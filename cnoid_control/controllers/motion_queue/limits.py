"""Velocity, acceleration and position limits of the motion queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cnoid_control.controllers.motion_queue.exceptions import MotionRefused, wrong_size


class MotionState(NamedTuple):
    """Position [rad] or [m], velocity and acceleration of the joints, each of shape (n,)."""

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray

    @classmethod
    def at_rest(cls, position: np.ndarray) -> MotionState:
        """Joints that stand still."""
        return cls(position.copy(), np.zeros(position.size), np.zeros(position.size))


@dataclass(frozen=True)
class MotionLimits:
    """Bounds of a motion, one element per joint.

    Attributes:
        names: names of the joints, for messages.
        lower, upper: displacement [rad] or [m]; infinite for none.
        velocity: largest speed [rad/s] or [m/s].
        acceleration: largest acceleration [rad/s^2] or [m/s^2].
        jerk: largest jerk [rad/s^3] or [m/s^3]; infinite lets the acceleration step.
    """

    names: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray

    def __post_init__(self) -> None:
        """Check the sizes and signs.

        Raises:
            MotionRefused: a bound has not one element per joint, or is negative or NaN.
        """
        for name in ('lower', 'upper', 'velocity', 'acceleration', 'jerk'):
            value = getattr(self, name)
            if value.shape != (self.size,):
                raise wrong_size(f'{name} limit', value, value.size, self.size)
        for name in ('velocity', 'acceleration', 'jerk'):
            values = getattr(self, name)
            if not (values >= 0.0).all():
                wrong = int(np.flatnonzero(~(values >= 0.0))[0])
                raise MotionRefused(
                    f'{name} limit of joint {self.names[wrong]!r} is {values[wrong]}; '
                    'it must be >= 0'
                )

    @cached_property
    def positive(self) -> tuple[list[float], list[float], list[float]]:
        """Velocity, acceleration and jerk with 1 in the place of 0, for planners that need it."""
        rates = (self.velocity, self.acceleration, self.jerk)
        first, second, third = (np.where(rate > 0.0, rate, 1.0).tolist() for rate in rates)
        return first, second, third

    @cached_property
    def can_move(self) -> np.ndarray:
        """Joints none of whose bounds is zero, shape (n,)."""
        return (self.velocity > 0.0) & (self.acceleration > 0.0) & (self.jerk > 0.0)

    @cached_property
    def has_range(self) -> bool:
        """Whether any joint has a position limit."""
        return bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())

    @property
    def size(self) -> int:
        """Number of joints."""
        return len(self.names)

    @cached_property
    def is_jerk_limited(self) -> bool:
        """Whether the acceleration of any joint must be continuous."""
        return bool(np.isfinite(self.jerk).any())

    def at_feed_rate(self, rate: float) -> MotionLimits:
        """Bounds with the speed reduced to `rate` times the limit.

        Acceleration and jerk stay as they are: a slower robot can still stop as quickly, so that a
        change of the rate in the middle of a motion never leads beyond the goal.
        """
        return self if rate == 1.0 else replace(self, velocity=self.velocity * rate)

    def stopping_distance(self, velocity: np.ndarray) -> np.ndarray:
        """Way that each joint needs to come to rest from a speed, without acceleration at first.

        The acceleration rises and falls with the jerk limit: trapezoidal from speed A^2/J on,
        triangular below.
        """
        speed = np.abs(velocity)
        distance = np.zeros(self.size)
        moving = speed > 0.0
        rise = self.acceleration[moving] / self.jerk[moving]
        fast = speed[moving]
        with np.errstate(divide='ignore'):
            trapezoid = 0.5 * fast * (fast / self.acceleration[moving] + rise)
            triangle = fast * np.sqrt(fast / self.jerk[moving])
        is_long = fast >= self.acceleration[moving] * rise
        distance[moving] = np.where(is_long, trapezoid, triangle)
        return distance

    def stoppable_velocity(self, distance: np.ndarray) -> np.ndarray:
        """Largest speed from which each joint comes to rest within a distance."""
        low, high = np.zeros(self.size), np.minimum(self.velocity, 1e6)
        for _ in range(60):
            middle = 0.5 * (low + high)
            stops = self.stopping_distance(middle) <= distance
            low, high = np.where(stops, middle, low), np.where(stops, high, middle)
        return np.where(self.stopping_distance(high) <= distance, high, low)


def make_limits(
    names: Sequence[str],
    *,
    velocity: float | Sequence[float] | np.ndarray,
    acceleration: float | Sequence[float] | np.ndarray,
    jerk: float | Sequence[float] | np.ndarray = np.inf,
    lower: float | Sequence[float] | np.ndarray = -np.inf,
    upper: float | Sequence[float] | np.ndarray = np.inf,
) -> MotionLimits:
    """Limits from scalars, which count for every joint, and from one value per joint."""

    def spread(value: float | Sequence[float] | np.ndarray) -> np.ndarray:
        array = np.asarray(value, dtype=float)
        return np.full(len(names), float(array)) if array.ndim == 0 else array.copy()

    return MotionLimits(
        tuple(names),
        spread(lower),
        spread(upper),
        spread(velocity),
        spread(acceleration),
        spread(jerk),
    )
