"""Ctrl-C that ends a run properly."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

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
