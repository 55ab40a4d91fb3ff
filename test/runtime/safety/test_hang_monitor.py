"""The hang monitor: calls that do not come back are noticed and interrupted."""

from __future__ import annotations

import threading
import time

import pytest

from cnoid_control.runtime.exceptions import ControlTimeout
from cnoid_control.runtime.safety.hang_monitor import HangMonitor

LIMIT = 0.02


class Notes:
    """What a monitor does."""

    def __init__(self) -> None:
        self.reports: list[float] = []
        self.acts = 0
        self.acted = threading.Event()

    def report(self, duration: float) -> None:
        """Note a report."""
        self.reports.append(duration)

    def act(self) -> None:
        """Note an action; three of them are an event."""
        self.acts += 1
        if self.acts >= 3:
            self.acted.set()


@pytest.fixture
def notes() -> Notes:
    """Return empty notes."""
    return Notes()


def test_a_hanging_call_is_reported_once_and_stood_in_for(notes: Notes) -> None:
    """While the call does not come back, the monitor acts each period; then no more."""
    monitor = HangMonitor(LIMIT, 0.002, notes.report, notes.act)
    monitor.start()
    monitor.begin()
    assert notes.acted.wait(5.0)
    monitor.end()
    monitor.stop()
    acts = notes.acts
    assert len(notes.reports) == monitor.hangs == 1
    assert notes.reports[0] > LIMIT
    monitor.start()
    assert not threading.Event().wait(3 * LIMIT)
    monitor.stop()
    assert notes.acts == acts


def test_quick_calls_are_left_alone(notes: Notes) -> None:
    """Calls that come back are not reported, however many."""
    monitor = HangMonitor(10.0, 0.002, notes.report, notes.act)
    monitor.start()
    for _ in range(1000):
        monitor.begin()
        monitor.end()
    monitor.stop()
    assert notes.reports == []


def test_an_endless_loop_is_interrupted(notes: Notes) -> None:
    """A loop in Python ends with ControlTimeout."""
    monitor = HangMonitor(LIMIT, 0.002, lambda duration: monitor.interrupt(), notes.act)
    caught: list[type] = []

    def hang() -> None:
        monitor.begin()
        try:
            while True:
                pass
        except ControlTimeout as error:
            caught.append(type(error))
        monitor.end()

    monitor.start()
    thread = threading.Thread(target=hang, daemon=True)
    thread.start()
    thread.join(10.0)
    monitor.stop()
    assert caught == [ControlTimeout]


def test_no_interrupt_outlives_the_call(notes: Notes) -> None:
    """Calls that take just the limit are interrupted or not; behind their end nothing comes."""
    limit = 0.001
    monitor = HangMonitor(limit, 0.001, lambda duration: monitor.interrupt(), notes.act)
    monitor.start()
    interrupted = 0
    for i in range(400):
        try:
            try:
                monitor.begin()
                end = time.perf_counter() + limit * (0.9 + 0.001 * i)
                while time.perf_counter() < end:
                    pass
            finally:
                monitor.end()
        except ControlTimeout:
            interrupted += 1
        # A late interrupt would end the test here.
        for _ in range(50):
            pass
    monitor.stop()
    assert interrupted <= monitor.hangs
    assert monitor.hangs > 0


def test_the_next_call_is_not_interrupted_for_the_last_one(notes: Notes) -> None:
    """An interrupt that comes when the call is over leaves the call alone that has begun since."""
    reported, begun, done = threading.Event(), threading.Event(), threading.Event()

    def report(duration: float) -> None:
        reported.set()
        begun.wait(10.0)
        monitor.interrupt()
        done.set()

    monitor = HangMonitor(LIMIT, 0.002, report, notes.act)
    monitor.start()
    monitor.begin()
    assert reported.wait(10.0)
    monitor.end()
    monitor.begin()
    begun.set()
    assert done.wait(10.0)
    monitor.end()
    monitor.stop()
