"""A program in a real pseudo-terminal, and a hand on its keyboard."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable


class TerminalRig:
    """Runs a program whose controlling terminal is a pseudo-terminal.

    Attributes:
        output: what the program has written so far.
    """

    def __init__(self, *words: str, **variables: str) -> None:
        """Start `python words`."""
        self._master, slave = pty.openpty()
        self.name = os.ttyname(slave)
        self.before = termios.tcgetattr(slave)
        self._slave = slave

        def own_terminal() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            [sys.executable, *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=own_terminal,
            env={**os.environ, **variables, 'PYTHONUNBUFFERED': '1', 'TERM': 'dumb'},
        )
        self.output = ''
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        # A read that waits would keep a terminal open that is to be closed.
        while not self._closing.is_set():
            if not select.select([self._master], [], [], 0.05)[0]:
                continue
            try:
                self.output += os.read(self._master, 4096).decode(errors='replace')
            except OSError:
                return

    def press(self, keys: str) -> None:
        """Press keys, once each."""
        os.write(self._master, keys.encode())

    def hold(self, key: str, condition: Callable[[], bool], timeout: float = 30.0) -> bool:
        """Hold a key as a keyboard does, by repeating it, until something is so."""
        deadline = time.monotonic() + timeout
        while not condition():
            self.press(key)
            time.sleep(0.03)
            if time.monotonic() > deadline:
                return False
        return True

    def wait_for(self, words: str, timeout: float = 30.0) -> bool:
        """Wait until the program has written something."""
        deadline = time.monotonic() + timeout
        while words not in self.output:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    @property
    def settings(self) -> list:
        """How the terminal is set now."""
        return termios.tcgetattr(self._slave)

    def hang_up(self) -> None:
        """Close the terminal, as a lost connection does."""
        self._closing.set()
        self._thread.join()
        os.close(self._master)
        self._master = -1

    def close(self) -> int:
        """End the program where it still runs; its exit status."""
        try:
            self.process.wait(timeout=10.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._slave)
        if self._master >= 0:
            self.hang_up()
        return self.process.returncode
