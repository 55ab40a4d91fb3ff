"""Progress display of many runs."""

from __future__ import annotations

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


class EvaluateProgress:
    """One line on the terminal: runs, pass rate so far, time left; nothing without a terminal."""

    def __init__(self, total: int, console: Console) -> None:
        """Prepare for a number of runs."""
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

    def __enter__(self) -> EvaluateProgress:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def update(self, evaluation: Evaluation, row: dict[str, Any]) -> None:
        """Take note of a run that is over."""
        low, high = evaluation.interval()
        text = f'passed {evaluation.pass_rate:.1%} ({low:.0%} to {high:.0%})'
        self._progress.update(self._task, advance=1, description=text)
