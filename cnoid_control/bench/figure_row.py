"""A line of the table of figures: a quantity other than a time, such as an error."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from cnoid_control.bench.bench_row import COMPARISONS


@dataclass(frozen=True)
class FigureResult:
    """What a figure came to.

    Attributes:
        name, subject, reference, unit: as in the row.
        goal: the goal with its comparison.
        value: the figure; None where what it needs is not installed.
        reached: whether the goal is reached; None where there is no value.
    """

    name: str
    subject: str
    reference: str
    unit: str
    goal: str
    value: float | None
    reached: bool | None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True)
class FigureRow:
    """A quantity and what it is to be.

    Attributes:
        name: name of the row on the command line.
        subject: what is looked at, one line.
        reference: what it is compared with, one line.
        find: finds the value.
        unit: unit of the value.
        comparison: '>=' or '<=', how the value is to stand to the goal.
        goal: the value that is wanted.
        needs: module without which there is no value; empty for none.
    """

    name: str
    subject: str
    reference: str
    find: Callable[[], float]
    unit: str
    comparison: str = '<='
    goal: float = 0.0
    needs: str = ''

    def result(self) -> FigureResult:
        """Find the value, where what it needs is installed."""
        value = None
        if not self.needs or importlib.util.find_spec(self.needs) is not None:
            value = float(self.find())
        return FigureResult(
            self.name,
            self.subject,
            self.reference,
            self.unit,
            f'{self.comparison} {self.goal:g}',
            value,
            None if value is None else bool(COMPARISONS[self.comparison](value, self.goal)),
        )
