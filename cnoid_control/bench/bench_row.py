"""One line of the performance table."""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

Work = Callable[[], object]

COMPARISONS = {'>=': operator.ge, '<=': operator.le}


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

    def reaches_goal(self, ratio: float) -> bool:
        """Whether a ratio is as good as wanted."""
        return bool(COMPARISONS[self.comparison](ratio, self.goal))
