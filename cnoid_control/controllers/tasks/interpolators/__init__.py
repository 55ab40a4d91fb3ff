"""Ways for a target to reach what was asked for, by name."""

from __future__ import annotations

from dataclasses import dataclass

from cnoid_control.controllers.tasks.exceptions import UnknownTaskType
from cnoid_control.controllers.tasks.interpolators.identity import IdentityInterpolator
from cnoid_control.controllers.tasks.interpolators.interpolator import Interpolator
from cnoid_control.controllers.tasks.interpolators.rate_limiter import RateLimiter
from cnoid_control.controllers.tasks.interpolators.time_optimal import TimeOptimalInterpolator
from cnoid_control.controllers.tasks.interpolators.timed import (
    ConstrainedInterpolator,
    TimedInterpolator,
)
from cnoid_control.controllers.tasks.interpolators.weighted import WeightedInterpolator
from cnoid_control.parameters import parameter

DEGREES = {'linear': 1, 'cubic': 3, 'quintic': 5}


@dataclass
class InterpolatorParameters:
    """Which interpolator a target uses, and its limits."""

    type: str = parameter('identity', 'kind of interpolator')
    weight: float = parameter(1.0, 'part of the way, linear, cubic and quintic only', maximum=1.0)
    duration: float = parameter(1.0, 'time to a new goal, *_timed only', unit='s', minimum=0.0)
    max_velocity: float = parameter(1.0, 'limit of the first derivative', minimum=0.0)
    max_acceleration: float = parameter(1e9, 'limit of the second derivative', minimum=0.0)
    max_jerk: float = parameter(1e12, 'limit of the third derivative', minimum=0.0)


def make_interpolator(parameters: InterpolatorParameters) -> Interpolator:
    """Interpolator of the kind named.

    Raises:
        UnknownTaskType: there is no such kind.
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
    raise UnknownTaskType('interpolator', kind, INTERPOLATOR_TYPES)


INTERPOLATOR_TYPES = (
    'identity',
    *DEGREES,
    'cubic_constrained',
    'quintic_constrained',
    *(f'{shape}_timed' for shape in DEGREES),
    'rate_limiter',
    'time_optimal',
)

__all__ = [
    'INTERPOLATOR_TYPES',
    'ConstrainedInterpolator',
    'IdentityInterpolator',
    'Interpolator',
    'InterpolatorParameters',
    'RateLimiter',
    'TimeOptimalInterpolator',
    'TimedInterpolator',
    'WeightedInterpolator',
    'make_interpolator',
]
