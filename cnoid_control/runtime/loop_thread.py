"""The thread in which a loop runs, and its replacement where a controller keeps it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.runtime.exceptions import LoopStalled
from cnoid_control.runtime.safety.hang_monitor import Abandoned, Call

if TYPE_CHECKING:
    from cnoid_control.runtime.loop import ControlLoop

# Longest wait for the thread to end by itself, and then for it to return from a call [s].
END_TIMEOUT = 5.0
# Time between two attempts to take the robot from a thread that does not end [s].
RETRY_PERIOD = 0.01


class LoopThread:
    """Runs a loop in a thread; where a controller does not return, a new thread goes on.

    The thread that is left behind ends when its controller returns, and stops that controller;
    it touches nothing else. One that never returns stays until the process ends.

    Attributes:
        error: what ended the last thread against its will; None for nothing.
    """

    def __init__(
        self,
        loop: ControlLoop,
        run: Callable[[], None],
        on_take_over: Callable[[CnoidControlError | None], None] = lambda error: None,
    ) -> None:
        """Prepare; no thread is started yet.

        Args:
            loop: the loop.
            run: takes ticks until the end; called again, in a new thread, after a take-over. It
                lets `Abandoned` pass at once.
            on_take_over: called after each take-over, with the reason, in the thread that owns
                the robot then.
        """
        self.error: BaseException | None = None
        self._loop = loop
        self._run = run
        self._on_take_over = on_take_over
        self._thread: threading.Thread | None = None
        self._done = threading.Event()
        self._done.set()

    @property
    def is_running(self) -> bool:
        """Whether a thread takes ticks, or is about to end."""
        return not self._done.is_set()

    @property
    def is_current(self) -> bool:
        """Whether this is asked in the thread itself."""
        return threading.current_thread() is self._thread

    def start(self, paced: bool) -> None:
        """Start a thread, and watch that controllers return.

        Args:
            paced: whether ticks come at the pace of the wall clock.

        Raises:
            LoopStalled: the last thread has not ended.
        """
        if self.is_running:
            raise LoopStalled(END_TIMEOUT)
        self.error = None
        self._done = threading.Event()
        loop = self._loop
        given = loop.watchdog.parameters
        stands_still = loop.hardware.waits_for_commands and not paced
        limit = given.control_limit(stands_still, loop.hardware.time_step)
        if given.control_action != 'ignore':
            take_over = None if given.control_action == 'warn' else self._take_over
            loop.monitor.start(limit, take_over, loop.report_hang)
        self._begin()

    def _begin(self) -> None:
        self._thread = threading.Thread(
            target=self._main, args=(self._done,), name='control loop', daemon=True
        )
        self._thread.start()

    def _main(self, done: threading.Event) -> None:
        try:
            self._run()
        except Abandoned as lost:
            lost.clean_up()
            return
        except BaseException as error:
            self.error = error
        done.set()

    def _take_over(self, call: Call, duration: float) -> None:
        """Go on with the safe command, in a new thread; in the monitor's, which owns the robot."""
        self._seize(call, duration)
        self._begin()

    def _seize(self, call: Call, duration: float) -> None:
        """Engage the safe state and finish the tick, in the thread that has won the call."""
        self._loop.take_over(call, duration)
        self._on_take_over(self._loop.failure)

    def join(self, timeout: float | None = None) -> bool:
        """Wait until the loop has ended, in whichever thread; whether it has.

        Args:
            timeout: longest wait [s]; for ever where None.
        """
        return self._done.wait(timeout)

    def stop(self, timeout: float = END_TIMEOUT) -> bool:
        """Wait for the end, which was requested; take the robot from a thread that does not end.

        Args:
            timeout: time in which the thread may end by itself, and then return from whatever is
                no call of a controller [s].

        Returns:
            Whether the robot was taken from the thread: the caller owns it, and leaves it.
        """
        if self.is_current:
            return False
        ended = self._done.wait(timeout)
        # From now on nobody else takes the robot over.
        self._loop.monitor.stop()
        deadline = time.monotonic() + timeout
        while not ended and time.monotonic() < deadline:
            call = self._loop.monitor.last_call()
            if call is not None and call.close():
                self._seize(call, time.monotonic() - call.since)
                self._done.set()
                return True
            ended = self._done.wait(RETRY_PERIOD)
        return False
