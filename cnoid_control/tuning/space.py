"""What a search varies: values of the configuration, each in a range or among choices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from cnoid_control.evaluation.distributions import (
    ADD,
    CHOICE,
    SCALE,
    Distribution,
    distribution_from_text,
    parse_distribution,
)
from cnoid_control.evaluation.randomization import value_at
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.parameters import ParameterError
from cnoid_control.plugin.registry import controller_names
from cnoid_control.runtime.config import RunConfig, RunParameters

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

# Kinds of distributions that can be searched.
KINDS = ('uniform', 'log_uniform', 'integer', CHOICE)
EXAMPLES = '`100..8000`, `100..8000:log`, `integer(1, 5)`, `choice(a, b)`'
# Digits of a value that is tried: as many as stand in the file that is written.
DIGITS = 5
# Parts of a configuration that a run does not depend on, or that say what is searched.
NOT_VARIED = ('randomize', 'heartbeat', 'autostart', 'use_sim_time', 'controller', 'standby')


@dataclass(frozen=True)
class Variable:
    """One value that is searched, for one key of the configuration or for several.

    Attributes:
        name: how it was written: the key, or keys with commas between them.
        distribution: its range or its choices.
        present: what the configuration has there, by key; None for nothing.
    """

    name: str
    distribution: Distribution
    present: Mapping[str, Any]

    @property
    def keys(self) -> list[str]:
        """Keys of the configuration that have this value."""
        return list(self.present)

    @property
    def ends(self) -> list[Any]:
        """The smallest and the largest value; every choice where it has choices."""
        return list(self.distribution.given)

    def optuna_distribution(self) -> BaseDistribution:
        """The same for Optuna."""
        from optuna.distributions import (
            CategoricalDistribution,
            FloatDistribution,
            IntDistribution,
        )

        given = self.distribution.given
        if self.distribution.kind == CHOICE:
            # Lists are allowed as values of a configuration, not as choices of Optuna.
            return CategoricalDistribution(range(len(given)))
        if self.distribution.kind == 'integer':
            return IntDistribution(int(given[0]), int(given[1]))
        return FloatDistribution(
            float(given[0]), float(given[1]), log=self.distribution.kind == 'log_uniform'
        )

    def value(self, suggested: Any) -> Any:
        """Value to try for what Optuna suggests."""
        if self.distribution.kind == CHOICE:
            return self.distribution.given[suggested]
        if self.distribution.kind == 'integer':
            return int(suggested)
        low, high = self.distribution.given
        return min(max(float(f'{suggested:.{DIGITS}g}'), float(low)), float(high))

    def start(self) -> Any:
        """What Optuna would have to suggest for the configuration as it is; None for nothing."""
        values = list(self.present.values())
        value = {ADD: 0.0, SCALE: 1.0}.get(self.distribution.mode, values[0])
        if not self.distribution.mode and any(one != value for one in values):
            return None
        if self.distribution.kind == CHOICE:
            given = list(self.distribution.given)
            return given.index(value) if value in given else None
        low, high = self.distribution.given
        is_inside = _has_numbers([value]) and not isinstance(value, list) and low <= value <= high
        return value if is_inside else None

    def changes(self, value: Any) -> dict[str, Any]:
        """Changes of the configuration that a value stands for."""
        return {key: self._put(before, value) for key, before in self.present.items()}

    def _put(self, before: Any, value: Any) -> Any:
        mode = self.distribution.mode
        if mode not in (ADD, SCALE):
            return value
        parts = before if isinstance(before, list) else [before]
        new = [
            float(f'{part * value if mode == SCALE else part + value:.{DIGITS}g}')
            for part in parts
        ]
        return new if isinstance(before, list) else new[0]


def read_space(vary: Mapping[str, Any] | Iterable[str], config: RunConfig) -> list[Variable]:
    """What is searched, checked as far as that goes without a robot.

    Args:
        vary: texts such as `pd.kp=100..8000:log`, or ranges by key: such a text after the equals
            sign, a pair of numbers, or a map such as `{log_uniform: [100, 8000]}`. Several keys
            with commas between them share one value.
        config: the configuration.

    Raises:
        ParameterError: a key or a range is wrong.
        CnoidControlError: there is nothing to search.
    """
    pairs = list(vary.items()) if isinstance(vary, Mapping) else [_split(text) for text in vary]
    if not pairs:
        raise CnoidControlError(f'there is nothing to vary; give KEY=RANGE: {EXAMPLES}')
    variables = []
    known: set[str] = set()
    for name, given in pairs:
        keys = [key.strip() for key in name.split(',')]
        for key in keys:
            _check_key(key, config)
            if key in known:
                raise ParameterError(key, 'is varied twice')
            known.add(key)
        distribution = _read_range(name, given)
        present = {key: value_at(config.values, key) for key in keys}
        if distribution.mode in (ADD, SCALE):
            for key, value in present.items():
                if not _has_numbers(value):
                    raise ParameterError(
                        key,
                        f'{distribution.mode!r} needs a number in the configuration, which has '
                        f'{value!r}',
                    )
        variables.append(Variable(','.join(keys), distribution, present))
    return variables


def _split(text: str) -> tuple[str, str]:
    name, equals, given = text.partition('=')
    if not equals or not name.strip():
        raise CnoidControlError(f'{text!r} is not KEY=RANGE; ranges are {EXAMPLES}')
    return name.strip(), given


def _read_range(key: str, given: Any) -> Distribution:
    if isinstance(given, (tuple, list)):
        given = {'uniform': list(given)}
    if isinstance(given, str):
        given = distribution_from_text(key, given)
    distribution = parse_distribution(key, given)
    if distribution.kind not in KINDS:
        raise ParameterError(key, f'{given!r} is not a range; ranges are {EXAMPLES}')
    has_lists = any(isinstance(value, list) for value in distribution.given)
    if has_lists and distribution.kind != CHOICE:
        raise ParameterError(key, f'{list(distribution.given)!r}: two numbers expected')
    distribution.check(key)
    if len(distribution.given) < 2 or distribution.given[0] == distribution.given[-1]:
        raise ParameterError(key, f'{list(distribution.given)!r} leaves nothing to choose')
    return distribution


def _check_key(key: str, config: RunConfig) -> None:
    """Refuse keys that no run depends on."""
    head, _, rest = key.partition('.')
    given = config.parameters
    running = [config.controller_name, *given.other_controllers, *given.standby]
    if config.successor:
        running.append(config.successor)
    sections = [item.name for item in fields(RunParameters) if item.name not in NOT_VARIED]
    known = list(dict.fromkeys([*running, *sections, 'hardware']))
    if head not in known:
        waits = head in config.options or head in controller_names()
        why = f'unknown; {choices(known)}'
        if waits:
            why = f'{head!r} does not run here, {config.controller_name!r} does; {choices(known)}'
        raise ParameterError(key, why)
    if head in (*running, 'hardware', 'robot', 'limits', 'watchdog', 'safe_state') and not rest:
        raise ParameterError(key, f'is a section; give one of its options: {key}.OPTION')
    if head == 'hardware' and rest.partition('.')[0] != config.hardware_type:
        raise ParameterError(key, f'is not in use; choose from: hardware.{config.hardware_type}')


def _has_numbers(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(_has_numbers(item) for item in value)
    return isinstance(value, (int, float)) and not isinstance(value, bool)
