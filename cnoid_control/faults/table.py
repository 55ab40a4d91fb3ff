"""The fault table: one row per fault, and which of them were survived."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

MAX_ATTEMPTS = 3
# Control periods within which the loop must have answered what it can see itself.
MAX_PERIODS = 3
# Times within which others promise to stop a robot [ms].
PROMISES = (
    (20.0, 'Franka, UR'),
    (50.0, 'Unitree'),
    (500.0, 'diff_drive, PX4, Autoware'),
)

VERDICTS = {True: 'yes', False: '**no**', None: 'skipped'}

# Columns of the table, and how they are aligned in Markdown.
COLUMNS = {
    'fault': '---',
    'where': '---',
    'reaction [ms]': '---:',
    'periods': '---:',
    'with threshold [ms]': '---:',
    'as quick as': '---',
    'attempts': '---:',
    'survived': '---',
    'outcome': '---',
}


@dataclass(frozen=True)
class FaultResult:
    """One fault and its outcome.

    Attributes:
        fault: name of the fault.
        where: 'embedded', 'dds' or 'gazebo'.
        reaction_ms: time from when the fault becomes detectable, by the thresholds in force, to
            the first command that answers it [ms]; None where nothing had to be done.
        survived: whether everything that must hold did, at the first attempt; None where the
            fault was not injected, for what it needs is not here.
        outcome: one sentence on what happened.
        periods: control periods that had begun by then, counting the one in which the fault
            became detectable; None where they do not count.
        attempts: how often the fault was injected.
        threshold_ms: time after which the fault becomes detectable, by the thresholds in force
            [ms].
    """

    fault: str
    where: str
    reaction_ms: float | None
    survived: bool | None
    outcome: str
    periods: int | None = None
    attempts: int = 1
    threshold_ms: float = 0.0

    @property
    def total_ms(self) -> float | None:
        """Time from the fault, or the last good message, to the answer [ms]; None for none."""
        return None if self.reaction_ms is None else self.threshold_ms + self.reaction_ms

    @property
    def promise(self) -> str:
        """The shortest time of others within which the answer came, and whose it is."""
        total = self.total_ms
        if total is None:
            return ''
        kept = (f'{limit:g} ms ({names})' for limit, names in PROMISES if total <= limit)
        return next(kept, 'slower')


def skipped(fault: str, where: str, reason: str) -> FaultResult:
    """Row of a fault that cannot be injected here, and why."""
    return FaultResult(fault, where, None, None, f'not injected: {reason}', attempts=0)


def run_row(inject: Callable[[], FaultResult]) -> FaultResult:
    """Inject a fault; one that is not survived is injected again, to tell how often it happens.

    Only the first attempt counts: its figures and its verdict are the row's. Later attempts are
    told in the outcome, because a machine that stalls for longer than the thresholds is a fault
    of its own, which a reader wants to tell from a defect.

    Args:
        inject: injects the fault into a fresh testbed.
    """
    first = inject()
    if first.survived is not False:
        return first
    later: list[FaultResult] = []
    while len(later) < MAX_ATTEMPTS - 1 and not (later and later[-1].survived):
        later.append(inject())
    told = [
        f'attempt {number}: {"survived" if result.survived else result.outcome}'
        for number, result in enumerate(later, start=2)
    ]
    outcome = f'{first.outcome} ({"; ".join(told)})'
    return replace(first, outcome=outcome, attempts=1 + len(later))


def to_markdown(results: Sequence[FaultResult]) -> str:
    """Table of the results."""
    lines = [f'| {" | ".join(COLUMNS)} |', f'|{"|".join(COLUMNS.values())}|']
    for result in results:
        reaction = '' if result.reaction_ms is None else f'{result.reaction_ms:.1f}'
        periods = '' if result.periods is None else result.periods
        total = '' if result.total_ms is None else f'{result.total_ms:.1f}'
        survived = VERDICTS[result.survived]
        lines.append(
            f'| {result.fault} | {result.where} | {reaction} | {periods} | {total} '
            f'| {result.promise} | {result.attempts} | {survived} | {result.outcome} |'
        )
    return '\n'.join(lines) + '\n'


def to_json(results: Sequence[FaultResult]) -> str:
    """The results as a JSON list."""
    return json.dumps([_to_values(result) for result in results], indent=2)


def _to_values(result: FaultResult) -> dict[str, Any]:
    return {
        'fault': result.fault,
        'where': result.where,
        'reaction_ms': result.reaction_ms,
        'total_ms': result.total_ms,
        'as_quick_as': result.promise,
        'attempts': result.attempts,
        'survived': result.survived,
        'outcome': result.outcome,
    }
