"""The hang monitor: a call is closed once, by the one who makes it or by the monitor."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

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
