"""Several robots in one graph: what the tool counts, and how it judges."""

from __future__ import annotations

import contextlib
import os
import time
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

import robots

from cnoid_control.messages.commands import JointStateEncoder


def command(stamp: int, effort: float) -> bytes:
    """Bytes of a command with a stamp [ns]."""
    encoder = JointStateEncoder(['a'], ('effort',))
    encoder.values['effort'][:] = effort
    return encoder.encode(stamp)


def test_a_state_that_is_answered_twice_is_seen(monkeypatch) -> None:
    """Two different commands of one stamp are; a repetition of one command is not."""
    come = [command(1, 1.0), command(2, 1.0), command(2, 1.0), command(3, 1.0), command(3, 2.0)]
    inbox = SimpleNamespace(take=lambda: come.pop(0) if come else None, close=lambda: None)
    monkeypatch.setattr(robots, 'open_subscription', lambda *given: inbox)
    check = robots.CommandCheck(None, 'robot1')
    check.poll()
    assert (check.count, check.twice) == (5, 1)


class Graph:
    """Robots that lose more ticks the more of them there are."""

    def __init__(self, starts: int = 99) -> None:
        self.loops: dict[str, robots.Loop] = {}
        self.starts = starts
        self.start_times = [1.0]

    def add(self, *parameters: str) -> None:
        """Add one, or fail."""
        if len(self.loops) >= self.starts:
            raise robots.DemoFailed('it did not start')
        self.loops[f'robot{len(self.loops) + 1}'] = robots.Loop(1000, 0, 'pd runs')

    def look(self, duration: float) -> None:
        """Let them tick."""
        for loop in self.loops.values():
            loop.ticks += 1000
            loop.bad += len(self.loops) ** 2

    def processor_times(self) -> list[tuple[float, float]]:
        """They need none."""
        return [(0.0, 0.0)] * len(self.loops)

    def stopped(self) -> list[str]:
        """None is."""
        return []


@pytest.mark.parametrize(
    ('most', 'starts', 'borne', 'said'),
    [(8, 99, 3, '3 robots'), (2, 99, 2, '2 or more'), (8, 1, 1, '1 robots')],
)
def test_the_number_before_ticks_are_lost_is_said(
    monkeypatch, capsys, most: int, starts: int, borne: int, said: str
) -> None:
    """Four lose 1.6 %; a bound, and one that does not start, end the search too."""
    made = Graph(starts)
    monkeypatch.setattr(robots, 'graph', lambda *given: contextlib.nullcontext(made))
    monkeypatch.setattr(robots, 'request_realtime', lambda priority: 'as it was')
    assert robots.find_load('sr1_pd', most, 1.0) == borne
    assert f'{said}' in capsys.readouterr().out.splitlines()[-1]


def test_the_processor_time_of_a_process_is_that_of_the_system() -> None:
    """User and system time, as Python's own clock has them."""
    before = robots.processor_time(os.getpid())
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    own = time.process_time()
    # The system counts in hundredths, and threads of others may go on.
    assert robots.processor_time(os.getpid()) >= before + 0.15
    assert robots.processor_time(os.getpid()) == pytest.approx(own, rel=0.05, abs=0.1)


def test_what_is_started_has_no_priority_of_the_observer() -> None:
    """A process that inherited it would keep the robots from their ticks while it starts."""
    before = os.sched_getscheduler(0), os.sched_getparam(0).sched_priority
    said = robots.request_realtime(robots.PRIORITY)
    inside = os.sched_getscheduler(0)
    with robots.ordinary_priority():
        assert os.sched_getscheduler(0) == os.SCHED_OTHER
    assert os.sched_getscheduler(0) == inside
    assert (inside == os.SCHED_FIFO) is said.startswith('real-time')
    os.sched_setscheduler(0, before[0], os.sched_param(before[1]))
