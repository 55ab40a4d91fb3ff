"""Rewards and ends of episodes: functions of the environment, by name or of one's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cnoid_control.exceptions import CnoidControlError, choices, describe
from cnoid_control.parameters import locate_plugin
from cnoid_control.plugin.registry import PluginKind, find_object

if TYPE_CHECKING:
    from cnoid_control.environment.environment import Environment

FUNCTIONS = PluginKind('function', object, 'cnoid_control.rewards')
Function = Callable[['Environment'], Any]


def base_velocity(env: Environment) -> np.ndarray:
    """Velocity of the root in its own axes: forward, left [m/s], turning left [rad/s]."""
    root = env.robot.root_link
    v, w = root.R.T @ root.v, root.R.T @ root.w
    return np.array([v[0], v[1], w[2]])


def _mean_square(values: np.ndarray) -> float:
    return float(values @ values) / max(values.size, 1)


# What one step of an episode is measured by.
METRICS: dict[str, Callable[[Environment], float]] = {
    'alive': lambda env: 1.0,
    'fell': lambda env: float(env.fell),
    'failed': lambda env: float(bool(env.reason)),
    'tilt': lambda env: env.simulation.monitor.tilt,
    'height': lambda env: float(env.robot.root_link.p[2]),
    'forward_velocity': lambda env: float(base_velocity(env)[0]),
    'velocity_error': lambda env: float(np.linalg.norm(base_velocity(env) - env.command)),
    'joint_error': lambda env: env.simulation.monitor.joint_error,
    'joint_velocity': lambda env: _mean_square(env.robot.dq),
    'effort': lambda env: _mean_square(env.robot.u),
    'action': lambda env: _mean_square(env.action),
    'action_rate': lambda env: _mean_square(env.action - env.previous_action),
}


class Reward:
    """Sum of metrics by their weights, or a function."""

    def __init__(self, given: Mapping[str, float] | str | Function) -> None:
        """Look the metrics or the function up.

        Args:
            given: weights by metric, a function of the environment, or the name of one,
                `package.module:function` or `file.py:function`.

        Raises:
            CnoidControlError: there is no such metric or function.
        """
        self._function: Function | None = None
        self._weights: dict[str, float] = {}
        if isinstance(given, Mapping):
            for name, weight in given.items():
                if name not in METRICS:
                    raise CnoidControlError(f'reward: unknown metric {name!r}; {choices(METRICS)}')
                self._weights[name] = _number(f'reward.{name}', weight)
        else:
            self._function = find_function('reward', given)

    def __call__(self, env: Environment, info: dict[str, Any]) -> float:
        """Reward of a step; its parts are put into `info`.

        Raises:
            CnoidControlError: the function fails, or returns no finite number.
        """
        if self._function is not None:
            return _number('reward', call('reward', self._function, env))
        parts = {name: weight * METRICS[name](env) for name, weight in self._weights.items()}
        info['reward_parts'] = parts
        return _number('reward', sum(parts.values()))


def find_function(key: str, given: Any) -> Function:
    """Function of the environment, or one by its name.

    Raises:
        CnoidControlError: it is none.
    """
    if isinstance(given, str):
        if ':' not in given:
            raise CnoidControlError(
                f"{key} is {given!r}; 'file.py:function', 'package.module:function', a function"
                + (
                    " or a map of metrics to weights was expected; {'alive': 1.0}"
                    if key == 'reward'
                    else " or 'fell' or 'never' was expected"
                )
            )
        given = find_object(locate_plugin(given, Path.cwd()), None, FUNCTIONS)
    if not callable(given):
        raise CnoidControlError(f'{key} is {given!r}, which is no function of the environment')
    return given


def call(key: str, function: Function, env: Environment) -> Any:
    """What a user's function says.

    Raises:
        CnoidControlError: it raised.
    """
    try:
        return function(env)
    except CnoidControlError:
        raise
    except Exception as error:
        raise CnoidControlError(f'{key}: the function raised {describe(error)}') from error


def _number(key: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise CnoidControlError(f'{key} is {value!r}; a finite number was expected')
    return number
