"""Progress display and interrupts of a run."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console
    from rich.progress import Progress

    from cnoid_control.runtime.loop import ControlLoop
    from cnoid_control.runtime.summary import RunMonitor

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopOnInterrupt:
    """While it is entered, Ctrl-C and SIGTERM call `stop`; a second one ends the program."""

    def __init__(self, stop: Callable[[], None]) -> None:
        """Remember what to call."""
        self._stop = stop
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopOnInterrupt:
        for number in SIGNALS:
            self._before[number] = signal.signal(number, self._handle)
        return self

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._restore()
        self._stop()

    def __exit__(self, *error: object) -> None:
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}


PERIOD = 0.1


class RunProgress:
    """One line on the terminal: simulated time, speed, tilt, tracking error, limits acting.

    It is drawn between two blocks of the trace, at most ten times a second; where there is no
    terminal nothing is drawn.
    """

    def __init__(
        self, loop: ControlLoop, monitor: RunMonitor, duration: float, console: Console
    ) -> None:
        """Listen to the loop's trace."""
        self._loop = loop
        self._monitor = monitor
        self._duration = duration
        self._progress: Progress | None = None
        self._drawn = -math.inf
        self._start = 0.0
        self._limited = 0
        if console.is_terminal and loop.trace is not None:
            from rich.progress import BarColumn, Progress, TextColumn

            total = None if math.isinf(duration) else duration
            self._progress = Progress(
                BarColumn(bar_width=20),
                TextColumn('{task.description}'),
                console=console,
                auto_refresh=False,
                transient=True,
            )
            self._task = self._progress.add_task('', total=total)
            loop.trace.listeners.append(self._update)

    def __enter__(self) -> RunProgress:
        self._start = time.perf_counter()
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def _update(self, rows: np.ndarray) -> None:
        now = time.perf_counter()
        if self._progress is None or now - self._drawn < PERIOD:
            return
        self._drawn = now
        simulated = float(rows[-1, 0])
        text = f'{simulated:8.2f} s  {simulated / max(now - self._start, 1e-9):5.1f}x'
        if not self._loop.hardware.body.is_fixed_root:
            text += f'  tilt {math.degrees(self._monitor.tilt):5.2f}°'
        text += f'  error {self._monitor.joint_error:.4f}'
        text += self._limits_text()
        self._progress.update(self._task, completed=simulated, description=text)
        self._progress.refresh()

    def _limits_text(self) -> str:
        """Which limits acted since the last line."""
        report = self._loop.limiter.report()
        total = sum(sum(joints.values()) for joints in report.values())
        acting = total > self._limited
        self._limited = total
        return f'  limiting {", ".join(report)}' if acting else ''
