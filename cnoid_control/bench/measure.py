"""Measures two pieces of work by turns."""

from __future__ import annotations

import gc
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cnoid_control.bench.row import BenchRow, Work

WARM_UP = 0.1


@dataclass(frozen=True)
class BenchResult:
    """What a row came to.

    Attributes:
        name, subject, reference, kind, goal: as in the row; the goal with its comparison.
        ratio: median of the ratios of the repeats.
        ratio_low, ratio_high: smallest and largest of them.
        subject_median, subject_p99, reference_median, reference_p99: durations of a call [µs].
        reached: whether the goal is reached.
        why: a sentence on why the goal is missed; empty where it is reached.
    """

    name: str
    subject: str
    reference: str
    kind: str
    goal: str
    ratio: float
    ratio_low: float
    ratio_high: float
    subject_median: float
    subject_p99: float
    reference_median: float
    reference_p99: float
    reached: bool
    why: str = ''

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def measure(row: BenchRow, calls: int | None = None, repeats: int | None = None) -> BenchResult:
    """Measure a row.

    The two take turns, and each turn gives a ratio of its own, so that a machine that is busy
    with other things for a while disturbs both alike.

    Args:
        row: the row.
        calls: calls of each in a turn; the row's where None.
        repeats: number of turns; the row's where None.
    """
    calls = calls or row.calls
    turns: list[tuple[np.ndarray, np.ndarray]] = []
    with row.make() as (subject, reference):
        for work in (subject, reference):
            _warm_up(work, calls)
        enabled = gc.isenabled()
        gc.collect()
        gc.disable()
        try:
            for turn in range(repeats or row.repeats):
                pair = [subject, reference] if turn % 2 else [reference, subject]
                times = [_time(work, calls) for work in pair]
                turns.append((times[0], times[1]) if turn % 2 else (times[1], times[0]))
        finally:
            if enabled:
                gc.enable()
    ratios = [np.median(one) / np.median(other) for one, other in turns]
    if row.kind == 'speed':
        ratios = [1.0 / ratio for ratio in ratios]
    subject_times = np.concatenate([one for one, _ in turns])
    reference_times = np.concatenate([other for _, other in turns])
    ratio = float(np.median(ratios))
    reached = row.reaches_goal(ratio)
    return BenchResult(
        name=row.name,
        subject=row.subject,
        reference=row.reference,
        kind=row.kind,
        goal=f'{row.comparison} {row.goal:g}',
        ratio=round(ratio, 3),
        ratio_low=round(float(min(ratios)), 3),
        ratio_high=round(float(max(ratios)), 3),
        subject_median=_micro(np.median(subject_times)),
        subject_p99=_micro(np.percentile(subject_times, 99)),
        reference_median=_micro(np.median(reference_times)),
        reference_p99=_micro(np.percentile(reference_times, 99)),
        reached=reached,
        why='' if reached else row.why,
    )


def _warm_up(work: Work, calls: int) -> None:
    end = time.perf_counter() + WARM_UP
    for _ in range(calls):
        work()
        if time.perf_counter() > end:
            break


def _time(work: Work, calls: int) -> np.ndarray:
    """Durations of the calls [ns]."""
    clock = time.perf_counter_ns
    times = np.empty(calls + 1, dtype=np.int64)
    times[0] = clock()
    for i in range(1, calls + 1):
        work()
        times[i] = clock()
    return np.diff(times)


def _micro(nanoseconds: float) -> float:
    return round(float(nanoseconds) / 1e3, 3)
