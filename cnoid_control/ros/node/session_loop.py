"""The loop of a session, and calls between two of its ticks."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from typing import TypeVar

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.ros.exceptions import LoopCallTimeout
from cnoid_control.ros.robot.hardware import Ros2ControlHardware
from cnoid_control.runtime.call_queue import CallQueue
from cnoid_control.runtime.loop import ControlLoop
from cnoid_control.runtime.loop_thread import LoopThread
from cnoid_control.runtime.realtime import QuietProcess
from cnoid_control.runtime.safety.hang_monitor import Abandoned

ResultT = TypeVar('ResultT')


class SessionLoop:
    """Runs a loop in a thread of its own, and functions of others between its ticks.

    Attributes:
        error: what ended the last thread unexpectedly; None for nothing.
        is_starting: whether somebody is about to start the thread.
        patience: longest wait for a function to begin, and then for it to finish [s].
    """

    patience = 5.0

    def __init__(
        self,
        loop: ControlLoop,
        hardware: Ros2ControlHardware,
        after_tick: Callable[[float], None],
        leave: Callable[[], None],
        ended: Callable[[], None],
    ) -> None:
        """Take a loop; `start` starts the thread.

        Args:
            loop: the loop, opened.
            hardware: its hardware.
            after_tick: called after each tick with the time that it took after the state [s].
            leave: called in the thread as its last act, whatever has ended it.
            ended: called in the thread when it ends without having been asked to.
        """
        self.error: BaseException | None = None
        self._loop = loop
        self._hardware = hardware
        self._after_tick = after_tick
        self._leave = leave
        self._ended = ended
        self._calls = CallQueue()
        self.is_starting = False
        # Held by whoever calls controllers while no thread runs.
        self._idle = threading.RLock()
        self._stop = threading.Event()
        self._quiet = QuietProcess()
        self._thread = LoopThread(loop, self._run, self._fail_call)

    @property
    def is_running(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_running

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Keep others from the controllers until the thread has started, or will not."""
        with self._idle:
            try:
                yield
            finally:
                self.is_starting = False

    def start(self) -> None:
        """Start a thread; within `starting`.

        Raises:
            LoopStalled: the last one has not ended.
        """
        self.error = None
        self._stop.clear()
        self._quiet.begin()
        self._thread.start(paced=False)

    def halt(self) -> None:
        """Have the thread end after the present tick; from any thread."""
        self._stop.set()
        self._hardware.halt()

    def stop(self) -> None:
        """End the thread after the present tick, and wait for that.

        A controller that does not return is left behind, and the robot taken from it.
        """
        self.halt()
        self._thread.stop()
        self._quiet.end()
        with self._idle:
            if not self.is_running:
                self._calls.run_all()

    def call(self, function: Callable[[], ResultT]) -> ResultT:
        """Run a function between two ticks and return its result; at once when no thread runs.

        Raises:
            LoopCallTimeout: the loop has not begun it in time and never will, or has begun it and
                not finished in time.
            CnoidControlError: a controller that it called did not return.
            Exception: what the function raised.
        """
        if self._thread.is_current:
            return function()
        # Who starts the thread must not meet the function.
        if not self._idle.acquire(timeout=self.patience):
            raise LoopCallTimeout(self.patience, started=False)
        try:
            if not self.is_running:
                return function()
        finally:
            self._idle.release()
        future = self._calls.add(function)
        wait([future], self.patience)
        # Who is told that it has failed must not see it take effect later.
        if future.cancel():
            raise LoopCallTimeout(self.patience, started=False)
        wait([future], self.patience)
        if not future.done():
            raise LoopCallTimeout(self.patience, started=True)
        return future.result()

    def _fail_call(self, error: CnoidControlError | None) -> None:
        """Answer whoever waits for a function that a controller does not return from."""
        self._calls.fail_current(error or LoopCallTimeout(self.patience, started=True))

    def _run(self) -> None:
        """Take ticks until the end; again in a new thread where a controller keeps this one."""
        step = self._loop.step
        try:
            while not self._stop.is_set():
                if not step():
                    break
                self._after_tick(time.monotonic() - self._hardware.arrival)
                if self._calls:
                    self._calls.run_all()
        except Abandoned:
            raise
        except BaseException as error:
            self.error = error
        try:
            self._leave()
        finally:
            self._calls.run_all()
            if not self._stop.is_set():
                self._ended()
