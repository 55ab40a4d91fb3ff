"""Distributions by name, from which randomised runs draw their values."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cnoid_control.exceptions import choices
from cnoid_control.parameters import ParameterError
from cnoid_control.runtime.config import parse_value

Draw = Callable[[np.random.Generator, Sequence[Any]], Any]
# A draw outside of a truncated normal's range is repeated; this often at most.
ATTEMPTS = 10_000


def _truncated(random: np.random.Generator, given: Sequence[float]) -> float:
    mean, deviation, low, high = given
    for _ in range(ATTEMPTS):
        value = float(random.normal(mean, deviation))
        if low <= value <= high:
            return value
    return min(max(mean, low), high)


def _ordered(given: Sequence[float]) -> str:
    return '' if all(a <= b for a, b in itertools.pairwise(given)) else 'not ascending'


def _positive(given: Sequence[float]) -> str:
    return _ordered(given) or ('' if given[0] > 0.0 else 'not above 0')


def _spread(given: Sequence[float]) -> str:
    return '' if given[1] >= 0.0 else 'the standard deviation is negative'


def _truncation(given: Sequence[float]) -> str:
    mean, deviation, low, high = given
    if deviation < 0.0 or low >= high:
        return 'the standard deviation is negative, or the range is empty'
    # Else hardly any draw would lie in the range.
    far = max(low - mean, mean - high) > 3.0 * deviation
    return 'the range is more than 3 standard deviations away from the mean' if far else ''


def _whole(given: Sequence[float]) -> str:
    if any(value != int(value) for value in given):
        return 'not whole numbers'
    return _ordered(given)


@dataclass(frozen=True)
class Kind:
    """A kind of distribution.

    Attributes:
        words: what its numbers are.
        draw: draws one value.
        problem: what is wrong with numbers; empty for nothing.
    """

    words: tuple[str, ...]
    draw: Draw
    problem: Callable[[Sequence[float]], str]


CHOICE, CONSTANT = 'choice', 'constant'
KINDS = {
    'uniform': Kind(('low', 'high'), lambda r, g: float(r.uniform(*g)), _ordered),
    'log_uniform': Kind(
        ('low', 'high'),
        lambda r, g: math.exp(r.uniform(math.log(g[0]), math.log(g[1]))),
        _positive,
    ),
    'normal': Kind(('mean', 'deviation'), lambda r, g: float(r.normal(*g)), _spread),
    'truncated_normal': Kind(('mean', 'deviation', 'low', 'high'), _truncated, _truncation),
    'triangular': Kind(
        ('low', 'mode', 'high'),
        lambda r, g: float(r.triangular(*g)) if g[0] < g[2] else float(g[0]),
        _ordered,
    ),
    'integer': Kind(
        ('low', 'high'), lambda r, g: int(r.integers(int(g[0]), int(g[1]) + 1)), _whole
    ),
}
NAMES = (*KINDS, CHOICE, CONSTANT)
# How a drawn value is put in.
SET, ADD, SCALE = 'set', 'add', 'scale'
MODES = (SET, ADD, SCALE)
# Keys of a distribution besides the one that names it.
EXTRAS = ('as',)


@dataclass(frozen=True)
class Distribution:
    """What a value is drawn from.

    Attributes:
        kind: one of `NAMES`.
        given: its numbers, or the choices; for a vector they may be lists of its elements.
        mode: whether a draw replaces the model's value, is added to it or multiplies it; empty
            for what is usual for the quantity.
    """

    kind: str
    given: tuple[Any, ...]
    mode: str = ''

    def draw(self, random: np.random.Generator) -> Any:
        """Draw a value."""
        if self.kind == CONSTANT:
            return self.given[0]
        if self.kind == CHOICE:
            return self.given[int(random.integers(len(self.given)))]
        return KINDS[self.kind].draw(random, self.given)

    def element(self, key: str, index: int, size: int) -> Distribution:
        """Distribution of one element of a vector, where numbers may be lists.

        Raises:
            ParameterError: a list has another size.
        """
        for value in self.given:
            if isinstance(value, list) and len(value) != size:
                raise ParameterError(key, f'{size} values expected, got {value!r}')
        parts = (value[index] if isinstance(value, list) else value for value in self.given)
        return Distribution(self.kind, tuple(parts), self.mode)

    def check(self, key: str) -> None:
        """Refuse numbers that make no distribution.

        Raises:
            ParameterError: they make none.
        """
        if self.kind not in KINDS:
            return
        if any(isinstance(value, list) for value in self.given):
            raise ParameterError(key, f'{self.kind}: numbers expected, got {list(self.given)!r}')
        problem = KINDS[self.kind].problem(self.given)
        if problem:
            raise ParameterError(key, f'{self.kind} {list(self.given)!r}: {problem}')


def is_distribution(value: Any) -> bool:
    """Whether a value of the section is a distribution, not a map of further keys."""
    return not isinstance(value, Mapping) or any(name in value for name in NAMES)


def parse_distribution(key: str, value: Any) -> Distribution:
    """Distribution from a map such as `{uniform: [0.5, 1.5], as: scale}`, or from a constant.

    Raises:
        ParameterError: the kind is unknown, or its numbers are wrong.
    """
    if not isinstance(value, Mapping):
        return Distribution(CONSTANT, (_plain(value),))
    unknown = [name for name in value if name not in (*NAMES, *EXTRAS)]
    named = [name for name in value if name in NAMES]
    if unknown or len(named) != 1:
        raise ParameterError(
            key, f'{dict(value)!r} is not a distribution; {choices((*NAMES, *EXTRAS))}'
        )
    kind, given = named[0], value[named[0]]
    mode = value.get('as', '')
    if mode and mode not in MODES:
        raise ParameterError(f'{key}.as', f'{mode!r} is not allowed; {choices(MODES)}')
    if kind == CONSTANT:
        return Distribution(kind, (_plain(given),), mode)
    if isinstance(given, (str, Mapping)) or not hasattr(given, '__iter__'):
        raise ParameterError(f'{key}.{kind}', f'a list expected, got {given!r}')
    numbers = tuple(_plain(item) for item in given)
    if kind == CHOICE:
        if not numbers:
            raise ParameterError(f'{key}.{kind}', 'there is none to choose from')
        return Distribution(kind, numbers, mode)
    words = KINDS[kind].words
    if len(numbers) != len(words) or not all(map(_is_number, numbers)):
        raise ParameterError(
            f'{key}.{kind}', f'{len(words)} numbers expected ({", ".join(words)}), got {given!r}'
        )
    return Distribution(kind, numbers, mode)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def _is_number(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(_is_number, value))
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


RANGE = re.compile(r'^(?P<low>[^.].*?|\.\d.*?)\.\.(?P<high>[^:]+)(?P<log>:log)?$')
CALL = re.compile(r'^(?P<name>\w+)\((?P<numbers>.*)\)$')


def distribution_from_text(key: str, text: str) -> Any:
    """Value of the section for a text of the command line.

    `A..B` is uniform, `A..B:log` log-uniform; `normal(0, 0.1)`, `choice(a, b)` and the like name
    their kind; `:scale`, `:add` or `:set` at the end says how it is put in. Anything else is YAML.

    Raises:
        ParameterError: it cannot be read.
    """
    body, mode = text.strip(), ''
    head, colon, tail = body.rpartition(':')
    if colon and tail in MODES:
        body, mode = head, tail
    found: Any
    if match := CALL.match(body):
        found = {match['name']: parse_value(f'[{match["numbers"]}]')}
        if match['name'] == CONSTANT:
            found = {CONSTANT: found[CONSTANT][0] if len(found[CONSTANT]) == 1 else None}
    elif match := RANGE.match(body):
        kind = 'log_uniform' if match['log'] else 'uniform'
        found = {kind: [parse_value(match['low']), parse_value(match['high'])]}
    else:
        found = parse_value(body)
        found = found if isinstance(found, Mapping) else {CONSTANT: found}
    value = {**found, **({'as': mode} if mode else {})}
    parse_distribution(key, value)
    return value
