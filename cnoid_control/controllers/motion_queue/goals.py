"""Checks of motion queue goals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from cnoid_control.controllers.motion_queue.exceptions import (
    MotionRefused,
    invalid_duration,
    not_finite,
    wrong_size,
)
from cnoid_control.controllers.motion_queue.limits import MotionLimits, MotionState
from cnoid_control.exceptions import choices


class GoalCheck:
    """Sizes, numbers and limits of goals, velocities and durations.

    Attributes:
        limits: what is checked against.
        refuse: whether values beyond a limit are refused; otherwise they are clamped, reported.
    """

    def __init__(self, limits: MotionLimits, refuse: bool, report: Callable[[str], None]) -> None:
        """Check against `limits`; `report` is called with a line for each clamped value."""
        self.limits = limits
        self.refuse = refuse
        self._report = report

    def vector(self, name: str, value: np.ndarray) -> np.ndarray:
        """Finite vector with one element per joint.

        Raises:
            MotionRefused: it has another size, or an element is NaN or infinite.
        """
        array = np.array(value, dtype=float)
        if array.shape != (self.limits.size,):
            raise wrong_size(name, value, array.size, self.limits.size)
        # The sum is finite only where every element is, and takes less than half the time to find.
        if not math.isfinite(sum(array.tolist())) and not np.isfinite(array).all():
            wrong = int(np.flatnonzero(~np.isfinite(array))[0])
            raise not_finite(name, self.limits.names[wrong], array[wrong])
        return array

    def indices(self, joints: Sequence[str] | Sequence[int]) -> np.ndarray:
        """Places of joints, given by name or by place.

        Raises:
            MotionRefused: there is no such joint.
        """
        names = self.limits.names
        places = []
        for joint in joints:
            if isinstance(joint, str) and joint in names:
                places.append(names.index(joint))
            elif not isinstance(joint, str) and 0 <= joint < len(names):
                places.append(int(joint))
            else:
                raise MotionRefused(f'unknown joint {joint!r}; {choices(names)}')
        return np.array(places, dtype=int)

    def spread(
        self,
        values: Sequence[float] | np.ndarray,
        others: np.ndarray,
        joints: Sequence[str] | Sequence[int],
    ) -> np.ndarray:
        """Vector of all joints from the values of some and those of the others."""
        index = self.indices(joints)
        array = np.asarray(values, dtype=float)
        if array.shape != index.shape:
            raise wrong_size('vector', values, array.size, index.size)
        filled = others.copy()
        filled[index] = array
        return filled

    def position(self, name: str, value: np.ndarray) -> np.ndarray:
        """Goal inside the position limits, a hair inside where it was beyond."""
        goal = self.vector(name, value)
        if not self.limits.has_range:
            return goal
        lower, upper = self.limits.lower, self.limits.upper
        beyond = (goal < lower) | (goal > upper)
        if not np.count_nonzero(beyond):
            return goal
        span = upper - lower
        margin = np.where(np.isfinite(span), 1e-7 * span, 0.0)
        inside = np.clip(goal, lower + margin, upper - margin)
        self._clamped(name, goal, beyond, inside, lower, upper)
        return np.where(beyond, inside, goal)

    def velocity(self, name: str, value: np.ndarray) -> np.ndarray:
        """Velocity inside the velocity limits."""
        return self._speed(name, value, self.limits.velocity)

    def goal_velocity(self, name: str, value: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """Velocity at a goal that can be reached and left again inside the position limits."""
        if not np.count_nonzero(value):
            return self.vector(name, value)
        room = np.minimum(self.limits.upper - goal, goal - self.limits.lower)
        return self._speed(name, value, self.limits.stoppable_velocity(np.maximum(room, 0.0)))

    def duration(self, name: str, value: float, zero: bool = False) -> float:
        """Duration [s], positive, or zero where that is allowed.

        Raises:
            MotionRefused: it is not.
        """
        value = float(value)
        if not np.isfinite(value) or value < 0.0 or (value == 0.0 and not zero):
            raise invalid_duration(name, value, '>= 0' if zero else '> 0')
        return value

    def time_to_limits(self, start: MotionState, velocity: np.ndarray, smooth: bool) -> float:
        """Time for which all joints can go on with a velocity inside their limits [s]."""
        room = np.where(
            velocity > 0.0,
            self.limits.upper - start.position,
            start.position - self.limits.lower,
        )
        if smooth:
            # The ramps take at most the way that stopping from either velocity takes.
            room = room - self.limits.stopping_distance(velocity)
            room = room - self.limits.stopping_distance(start.velocity)
        with np.errstate(divide='ignore', invalid='ignore'):
            times = np.where(velocity != 0.0, room / np.abs(velocity), np.inf)
        return max(0.0, float(times.min()))

    def _speed(self, name: str, value: np.ndarray, top: np.ndarray) -> np.ndarray:
        velocity = self.vector(name, value)
        clamped = np.clip(velocity, -top, top)
        beyond = np.abs(velocity) > top
        self._clamped(name, velocity, beyond, clamped, -top, top)
        return clamped

    def _clamped(
        self,
        name: str,
        asked: np.ndarray,
        beyond: np.ndarray,
        given: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
    ) -> None:
        for i in np.flatnonzero(beyond):
            joint = self.limits.names[i]
            if self.refuse:
                raise MotionRefused(
                    f'{name} of joint {joint!r} is {asked[i]:g}; '
                    f'it must lie in [{lower[i]:g}, {upper[i]:g}]'
                )
            self._report(
                f'{name} of joint {joint!r} clamped from {asked[i]:g} to {given[i]:g}, '
                f'limits [{lower[i]:g}, {upper[i]:g}]'
            )
