"""Following a robot in other processes, with a line of progress."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from cnoid_control.demo.process import DemoFailed, Process

if TYPE_CHECKING:
    from cnoid_control.demo.robot_observer import RobotObserver

# Longest time without any progress [s], and between two looks at the robot [s].
PATIENCE, PAUSE = 180.0, 0.05


def watch(
    observer: RobotObserver,
    until: float,
    processes: tuple[Process, ...],
    total: float = 0.0,
    pause: float = PAUSE,
) -> float:
    """Follow the run with a line of progress.

    Args:
        observer: sees the robot.
        until: simulated time to wait for [s].
        processes: must all be alive.
        total: simulated time at the end of all [s]; `until` where 0.
        pause: time between two looks [s].

    Returns:
        The wall-clock time from the first step to the last [s].

    Raises:
        DemoFailed: a process has ended, or nothing happens any more.
    """
    begin = changed = time.monotonic()
    last = shown = observer.samples[-1].time if observer.samples else 0.0
    total = total or until
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
        if sys.stdout.isatty() and last:
            print(f'\r  {bar(last / total)}  {last:5.2f} s of {total:g} s', end='', flush=True)
        elif total and last >= shown + total / 5 - 1e-6:
            shown = last
            print(f'  {last:5.2f} s of {total:g} s', flush=True)
        if sample is not None and last >= until:
            break
        time.sleep(pause)
    if sys.stdout.isatty() and last and until >= total:
        print()
    return now - begin


def bar(fraction: float, width: int = 40) -> str:
    """Return a bar that is filled to a fraction."""
    filled = round(width * min(fraction, 1.0))
    return '█' * filled + '░' * (width - filled)
