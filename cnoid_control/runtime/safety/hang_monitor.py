"""Take-over of the robot from a controller that does not return.

Exactly one thread owns the robot at any time. Who owns it may read, command and open it, and may
change the loop. While controllers compute, ownership is in suspense: each call of their code is
a `Call`, which is closed once, by an atomic test-and-set. Where the loop's thread closes it, the
controllers have returned in time and that thread owns the robot as before. Where the monitor (or
whoever ends the run) closes it, the robot is theirs; the loop's thread finds its call closed
whenever it returns, raises `Abandoned` and touches nothing any more.

No exception is ever raised in another thread, and no lock is held while controllers compute. A
controller that never returns keeps its thread, and one that loops in Python keeps using the
processor, until the process ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from operator import itemgetter
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cnoid_control.runtime.controller_host import ControllerHost


class Call(tuple[list[None], 'ControllerHost', str, bool, float]):
    """One call of controllers' code; whoever closes it owns the robot.

    It is a tuple of what the attributes name. The loop itself makes a plain tuple of these in
    every tick, at a fraction of the cost, which becomes a call where somebody has to do with it.

    Attributes:
        token: its only element is popped by whoever closes the call, which is one atomic step.
        host: the controllers.
        name: method that is called, for messages.
        in_tick: whether it is part of a tick, which its loser leaves unfinished.
        since: when it began, steady clock [s].
    """

    token: list[None] = property(itemgetter(0))  # type: ignore[assignment]
    host: ControllerHost = property(itemgetter(1))  # type: ignore[assignment]
    name: str = property(itemgetter(2))  # type: ignore[assignment]
    in_tick: bool = property(itemgetter(3))  # type: ignore[assignment]
    since: float = property(itemgetter(4))  # type: ignore[assignment]

    def close(self) -> bool:
        """Close the call: True for exactly one caller, who owns the robot from then on."""
        try:
            self.token.pop()
        except IndexError:
            return False
        return True

    def end(self) -> None:
        """Close the call in the thread that has made it.

        Raises:
            Abandoned: somebody else has closed it, and owns the robot.
        """
        if not self.close():
            raise Abandoned(self) from None

    @property
    def is_closed(self) -> bool:
        """Whether somebody has closed it."""
        return not self.token


def begin_call(host: ControllerHost, name: str, in_tick: bool) -> Call:
    """Call that begins now."""
    return Call(([None], host, name, in_tick, monotonic()))


class Abandoned(BaseException):
    """Raised in a thread that has lost the robot while controllers had it; never seen outside.

    Attributes:
        call: the call that was lost.
    """

    def __init__(self, call: Call) -> None:
        """Remember the call."""
        super().__init__(f'the robot was taken over during {call.name}()')
        self.call = call

    def clean_up(self) -> None:
        """Stop the controllers that have returned at last: nobody else may call them."""
        self.call.host.stop_abandoned()


class HangMonitor:
    """Watches the calls of a loop from a thread of its own.

    Attributes:
        limit: time that a call may take [s].
        call: the last call that has begun, or a plain tuple of the same; set by the loop's thread.
        hangs: calls so far that took longer.
    """

    def __init__(self) -> None:
        """Watch nothing yet."""
        self.limit = 0.0
        self.call: tuple[list[None], ControllerHost, str, bool, float] | None = None
        self.hangs = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def last_call(self) -> Call | None:
        """The last call that has begun; None for none."""
        call = self.call
        return call if call is None or isinstance(call, Call) else Call(call)

    def start(
        self,
        limit: float,
        take_over: Callable[[Call, float], None] | None,
        report: Callable[[Call, float], None] = lambda call, duration: None,
    ) -> None:
        """Begin to watch.

        Args:
            limit: time that a call may take [s].
            take_over: called once per hang in the thread that owns the robot from then on, with
                the call and the time that it has taken so far [s]; None where hangs are only to
                be reported.
            report: called in the place of it with the same.
        """
        self.stop()
        self.limit = limit
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._watch,
            args=(self._stop, take_over, report),
            name='hang monitor',
            daemon=True,
        )
        self._thread.start()

    def stop(self) -> None:
        """Watch no more; a take-over that has begun is over when this returns."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._thread = None

    def _watch(
        self,
        stop: threading.Event,
        take_over: Callable[[Call, float], None] | None,
        report: Callable[[Call, float], None],
    ) -> None:
        left = self.limit
        reported: list[None] | None = None
        while not stop.wait(left):
            # A call that began since the last look is looked at again when its time is over.
            left = self.limit
            call = self.last_call()
            if call is None or call.token is reported or call.is_closed:
                continue
            age = monotonic() - call.since
            if age < self.limit:
                left -= age
                continue
            reported = call.token
            if take_over is None:
                self.hangs += 1
                report(call, age)
            elif call.close():
                self.hangs += 1
                take_over(call, age)
