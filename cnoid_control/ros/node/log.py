"""Log of the control node."""

from __future__ import annotations

import io
import re
import threading
import time
from collections import deque
from collections.abc import Callable

from rclpy.node import Node

# Time between two looks for lines [s]. Nobody is woken by a line: what follows it is urgent.
PERIOD = 0.1
# Lines that wait at most; the oldest go first.
CAPACITY = 1000
# Time in which an error or a warning that comes again and again is written once [s].
THROTTLE = 10.0
# Kinds of lines that are remembered for that; the oldest go first.
REMEMBERED = 200
# Numbers do not make another line of one.
NUMBER = re.compile(r'-?\d[\d.]*(e[+-]?\d+)?')
# Longest wait for the last lines at the end [s].
PATIENCE = 1.0


class Throttle:
    """Lets a line pass that differs from one before by more than its numbers, or after a while."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the time from a steady clock [s]."""
        self._clock = clock
        # When each kind of line passed last, and how many were held back since.
        self._lines: dict[str, tuple[float, int]] = {}

    def passes(self, text: str) -> str:
        """The line to write, with the number of those held back; empty for none."""
        kind = NUMBER.sub('#', text)
        now = self._clock()
        passed, held = self._lines.pop(kind, (-THROTTLE, 0))
        if now - passed < THROTTLE:
            self._lines[kind] = passed, held + 1
            return ''
        self._lines[kind] = now, 0
        while len(self._lines) > REMEMBERED:
            self._lines.pop(next(iter(self._lines)))
        return f'{text} ({held} more like this since the last one)' if held else text


class NodeLog(io.TextIOBase):
    """Takes lines at once and writes them later.

    A terminal or a pipe that nobody reads, a disk that hangs and a busy middleware hold up whoever
    writes to the log; here that is nobody who commands the robot. Errors and warnings that repeat
    are written now and then, with their number. As a text stream it logs the lines that are
    complete, at the level that their beginning names.
    """

    def __init__(self, node: Node) -> None:
        """Write to the log of that node from now on."""
        self._node = node
        self._line = ''
        self._lines: deque[tuple[str, str]] = deque(maxlen=CAPACITY)
        self._throttle = Throttle()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name='log', daemon=True)
        self._thread.start()

    def error(self, text: str) -> None:
        """Log an error."""
        self._lines.append(('error', text))

    def warning(self, text: str) -> None:
        """Log a warning."""
        self._lines.append(('warning', text))

    def info(self, text: str) -> None:
        """Log what may be of interest."""
        self._lines.append(('info', text))

    def write(self, text: str) -> int:
        """Log the lines that are complete."""
        *lines, self._line = (self._line + text).split('\n')
        for line in lines:
            if line.startswith('error: '):
                self.error(line.removeprefix('error: '))
            elif line.startswith('warning: '):
                self.warning(line.removeprefix('warning: '))
            elif line:
                self.info(line)
        return len(text)

    def finish(self) -> None:
        """Write what is left, if that does not take too long; nothing is taken any more."""
        self._stop.set()
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        while not self._stop.wait(PERIOD):
            self._write_lines()
        self._write_lines()

    def _write_lines(self) -> None:
        while self._lines and self._node.context.ok():
            level, text = self._lines.popleft()
            log = self._node.get_logger()
            if level == 'info':
                log.info(text)
            elif text := self._throttle.passes(text):
                # rclpy has one severity per line of code.
                if level == 'error':
                    log.error(text)
                else:
                    log.warning(text)
