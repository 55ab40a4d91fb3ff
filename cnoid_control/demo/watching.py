"""Following a robot, with a line of progress."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from cnoid_control.demo.process import DemoFailed, Process

if TYPE_CHECKING:
    from cnoid_control.demo.robot_observer import RobotObserver

# Longest time without any progress [s], and between two looks at the robot [s].
PATIENCE, PAUSE = 180.0, 0.05
# Lines of progress where there is no terminal.
LINES = 5


class Progress:
    """How far a run has come: a bar in a terminal, else a few lines."""

    def __init__(self, total: float) -> None:
        """Begin; `total` is the simulated time at the end [s]."""
        self._total = total
        self._lines = 0

    def show(self, now: float) -> None:
        """Show a simulated time [s]."""
        if now <= 0.0 or self._total <= 0.0:
            return
        share = min(now / self._total, 1.0)
        text = f'{now:5.2f} s of {self._total:g} s'
        if sys.stdout.isatty():
            print(f'\r  {bar(share)}  {text}', end='', flush=True)
        elif int(share * LINES) > self._lines:
            self._lines = int(share * LINES)
            print(f'  {text}', flush=True)

    def end(self) -> None:
        """Leave the line."""
        if sys.stdout.isatty():
            print()


def watch(
    observer: RobotObserver,
    until: float,
    processes: tuple[Process, ...],
    progress: Progress | None = None,
    pause: float = PAUSE,
) -> float:
    """Follow the run.

    Args:
        observer: sees the robot.
        until: simulated time to wait for [s].
        processes: must all be alive.
        progress: is told how far it has come.
        pause: time between two looks [s].

    Returns:
        The wall-clock time from the first step to the last [s].

    Raises:
        DemoFailed: a process has ended, or nothing happens any more.
    """
    begin = changed = time.monotonic()
    last = observer.samples[-1].time if observer.samples else 0.0
    while True:
        sample = observer.look(pause)
        now = time.monotonic()
        for process in processes:
            process.check()
        if sample is not None and sample.time > last:
            begin = begin if last else now
            last, changed = sample.time, now
        elif now - changed > PATIENCE:
            tails = '\n'.join(f'{process.module}:\n{process.tail()}' for process in processes)
            raise DemoFailed(f'nothing has happened for {PATIENCE:.0f} s\n{tails}')
        if progress is not None:
            progress.show(last)
        if sample is not None and last >= until:
            return now - begin
        time.sleep(pause)


def bar(fraction: float, width: int = 40) -> str:
    """Return a bar that is filled to a fraction."""
    filled = round(width * min(fraction, 1.0))
    return '█' * filled + '░' * (width - filled)
