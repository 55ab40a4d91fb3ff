"""Interpolators between a task's present and its target."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from cnoid_control.controllers.tasks.exceptions import TaskError
from cnoid_control.controllers.tasks.strict import Strict, put
from cnoid_control.interpolation import smoothstep
from cnoid_control.parameters import PluginName, not_allowed, parameter, unknown_option
from cnoid_control.plugin.exceptions import ControllerLoadError
from cnoid_control.plugin.options import check_options, default_options
from cnoid_control.plugin.registry import PluginKind


class Interpolator(Strict):
    """Turns the input of a target into its output, tick by tick.

    Attributes:
        Parameters: dataclass of the options that a class has of its own; None for none.
        parameters: its options, an instance of `Parameters`; None where one must be given.
        output: value now, shape (size,).
        goal: value that was asked for, shape (size,).
        velocity: first derivative of the output now, where the interpolator keeps account of it.
    """

    Parameters: ClassVar[type | None] = None
    velocity: np.ndarray | None = None

    def __init__(self) -> None:
        """Make an interpolator that has no value yet; `reset` gives it one."""
        self.parameters: Any = default_options(type(self))
        self.output = np.zeros(0)
        self.goal = np.zeros(0)

    def reset(self, value: np.ndarray) -> None:
        """Jump to a value and stay there."""
        self.output = np.array(value, dtype=float)
        self.goal = self.output.copy()
        self.replan()

    def set_goal(self, goal: np.ndarray) -> None:
        """Go to another value from now on."""
        self.goal = np.array(goal, dtype=float)
        self.replan()

    def take_motion(self, velocity: np.ndarray | None) -> None:
        """Go on from a velocity of the output, where the interpolator can; after `reset`."""

    def replan(self) -> None:
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
        return smoothstep(s)
    return s**3 * (10.0 - 15.0 * s + 6.0 * s * s)


# Largest first and second derivative of each blend over a unit interval.
PEAK_SLOPE = {1: 1.0, 3: 1.5, 5: 1.875}
PEAK_CURVATURE = {1: 0.0, 3: 6.0, 5: 10.0 / 3.0**0.5}


class IdentityInterpolator(Interpolator):
    """Output is the goal at once."""

    def step(self, dt: float) -> np.ndarray:
        """Jump to the goal."""
        goal = self.goal
        put(self, 'output', goal)
        return goal


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
            raise not_allowed('max_velocity', max_velocity, 'it must be > 0')

    def step(self, dt: float) -> np.ndarray:
        """Advance by at most max_velocity dt."""
        change = self.max_velocity * dt
        self.output = self.output + np.clip(self.goal - self.output, -change, change)
        return self.output


class TimedInterpolator(Interpolator):
    """Reaches each goal in the same time, all elements together, by a polynomial blend."""

    def __init__(self, degree: int, duration: float) -> None:
        """Choose the shape (degree 1, 3 or 5) and the time [s]."""
        super().__init__()
        self._degree = degree
        self._start = self.output
        self.duration = duration

    @property
    def degree(self) -> int:
        """Shape of the blend: 1, 3 or 5."""
        return self._degree

    @property
    def duration(self) -> float:
        """Time to a goal [s]; another one counts from now on, from the output of now."""
        return self._duration

    @duration.setter
    def duration(self, duration: float) -> None:
        if not duration > 0.0:
            raise not_allowed('duration', duration, 'it must be > 0')
        self._duration = duration
        self._start = self.output
        self._elapsed = 0.0

    def replan(self) -> None:
        """Begin the blend at the output of now."""
        self._start = self.output
        self._elapsed = 0.0

    def step(self, dt: float) -> np.ndarray:
        """Advance along the blend."""
        self._elapsed += dt
        blend = polynomial(self._elapsed / self._duration, self._degree)
        self.output = self._start + blend * (self.goal - self._start)
        return self.output


class ConstrainedInterpolator(TimedInterpolator):
    """Polynomial blend as fast as limits on the first and second derivative allow.

    Attributes:
        limits: the limits in force.
    """

    def __init__(
        self,
        degree: int,
        max_velocity: float | np.ndarray,
        max_acceleration: float | np.ndarray = math.inf,
    ) -> None:
        """Choose the shape (degree 3 or 5) and the limits, scalars or one value an element."""
        super().__init__(degree, 1.0)
        self.limits = Limits(max_velocity, max_acceleration)

    def set_limits(self, **limits: float | np.ndarray) -> None:
        """Keep to other limits from now on, starting at the output of now."""
        self.limits = self.limits.replace(**limits)
        self.replan()

    def replan(self) -> None:
        """Find the shortest duration that keeps the limits."""
        distance = np.abs(self.goal - self.output)
        duration = 1e-9
        if distance.size:
            slopes = distance * PEAK_SLOPE[self._degree] / self.limits.max_velocity
            curvatures = distance * PEAK_CURVATURE[self._degree] / self.limits.max_acceleration
            duration = max(float(np.max(slopes)), math.sqrt(float(np.max(curvatures))), duration)
        self.duration = duration


class Limits:
    """Limits of the derivatives, scalars or one value an element, all > 0; infinite for none."""

    def __init__(
        self,
        max_velocity: float | np.ndarray,
        max_acceleration: float | np.ndarray = math.inf,
        max_jerk: float | np.ndarray = math.inf,
    ) -> None:
        """Check them."""
        self.max_velocity = np.array(max_velocity, dtype=float)
        self.max_acceleration = np.array(max_acceleration, dtype=float)
        self.max_jerk = np.array(max_jerk, dtype=float)
        for name, limit in vars(self).items():
            limit.flags.writeable = False
            if not np.all(limit > 0.0):
                raise not_allowed(name, limit.tolist(), 'it must be > 0')

    def replace(self, **limits: float | np.ndarray) -> Limits:
        """Limits with some of them changed."""
        for name in limits:
            if name not in vars(self):
                raise unknown_option(name, vars(self))
        return Limits(**{**vars(self), **limits})


class TimeOptimalInterpolator(Interpolator):
    """Online trajectory generation by ruckig; a new goal is taken over from the running motion.

    Attributes:
        limits: the limits in force.
        velocity: first derivative of the output now.
    """

    velocity: np.ndarray

    def __init__(
        self,
        max_velocity: float | np.ndarray,
        max_acceleration: float | np.ndarray,
        max_jerk: float | np.ndarray = math.inf,
    ) -> None:
        """Set the limits, scalars or one value an element."""
        super().__init__()
        self.limits = Limits(max_velocity, max_acceleration, max_jerk)
        self.velocity = np.zeros(0)
        self._plan: Any = None

    def set_limits(self, **limits: float | np.ndarray) -> None:
        """Keep to other limits from now on, starting from the motion of now."""
        self.limits = self.limits.replace(**limits)
        if self._plan is not None:
            self.replan()

    def reset(self, value: np.ndarray) -> None:
        """Jump to a value and stand still there."""
        self.velocity = np.zeros(len(value))
        self._acceleration = np.zeros(len(value))
        super().reset(value)

    def take_motion(self, velocity: np.ndarray | None) -> None:
        """Go on from a velocity of the output, as far as the limits allow it."""
        if velocity is not None and len(velocity) == len(self.output):
            limit = self.limits.max_velocity
            self.velocity = np.clip(velocity, -limit, limit)

    def replan(self) -> None:
        """Plan from the motion of now to rest at the goal."""
        import ruckig

        size = len(self.goal)
        problem = ruckig.InputParameter(size)
        problem.current_position = self.output.tolist()
        problem.current_velocity = self.velocity.tolist()
        problem.current_acceleration = self._acceleration.tolist()
        problem.target_position = self.goal.tolist()
        for name, limit in vars(self.limits).items():
            setattr(problem, name, np.broadcast_to(limit, (size,)).tolist())
        plan = ruckig.Trajectory(size)
        result = ruckig.Ruckig(size).calculate(problem, plan)
        if result not in (ruckig.Result.Working, ruckig.Result.Finished):
            raise not_allowed('goal', self.goal.tolist(), f'ruckig says {result}')
        self._plan = plan
        self._elapsed = 0.0

    def step(self, dt: float) -> np.ndarray:
        """Advance along the planned motion."""
        self._elapsed += dt
        position, velocity, acceleration = self._plan.at_time(self._elapsed)[:3]
        self.output = np.array(position)
        self.velocity = np.array(velocity)
        self._acceleration = np.array(acceleration)
        return self.output


class WeightedInterpolator(Interpolator):
    """Output = start + s(weight) (goal - start), s of degree 1, 3 or 5.

    Attributes:
        weight: in ]0, 1]; 1 is the goal itself.
    """

    def __init__(self, degree: int, weight: float = 1.0) -> None:
        """Choose the shape of the blend."""
        super().__init__()
        self.degree = degree
        self.weight = weight
        self._start = self.output

    @property
    def weight(self) -> float:
        """Part of the way that is done, in ]0, 1]."""
        return self._weight

    @weight.setter
    def weight(self, value: float) -> None:
        if not 0.0 < value <= 1.0:
            raise not_allowed('weight', value, 'it must lie in ]0, 1]')
        self._weight = value

    def replan(self) -> None:
        """Blend from the output of now."""
        self._start = self.output

    def step(self, dt: float) -> np.ndarray:
        """Blend by the weight of now."""
        blend = polynomial(self.weight, self.degree)
        self.output = self._start + blend * (self.goal - self._start)
        return self.output


DEGREES = {'linear': 1, 'cubic': 3, 'quintic': 5}


INTERPOLATOR_TYPES: dict[str, type[Interpolator]] = {
    'identity': IdentityInterpolator,
    **dict.fromkeys(DEGREES, WeightedInterpolator),
    'cubic_constrained': ConstrainedInterpolator,
    'quintic_constrained': ConstrainedInterpolator,
    **{f'{shape}_timed': TimedInterpolator for shape in DEGREES},
    'rate_limiter': RateLimiter,
    'time_optimal': TimeOptimalInterpolator,
}
INTERPOLATORS = PluginKind(
    'interpolator type', Interpolator, 'cnoid_control.interpolators', INTERPOLATOR_TYPES
)


@dataclass
class InterpolatorParameters:
    """Which interpolator a target uses, and its limits."""

    type: PluginName = parameter(
        'identity', "kind of interpolator, 'package.module:Class' or 'file.py:Class'"
    )
    options: dict[str, Any] = parameter({}, "options of a class of one's own")
    weight: float = parameter(1.0, 'part of the way, linear, cubic and quintic only', maximum=1.0)
    duration: float = parameter(1.0, 'time to a new goal, *_timed only', unit='s', minimum=0.0)
    max_velocity: float = parameter(1.0, 'limit of the first derivative', minimum=0.0)
    max_acceleration: float = parameter(1e9, 'limit of the second derivative', minimum=0.0)
    max_jerk: float = parameter(1e12, 'limit of the third derivative', minimum=0.0)


def interpolator_options(kind: str) -> tuple[str, ...]:
    """Names of the options that an interpolator of a kind uses."""
    if kind == 'rate_limiter':
        return ('max_velocity',)
    if kind == 'time_optimal':
        return ('max_velocity', 'max_acceleration', 'max_jerk')
    if kind.endswith('_constrained'):
        return ('max_velocity', 'max_acceleration')
    if kind.endswith('_timed'):
        return ('duration',)
    if kind in DEGREES:
        return ('weight',)
    return () if kind in INTERPOLATOR_TYPES else ('options',)


def make_interpolator(
    parameters: InterpolatorParameters, key: str = 'interpolator', folder: Path | None = None
) -> Interpolator:
    """Interpolator of the kind named.

    Args:
        parameters: its options.
        key: key of the options, for messages.
        folder: folder that a relative `file.py:Class` starts from.

    Raises:
        TaskError: there is no such kind.
        ParameterError: an option of a class of one's own is wrong.
    """
    kind = parameters.type
    shape, _, variant = kind.partition('_')
    degree = DEGREES.get(shape, 0)
    if kind == 'identity':
        return IdentityInterpolator()
    if kind == 'rate_limiter':
        return RateLimiter(parameters.max_velocity)
    if kind == 'time_optimal':
        return TimeOptimalInterpolator(
            parameters.max_velocity, parameters.max_acceleration, parameters.max_jerk
        )
    if degree and not variant:
        return WeightedInterpolator(degree, parameters.weight)
    if degree and variant == 'timed':
        return TimedInterpolator(degree, parameters.duration)
    if degree > 1 and variant == 'constrained':
        return ConstrainedInterpolator(
            degree, parameters.max_velocity, parameters.max_acceleration
        )
    try:
        found = INTERPOLATORS.find(kind, folder)
        own: Interpolator = found()
    except (ControllerLoadError, TypeError) as error:
        raise TaskError(f'{key}.type: {error}') from error
    own.parameters = check_options(f'{key}.options', found, parameters.options, folder)
    return own


__all__ = [
    'INTERPOLATORS',
    'INTERPOLATOR_TYPES',
    'ConstrainedInterpolator',
    'IdentityInterpolator',
    'Interpolator',
    'InterpolatorParameters',
    'Limits',
    'RateLimiter',
    'TimeOptimalInterpolator',
    'TimedInterpolator',
    'WeightedInterpolator',
    'interpolator_options',
    'make_interpolator',
]
