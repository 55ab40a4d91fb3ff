"""A list of functions to call when something has happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Signal:
    """Calls its connected functions, in the order of connection, each time it is emitted."""

    def __init__(self) -> None:
        """Start with nothing connected."""
        self._slots: list[Callable[..., Any]] = []

    def connect(self, slot: Callable[..., Any]) -> Callable[[], None]:
        """Call `slot` at each emission from now on; the returned function disconnects it."""
        self._slots.append(slot)

        def disconnect() -> None:
            if slot in self._slots:
                self._slots.remove(slot)

        return disconnect

    def __call__(self, *args: Any) -> None:
        """Emit: call every connected function with these arguments."""
        for slot in tuple(self._slots):
            slot(*args)
