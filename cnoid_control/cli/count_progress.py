"""Progress display of many runs or trials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from cnoid_control.evaluation.evaluator import Evaluation
from cnoid_control.tuning.tuning import Tuning


class CountProgress:
    """One line on the terminal: how many, what they show so far, time left; else nothing."""

    def __init__(
        self, total: int, console: Console, describe: Callable[[Any], tuple[int, str]]
    ) -> None:
        """Prepare for a number of runs.

        Args:
            total: the number.
            console: the terminal; nothing is shown on what is none.
            describe: how many are done, and what they show, of what `update` is given.
        """
        self._describe = describe
        self._progress = Progress(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn('{task.description}'),
            TimeElapsedColumn(),
            TextColumn('left'),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task('', total=total)

    def __enter__(self) -> CountProgress:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def update(self, results: Any, latest: object) -> None:
        """Take note of one that is over."""
        done, text = self._describe(results)
        self._progress.update(self._task, completed=done, description=text)


def describe_evaluation(evaluation: Evaluation) -> tuple[int, str]:
    """Runs that are over, and their pass rate."""
    low, high = evaluation.interval()
    return len(evaluation.rows), f'passed {evaluation.pass_rate:.1%} ({low:.0%} to {high:.0%})'


def describe_tuning(tuning: Tuning) -> tuple[int, str]:
    """Trials that are over, and the best of them."""
    best = tuning.best
    if best is None or best.score is None:
        return len(tuning.trials), 'none obeys yet'
    values = ', '.join(f'{value:.4g}' for value in best.score.values)
    return len(tuning.trials), f'best {values} (trial {best.number})'
