"""A list of functions to call when something has happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Signal:
    """Calls its connected functions, in the order of connection, each time it is emitted."""

    def __init__(self) -> None:
        """Start with nothing connected."""
        # Replaced, never changed: who is being called may connect and disconnect.
        self._slots: tuple[Callable[..., Any], ...] = ()

    def connect(self, slot: Callable[..., Any]) -> Callable[[], None]:
        """Call `slot` at each emission from now on; the returned function disconnects it."""
        self._slots = (*self._slots, slot)

        def disconnect() -> None:
            if slot in self._slots:
                place = self._slots.index(slot)
                self._slots = self._slots[:place] + self._slots[place + 1 :]

        return disconnect

    def __call__(self, *args: Any) -> None:
        """Emit: call every connected function with these arguments."""
        for slot in self._slots:
            slot(*args)
