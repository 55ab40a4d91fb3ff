"""Calls of other threads, run between two ticks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

ResultT = TypeVar('ResultT')


class CallQueue:
    """Keeps functions until the loop has time for them; true while there are any."""

    def __init__(self) -> None:
        """Begin with an empty queue."""
        self._calls: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._current: Future[Any] | None = None

    def __bool__(self) -> bool:
        """Whether any function waits."""
        return bool(self._calls)

    def add(self, function: Callable[[], ResultT]) -> Future[ResultT]:
        """Have a function run; from any thread. The future gets what it returns or raises.

        As long as it has not begun, the future can be cancelled: then it is never run.
        """
        future: Future[ResultT] = Future()
        self._calls.append((function, future))
        return future

    def run_all(self) -> None:
        """Run what waits, in the order in which it was added; in the loop's thread."""
        while self._calls:
            function, future = self._calls.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            self._current = future
            try:
                result = function()
            except Exception as error:
                self._current = None
                future.set_exception(error)
            else:
                self._current = None
                future.set_result(result)

    def cancel_all(self) -> None:
        """Run nothing of what waits."""
        while self._calls:
            self._calls.popleft()[1].cancel()

    def fail_current(self, error: Exception) -> None:
        """Answer for the function that runs; in the thread that has taken over from its own."""
        future, self._current = self._current, None
        if future is not None:
            future.set_exception(error)
