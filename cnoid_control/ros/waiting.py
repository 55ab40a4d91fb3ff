"""What is waited for, said to whoever waits with it."""

from __future__ import annotations

import time
from collections.abc import Callable

# Time after which a wait is said, and after which it is said again [s].
PATIENCE, REPETITION = 3.0, 10.0


class Waiting:
    """Says what is waited for: not at once, and then now and then."""

    def __init__(self, say: Callable[[str], object]) -> None:
        """Begin to wait.

        Args:
            say: told each line.
        """
        self._say = say
        self._began = time.monotonic()
        self._next = self._began + PATIENCE

    def still(self, what: str | Callable[[], str]) -> None:
        """Take note that something is still waited for.

        Args:
            what: what it is, and why it is not there; a function is called when it is said.
        """
        now = time.monotonic()
        if now >= self._next:
            self._next = now + REPETITION
            told = what if isinstance(what, str) else what()
            self._say(f'waiting for {told} ({now - self._began:.0f} s)')
