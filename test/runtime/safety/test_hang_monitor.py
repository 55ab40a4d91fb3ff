"""The hang monitor: a call is closed once, by the one who makes it or by the monitor."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import pytest

from cnoid_control.runtime.safety import hang_monitor
from cnoid_control.runtime.safety.hang_monitor import Abandoned, Call, HangMonitor, begin_call

LIMIT = 0.02
HOST = SimpleNamespace()


def begin(monitor: HangMonitor) -> Call:
    """Begin a call that the monitor sees."""
    monitor.call = begin_call(HOST, 'control', True)
    return monitor.call


class Notes:
    """What a monitor has reported."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.durations: list[float] = []
        self.reported = threading.Event()

    def __call__(self, call: Call, duration: float) -> None:
        """Note it."""
        self.calls.append(call)
        self.durations.append(duration)
        self.reported.set()


@pytest.fixture
def notes() -> Notes:
    """Return empty notes."""
    return Notes()


def try_to_close(call: Call, won: list[bool]) -> None:
    """Note whether this one has closed it."""
    won.append(call.close())


def test_a_call_is_closed_once() -> None:
    """Of many who try at once, exactly one closes it."""
    for _ in range(200):
        call = begin_call(HOST, 'control', True)
        won: list[bool] = []
        threads = [threading.Thread(target=try_to_close, args=(call, won)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(won) == [False, False, False, True]
        assert call.is_closed


def test_the_end_of_a_call_that_somebody_has_closed_is_refused() -> None:
    """Its thread ends it once; where the robot is in other hands, it is told so."""
    call = begin_call(HOST, 'control', True)
    call.end()
    with pytest.raises(Abandoned) as lost:
        call.end()
    assert lost.value.call is call


def test_a_hanging_call_is_taken_over_once(notes: Notes) -> None:
    """The monitor closes it when its time is over; its thread finds it closed."""
    monitor = HangMonitor()
    monitor.start(LIMIT, notes)
    call = begin(monitor)
    assert notes.reported.wait(10.0)
    assert not call.close()
    assert not threading.Event().wait(3 * LIMIT)
    monitor.stop()
    assert notes.calls == [call]
    assert notes.durations[0] >= LIMIT
    assert monitor.hangs == 1


def test_calls_that_return_are_left_alone(notes: Notes) -> None:
    """Their own thread closes them, however many there are, and however old the last one is."""
    monitor = HangMonitor()
    monitor.start(LIMIT, notes)
    for _ in range(1000):
        assert begin(monitor).close()
    assert not threading.Event().wait(3 * LIMIT)
    monitor.stop()
    assert notes.calls == []


def test_only_the_time_of_the_call_itself_counts(notes: Notes) -> None:
    """A call that begins just before a look of the monitor has its whole time."""
    monitor = HangMonitor()
    begin(monitor).close()
    monitor.start(LIMIT, notes)
    assert not threading.Event().wait(0.9 * LIMIT)
    call = begin(monitor)
    assert notes.reported.wait(10.0)
    monitor.stop()
    assert notes.calls == [call]
    assert notes.durations[0] >= LIMIT


class Timetable:
    """A clock that stands still but while the monitor waits, and what happens meanwhile."""

    def __init__(self, *events: tuple[float, Callable[[], None]]) -> None:
        self.now = 0.0
        self.events = list(events)

    def Event(self) -> SimpleNamespace:
        """Event in the place of threading's, whose waits move the clock on."""
        ends: list[bool] = []
        return SimpleNamespace(wait=partial(self._wait, ends), set=lambda: ends.append(True))

    Thread = threading.Thread
    current_thread = staticmethod(threading.current_thread)

    def _wait(self, ends: list[bool], duration: float) -> bool:
        assert duration > 0.0, 'who does not wait keeps a processor busy'
        end = self.now + duration
        while self.events and self.events[0][0] <= end:
            self.now, act = self.events.pop(0)
            act()
        self.now = end
        return bool(ends)


@pytest.mark.parametrize('begins', [0.25, 0.5, 0.75, 1.0, 1.75])
def test_a_hang_is_found_when_the_time_of_the_call_is_over(
    begins: float, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not later, whenever the call began, and whatever calls returned before it."""
    monitor = HangMonitor()
    timetable = Timetable(
        (0.125, lambda: begin(monitor).close()),
        (begins, lambda: begin(monitor)),
        (10.0, lambda: monitor._stop.set()),
    )
    monkeypatch.setattr(hang_monitor, 'monotonic', lambda: timetable.now)
    monkeypatch.setattr(hang_monitor, 'threading', timetable)
    monitor.start(1.0, notes)
    thread = monitor._thread
    thread.join(10.0)
    assert not thread.is_alive()
    assert notes.durations == [1.0]


def test_a_warning_leaves_the_call_to_its_thread(notes: Notes) -> None:
    """It is reported once, and its thread closes it."""
    monitor = HangMonitor()
    monitor.start(LIMIT, None, notes)
    call = begin(monitor)
    assert notes.reported.wait(10.0)
    assert not threading.Event().wait(3 * LIMIT)
    monitor.stop()
    assert notes.calls == [call]
    assert call.close()


def test_a_monitor_that_was_stopped_takes_nothing_over(notes: Notes) -> None:
    """When stop() has returned, the call is its thread's."""
    monitor = HangMonitor()
    monitor.start(LIMIT, notes)
    monitor.stop()
    call = begin(monitor)
    assert not threading.Event().wait(2 * LIMIT)
    assert call.close()
    assert notes.calls == []


def test_who_was_left_behind_stops_its_own_controllers() -> None:
    """And nothing else."""
    stopped = []
    host = SimpleNamespace(stop_abandoned=lambda: stopped.append('host'))
    lost = Abandoned(begin_call(host, 'control', True))
    assert not isinstance(lost, Exception), 'no handler of ordinary errors may catch it'
    lost.clean_up()
    assert stopped == ['host']


def test_a_stop_waits_for_a_take_over_that_has_begun() -> None:
    """Nobody is on the robot when it returns."""
    begun, finished = threading.Event(), threading.Event()

    def take_over(call, duration) -> None:
        begun.set()
        time.sleep(0.05)
        finished.set()

    monitor = HangMonitor()
    monitor.start(0.001, take_over)
    monitor.call = begin_call(None, 'control', True)
    assert begun.wait(20.0)
    monitor.stop()
    assert finished.is_set()


def test_a_second_start_ends_the_first_watch() -> None:
    """One thread watches at a time."""
    monitor = HangMonitor()
    monitor.start(10.0, None)
    first = monitor._thread
    monitor.start(10.0, None)
    first.join(20.0)
    assert not first.is_alive()
    monitor.stop()


def test_hangs_that_are_only_reported_are_counted() -> None:
    """Once each."""
    told: list[float] = []
    monitor = HangMonitor()
    monitor.start(0.001, None, lambda call, duration: told.append(duration))
    monitor.call = begin_call(None, 'control', True)
    deadline = time.monotonic() + 20.0
    while not told and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.01)
    monitor.stop()
    assert (monitor.hangs, len(told)) == (1, 1)
