"""Progress display of a search."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from cnoid_control.tuning.study import Trial
from cnoid_control.tuning.tuning import Tuning


class TuneProgress:
    """One line on the terminal: trials, the best so far, time left; nothing without a terminal."""

    def __init__(self, total: int, console: Console) -> None:
        """Prepare for a number of trials."""
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

    def __enter__(self) -> TuneProgress:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def update(self, tuning: Tuning, trial: Trial) -> None:
        """Take note of a trial that is done."""
        best = tuning.best
        text = 'none obeys yet'
        if best is not None and best.score is not None:
            values = ', '.join(f'{value:.4g}' for value in best.score.values)
            text = f'best {values} (trial {best.number})'
        self._progress.update(self._task, completed=len(tuning.trials), description=text)
