"""Rows of the benchmark."""

from __future__ import annotations

import importlib.util
import operator
import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

Work = Callable[[], object]

COMPARISONS = {'>=': operator.ge, '<=': operator.le}


# A need that is no module: a program, and first-in-first-out scheduling.
PROGRAM = 'program:'
FIFO = 'SCHED_FIFO'


def missing_modules(needs: str) -> list[str]:
    """Those of the modules, separated by blanks, that are not installed.

    `program:NAME` is a program, SCHED_FIFO the right to that scheduling.
    """
    return [name for name in needs.split() if not _is_there(name)]


def _is_there(need: str) -> bool:
    if need.startswith(PROGRAM):
        return shutil.which(need.removeprefix(PROGRAM)) is not None
    if need == FIFO:
        return _may_use_fifo()
    try:
        return importlib.util.find_spec(need) is not None
    except ModuleNotFoundError:
        # What it is a part of is missing.
        return False


def _may_use_fifo() -> bool:
    """Whether this thread gets first-in-first-out scheduling; it is given back at once."""
    try:
        policy, before = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, policy, before)
    except (AttributeError, OSError):
        return False
    return True


class Found(NamedTuple):
    """A figure, and what it was made of.

    Attributes:
        value: the figure.
        detail: further numbers, in words.
    """

    value: float
    detail: str


@dataclass(frozen=True)
class BenchRow:
    """Two pieces of work whose durations are compared.

    Attributes:
        name: name of the row on the command line.
        subject: what is measured, one line.
        reference: what it is compared with, one line.
        make: context in which the pair (subject, reference) can be called; everything that is not
            to be measured happens on the way in and out.
        kind: 'speed' for how fast the subject is against the reference (reference time over
            subject time), 'time' for how long it takes against it (the inverse).
        comparison: '>=' or '<=', how the ratio is to stand to the goal.
        goal: the ratio that is wanted.
        calls: calls of each in a repeat.
        repeats: how often the two take turns.
        needs: modules without which it cannot be measured, separated by blanks; empty for none.
        why: a sentence on why the goal is missed, shown only where it is.
    """

    name: str
    subject: str
    reference: str
    make: Callable[[], AbstractContextManager[tuple[Work, Work]]]
    kind: str = 'speed'
    comparison: str = '>='
    goal: float = 1.0
    calls: int = 1000
    repeats: int = 7
    needs: str = ''
    why: str = ''

    def reaches_goal(self, ratio: float) -> bool:
        """Whether a ratio is as good as wanted."""
        return bool(COMPARISONS[self.comparison](ratio, self.goal))


@dataclass(frozen=True)
class MissingRow:
    """A row for which something is not installed.

    Attributes:
        name, subject, reference: as in the row.
        needs: the modules that are not there.
    """

    name: str
    subject: str
    reference: str
    needs: list[str]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True)
class FailedRow:
    """A row that could not be measured.

    Attributes:
        name, subject, reference: as in the row.
        reason: class and message of the exception.
    """

    name: str
    subject: str
    reference: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True)
class FigureResult:
    """What a figure came to.

    Attributes:
        name, subject, reference, unit: as in the row.
        goal: the goal with its comparison.
        value: the figure; None where what it needs is not installed.
        reached: whether the goal is reached; None where there is no value.
        why: a sentence on why the goal is missed; empty where it is reached.
        detail: the numbers that it was made of, in words; empty for none.
    """

    name: str
    subject: str
    reference: str
    unit: str
    goal: str
    value: float | None
    reached: bool | None
    why: str = ''
    detail: str = ''

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True)
class MetricRow:
    """A quantity and what it is to be.

    Attributes:
        name: name of the row on the command line.
        subject: what is looked at, one line.
        reference: what it is compared with, one line.
        find: finds the value, perhaps with what it was made of.
        unit: unit of the value.
        comparison: '>=' or '<=', how the value is to stand to the goal.
        goal: the value that is wanted.
        needs: modules without which there is no value, separated by blanks; empty for none.
        why: a sentence on why the goal is missed, shown only where it is.
    """

    name: str
    subject: str
    reference: str
    find: Callable[[], float | Found]
    unit: str
    comparison: str = '<='
    goal: float = 0.0
    needs: str = ''
    why: str = ''

    def result(self) -> FigureResult:
        """Find the value, where what it needs is installed."""
        value, detail = None, ''
        if not missing_modules(self.needs):
            found = self.find()
            detail = found.detail if isinstance(found, Found) else ''
            value = float(found.value if isinstance(found, Found) else found)
        reached = None if value is None else bool(COMPARISONS[self.comparison](value, self.goal))
        return FigureResult(
            self.name,
            self.subject,
            self.reference,
            self.unit,
            f'{self.comparison} {self.goal:g}',
            value,
            reached,
            self.why if reached is False else '',
            detail,
        )
