"""Notices from outside that a call does not come back, and acts in its stead."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable

from cnoid_control.runtime.exceptions import ControlTimeout


class HangMonitor:
    """Watches calls of one thread from a thread of its own.

    The watched thread says when a call begins and ends; both cost next to nothing. A call that
    takes longer than the limit is reported once, and from then on `act` is called each period
    until the call has come back.

    Attributes:
        limit: time that a call may take [s].
        hangs: calls so far that took longer.
    """

    def __init__(
        self,
        limit: float,
        period: float,
        report: Callable[[float], None],
        act: Callable[[], None],
    ) -> None:
        """Prepare; `start` begins to watch.

        Args:
            limit: time that a call may take [s].
            period: time between two calls of `act` [s].
            report: called once a hang with the time that the call has taken so far [s].
            act: called each period while a call hangs.
        """
        self.limit = limit
        self.hangs = 0
        self._period = period
        self._report = report
        self._act = act
        self._since = 0.0
        self._reported = 0.0
        self._watched = 0
        self._interrupts = False
        self._gate = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to watch."""
        self.stop()
        self._stop.clear()
        self._thread = threading.Thread(target=self._watch, name='hang monitor', daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._thread = None

    def begin(self) -> None:
        """Say that a call begins; in the watched thread."""
        self._watched = threading.get_ident()
        self._since = time.monotonic()

    def end(self) -> None:
        """Say that the call has come back; the watched thread is interrupted no more."""
        while True:
            try:
                self._since = 0.0
                if self._interrupts:
                    with self._gate:
                        _interrupt(self._watched, None)
                        self._interrupts = False
                return
            except ControlTimeout:
                continue  # the interrupt has come here instead of in the call

    def interrupt(self) -> None:
        """Raise `ControlTimeout` in the call that was reported, where it has not come back.

        A loop in Python ends by that; a call that waits in C code does not, until it comes back.
        """
        with self._gate:
            # In this order: the one who ends the call sees the flag, or the end is seen here.
            self._interrupts = True
            if self._since and self._since == self._reported:
                _interrupt(self._watched, ControlTimeout)
            else:
                self._interrupts = False

    def _watch(self) -> None:
        left = self.limit
        while not self._stop.wait(left):
            # A call that began since the last look is looked at again when its time is over.
            left = self.limit
            since = self._since
            if since:
                age = time.monotonic() - since
                if age < self.limit:
                    left -= age
                else:
                    self.hangs += 1
                    self._reported = since
                    self._report(age)
                    self._stand_in(since)

    def _stand_in(self, since: float) -> None:
        due = time.monotonic()
        while self._since == since and not self._stop.is_set():
            self._act()
            due = max(due + self._period, time.monotonic())
            self._stop.wait(max(0.0, due - time.monotonic()))


def _interrupt(thread: int, error: type[Exception] | None) -> None:
    """Have an exception raised in a thread; None takes back one that was not raised yet."""
    raised = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)
