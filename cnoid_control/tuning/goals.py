"""What a search wants: objectives and constraints on the values of runs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from cnoid_control.exceptions import CnoidControlError, choices

MEAN, WORST, MEDIAN = 'mean', 'worst', 'median'
STATISTICS = (MEAN, WORST, MEDIAN, 'p90', 'p95', 'p99')
OPERATORS = ('<=', '>=', '==', '=', '<', '>')
CONSTRAINT = re.compile(
    r'^\s*(?P<metric>[^<>=]+?)\s*(?P<operator><=|>=|==|=|<|>)\s*(?P<bound>.+)$'
)
EXAMPLES = '`fell=0`, `max_tilt_deg<10`, `fell:mean<=0.05`'


@dataclass(frozen=True)
class Measure:
    """A value of a run, over all runs of a trial.

    Attributes:
        metric: name of the value.
        statistic: how it is taken over the runs, one of `STATISTICS`.
        is_smaller_better: which end is the worst one.
    """

    metric: str
    statistic: str
    is_smaller_better: bool

    def over(self, rows: Sequence[Mapping[str, Any]]) -> float:
        """The value over runs; infinitely bad where a run has none."""
        values = np.array([_number(row.get(self.metric)) for row in rows], dtype=float)
        bad = math.inf if self.is_smaller_better else -math.inf
        if not len(values) or not np.isfinite(values).all():
            return bad
        if self.statistic == MEAN:
            return float(values.mean())
        if self.statistic == MEDIAN:
            return float(np.median(values))
        share = 1.0 if self.statistic == WORST else float(self.statistic[1:]) / 100.0
        return float(np.quantile(values, share if self.is_smaller_better else 1.0 - share))

    def __str__(self) -> str:
        return f'{self.metric}:{self.statistic}'


@dataclass(frozen=True)
class Objective(Measure):
    """A value that is to be small, or large."""

    @property
    def direction(self) -> Literal['minimize', 'maximize']:
        """Which way it is to go, in Optuna's word."""
        return 'minimize' if self.is_smaller_better else 'maximize'


@dataclass(frozen=True)
class Constraint(Measure):
    """A value that must obey a bound.

    Attributes:
        operator: `<=`, `<`, `>=`, `>` or `==`.
        bound: the bound.
    """

    operator: str
    bound: float

    def excess(self, rows: Sequence[Mapping[str, Any]]) -> float:
        """How far it is violated; 0 where it is not."""
        values = [_number(row.get(self.metric)) for row in rows]
        if self.operator == '==' and self.statistic == WORST:
            # The furthest from the bound, on either side.
            return _finite(max((abs(value - self.bound) for value in values), default=0.0))
        value = self.over(rows)
        if self.operator == '==':
            return _finite(abs(value - self.bound))
        beyond = value - self.bound if self.is_smaller_better else self.bound - value
        if beyond == 0.0 and self.operator in ('<', '>'):
            return TOUCHING
        return _finite(max(0.0, beyond))

    def __str__(self) -> str:
        return f'{self.metric}:{self.statistic}{self.operator}{self.bound:g}'


# An excess that no number expresses, and that of a value on a bound that it must not reach.
ENDLESS, TOUCHING = 1e9, 1e-9


def _finite(value: float) -> float:
    return min(value, ENDLESS) if not math.isnan(value) else ENDLESS


def _number(value: Any) -> float:
    return math.nan if value is None or isinstance(value, str) else float(value)


def read_objectives(minimize: Iterable[str], maximize: Iterable[str]) -> list[Objective]:
    """Objectives from texts such as `max_tilt_deg` or `max_tilt_deg:worst`.

    Raises:
        CnoidControlError: there is none, or a statistic is unknown.
    """
    found = [Objective(*_read_measure(text, MEAN), True) for text in minimize]
    found += [Objective(*_read_measure(text, MEAN), False) for text in maximize]
    if not found:
        raise CnoidControlError('there is no objective; give a value to minimize or to maximize')
    return found


def read_constraints(subject_to: Iterable[str]) -> list[Constraint]:
    """Constraints from texts such as `fell=0` or `fell:mean<=0.05`.

    Raises:
        CnoidControlError: one cannot be read.
    """
    found = []
    for text in subject_to:
        match = CONSTRAINT.match(text)
        if match is None:
            raise CnoidControlError(
                f'constraint {text!r} is not VALUE, operator, number, such as {EXAMPLES}; '
                f'operators: {choices(OPERATORS)}'
            )
        bound = _read_bound(text, match['bound'].strip())
        operator = '==' if match['operator'] == '=' else match['operator']
        measure = _read_measure(match['metric'], WORST)
        found.append(Constraint(*measure, operator not in ('>=', '>'), operator, bound))
    return found


def _read_bound(text: str, bound: str) -> float:
    words = {'true': 1.0, 'false': 0.0}
    try:
        value = words.get(bound.lower())
        value = float(bound) if value is None else value
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise CnoidControlError(f'constraint {text!r}: {bound!r} is not a finite number')
    return value


def _read_measure(text: str, statistic: str) -> tuple[str, str]:
    metric, colon, given = text.strip().partition(':')
    if colon and given not in STATISTICS:
        raise CnoidControlError(f'{text!r}: unknown statistic {given!r}; {choices(STATISTICS)}')
    return metric, given or statistic


def resolve(measures: Iterable[Any], row: Mapping[str, Any]) -> list[Any]:
    """Measures with the full names of their values.

    A name may leave its last word out, as `max_tilt` for `max_tilt_deg`, where it is clear.

    Args:
        measures: objectives or constraints.
        row: values of a run, by name.

    Raises:
        CnoidControlError: there is no such value, or it is no number.
    """
    numbers = [name for name, value in row.items() if not isinstance(value, str)]
    found = []
    for measure in measures:
        name = measure.metric
        longer = [one for one in numbers if one.startswith(f'{name}_')]
        if name not in numbers and len(longer) == 1:
            name = longer[0]
        if name not in numbers:
            why = 'is a text' if name in row else 'unknown'
            raise CnoidControlError(f'value {measure.metric!r}: {why}; {choices(numbers)}')
        found.append(replace(measure, metric=name))
    names = [str(measure) for measure in found]
    for name in names:
        if names.count(name) > 1:
            raise CnoidControlError(f'{name!r} is given twice')
    return found
