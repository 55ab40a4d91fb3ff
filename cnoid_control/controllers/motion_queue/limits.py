"""Velocity, acceleration and position limits of the motion queue."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from cnoid_control.controllers.motion_queue.exceptions import MotionRefused, wrong_size

# A planned motion may pass a position limit by so much [rad] or [m].
SLACK = 1e-7


class MotionState(NamedTuple):
    """Position [rad] or [m], velocity and acceleration of the joints, each of shape (n,)."""

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray

    @classmethod
    def at_rest(cls, position: np.ndarray) -> MotionState:
        """Joints that stand still."""
        return cls(position.copy(), np.zeros(position.size), np.zeros(position.size))

    @classmethod
    def of_lists(
        cls, position: list[float], velocity: list[float], acceleration: list[float]
    ) -> MotionState:
        """State from lists of one length."""
        size = len(position)
        # One conversion for the three takes less than half of what three take.
        numbers = np.empty(3 * size)
        _packer(3 * size)(numbers, 0, *position, *velocity, *acceleration)
        return cls(numbers[:size], numbers[size : 2 * size], numbers[2 * size :])


@lru_cache(maxsize=16)
def _packer(size: int) -> Callable[..., None]:
    return struct.Struct(f'{size}d').pack_into


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
    def can_all_move(self) -> bool:
        """Whether no joint has a bound that is zero."""
        return bool(self.can_move.all())

    @cached_property
    def rest(self) -> np.ndarray:
        """Velocities of joints that stand still, read-only, shape (n,)."""
        zeros = np.zeros(self.size)
        zeros.setflags(write=False)
        return zeros

    @cached_property
    def has_range(self) -> bool:
        """Whether any joint has a position limit."""
        return bool((self.lower > -np.inf).any() or (self.upper < np.inf).any())

    @cached_property
    def range_with_slack(self) -> tuple[list[float], list[float]]:
        """Position limits of a planned motion, which rounding may pass by `SLACK`."""
        return (self.lower - SLACK).tolist(), (self.upper + SLACK).tolist()

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
        if rate == 1.0:
            return self
        # A queue plans many motions at one rate.
        if rate not in self._slowed:
            self._slowed.clear()
            self._slowed[rate] = replace(self, velocity=self.velocity * rate)
        return self._slowed[rate]

    @cached_property
    def _slowed(self) -> dict[float, MotionLimits]:
        return {}

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
        top = np.minimum(self.velocity, 1e6)
        with np.errstate(all='ignore'):
            rise = self.acceleration / self.jerk
            root = np.sqrt(rise * rise + 8.0 * distance / self.acceleration)
            trapezoid = 0.5 * self.acceleration * (root - rise)
            triangle = np.cbrt(distance * distance * self.jerk)
            speed = np.where(trapezoid >= self.acceleration * rise, trapezoid, triangle)
            # A hair below, for what rounding may have added.
            speed = np.where(self.can_move, np.minimum(speed * (1.0 - 1e-12), top), 0.0)
        return np.where(self.stopping_distance(top) <= distance, top, speed)


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
