"""Log of the control node."""

from __future__ import annotations

import io
import threading
from collections import deque

from rclpy.node import Node

# Time between two looks for lines [s]. Nobody is woken by a line: what follows it is urgent.
PERIOD = 0.02
# Lines that wait at most; the oldest go first.
CAPACITY = 1000
# Time in which a warning that may come often is written once [s].
THROTTLE = 1.0
# Longest wait for the last lines at the end [s].
PATIENCE = 1.0


class NodeLog(io.TextIOBase):
    """Takes lines at once and writes them later.

    A terminal or a pipe that nobody reads, a disk that hangs and a busy middleware hold up whoever
    writes to the log; here that is nobody who commands the robot. As a text stream it logs the
    lines that are complete, at the level that their beginning names.
    """

    def __init__(self, node: Node) -> None:
        """Write to the log of that node from now on."""
        self._node = node
        self._line = ''
        self._lines: deque[tuple[str, str]] = deque(maxlen=CAPACITY)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name='log', daemon=True)
        self._thread.start()

    def error(self, text: str) -> None:
        """Log an error."""
        self._lines.append(('error', text))

    def warning(self, text: str) -> None:
        """Log a warning."""
        self._lines.append(('warning', text))

    def warning_throttled(self, text: str) -> None:
        """Log a warning that may come often, now and then."""
        self._lines.append(('often', text))

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
            # Each level has a line of its own: throttling goes by the line that logs.
            if level == 'error':
                log.error(text)
            elif level == 'warning':
                log.warning(text)
            elif level == 'often':
                log.warning(text, throttle_duration_sec=THROTTLE)
            else:
                log.info(text)
