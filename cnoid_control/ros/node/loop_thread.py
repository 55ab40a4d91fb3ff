"""Loop thread and calls between two ticks."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from cnoid_control.ros.exceptions import LoopDidNotCome, LoopDidNotReturn
from cnoid_control.ros.robot.hardware import Ros2ControlHardware
from cnoid_control.runtime.guarded_loop import GuardedLoop
from cnoid_control.runtime.realtime import GcPause

ResultT = TypeVar('ResultT')


class CallQueue:
    """Keeps functions until the loop has time for them; true while there are any."""

    def __init__(self) -> None:
        """Have none."""
        self._calls: deque[tuple[Callable[[], Any], Future[Any]]] = deque()

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
            try:
                future.set_result(function())
            except Exception as error:
                future.set_exception(error)


# Longest wait for the thread to end [s].
END_TIMEOUT = 5.0


class LoopThread:
    """Runs a loop in a thread of its own, and functions of others between its ticks.

    Attributes:
        error: what ended the last thread against its will; None for nothing.
        patience: longest wait for the loop to come to a function, and then to be done with it [s].
    """

    patience = 5.0

    def __init__(
        self,
        loop: GuardedLoop,
        hardware: Ros2ControlHardware,
        after_tick: Callable[[float], None],
        leave: Callable[[], None],
        ended: Callable[[], None],
    ) -> None:
        """Prepare; the thread is not started yet.

        Args:
            loop: the loop, opened.
            hardware: its hardware.
            after_tick: called after each tick with the time that it took after the state [s].
            leave: called in the thread as its last act, whatever has ended it, unless another
                one has been started in the meantime.
            ended: called in the thread when it ends without having been asked to.
        """
        self.error: BaseException | None = None
        self._loop = loop
        self._hardware = hardware
        self._after_tick = after_tick
        self._leave = leave
        self._ended = ended
        self._calls = CallQueue()
        self._stop = threading.Event()
        self._rest = GcPause()
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Whether the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Start a thread."""
        self.error = None
        # A thread that a controller has kept beyond its end finds its own event set.
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(self._stop,), name='control loop', daemon=True
        )
        self._rest.begin()
        self._loop.start_monitor(lambda: self._after_tick(0.0))
        self._thread.start()

    def halt(self) -> None:
        """Have the thread end after the present tick; from any thread."""
        self._stop.set()
        self._hardware.halt()

    def stop(self) -> None:
        """End the thread after the present tick, and wait for that."""
        self.halt()
        if self._thread is None:
            return
        if threading.current_thread() is not self._thread:
            self._thread.join(END_TIMEOUT)
        self._loop.stop_monitor()
        self._rest.end()
        self._calls.run_all()

    def call(self, function: Callable[[], ResultT]) -> ResultT:
        """Run a function between two ticks and give back its result; at once when none runs.

        Raises:
            LoopDidNotCome: the loop did not come to it in time, and never will.
            LoopDidNotReturn: the loop has begun it and is not done with it in time.
            Exception: what the function raised.
        """
        if not self.is_running or threading.current_thread() is self._thread:
            return function()
        future = self._calls.add(function)
        wait([future], self.patience)
        # Who is told that it has failed must not see it take effect later.
        if future.cancel():
            raise LoopDidNotCome(self.patience)
        wait([future], self.patience)
        if not future.done():
            raise LoopDidNotReturn(self.patience)
        return future.result()

    def _run(self, stop: threading.Event) -> None:
        try:
            while not stop.is_set():
                if self._calls:
                    self._calls.run_all()
                if not self._loop.step():
                    break
                self._after_tick(time.monotonic() - self._hardware.arrival)
        except Exception as error:
            self.error = error
        finally:
            if stop is self._stop:
                self._leave()
            self._calls.run_all()
            if not stop.is_set():
                self._ended()
