"""The robot of the ROS loop's benchmark counts what is answered, whoever answers."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from cnoid_control.bench.ros_loop import compare
from cnoid_control.bench.ros_loop.compare import Drive, RateSearch, StoodStill, ratio, take_turns
from cnoid_control.bench.ros_loop.compiled import compile_node, why_not
from cnoid_control.bench.ros_loop.rig import KINDS, STANDSTILL, C, driven
from cnoid_control.exceptions import CnoidControlError

needs_compiler = pytest.mark.skipif(bool(why_not()), reason=why_not() or 'a compiler is there')

# Slow enough for a busy machine.
SLOW = 100.0


@needs_compiler
def test_states_that_are_not_answered_are_lost(tmp_path):
    """Where every fifth state gets no answer those are lost, and the others have a time."""
    with driven(C, 0, tmp_path, skip=5) as pair:
        drive = pair.drive(SLOW, 100)
    lost = np.isnan(drive.times)
    # On a busy machine more of them may be lost; which one of five it is does not matter.
    assert drive.lost >= 0.19
    assert all(lost[first : first + 5].any() for first in range(96))
    assert (drive.times[~lost] > 0.0).all()
    assert drive.cpu > 0.0


@needs_compiler
@pytest.mark.timeout(240)
def test_every_kind_answers(tmp_path):
    """The control node, the bare loop, the node in C and that of rclpy command the same robot."""
    for kind in KINDS:
        with driven(kind, 0, tmp_path) as pair:
            drive = pair.drive(SLOW, 50)
        assert drive.times.shape == (50,)
        assert np.isfinite(drive.times).any()
        assert drive.cpu_per_tick > 0.0


@needs_compiler
def test_what_a_controller_says_at_its_end_is_told(tmp_path):
    """A controller that ends is an error, with its last lines."""
    with driven(C, 0, tmp_path) as pair:
        pair.end()
        with pytest.raises(CnoidControlError, match='the controller has ended'):
            pair.drive(SLOW, 10)


@needs_compiler
def test_a_source_that_does_not_compile_is_told(tmp_path):
    """The message has what the compiler says."""
    with pytest.raises(CnoidControlError, match=r'no_such_node\.c does not compile'):
        compile_node('no_such_node', tmp_path)


class FakePair:
    """Loses states from a rate on, or is too slow a robot."""

    share = 100
    late = 0.0

    def __init__(self, limit: float, robot: float = 1e9) -> None:
        self.limit, self.robot = limit, robot

    def drive(self, rate: float, ticks: int) -> Drive:
        times = np.full(ticks, 1e-4)
        if rate > self.limit:
            times[:: self.share] = np.nan
        return Drive(times, times, 0.0, ticks / min(rate, self.robot), self.late)


@pytest.mark.parametrize(
    ('pair', 'found'),
    [
        (FakePair(1500.0), 1440.0),
        (FakePair(1e9), 2000.0),
        (FakePair(500.0), 0.0),
        (FakePair(1e9, robot=1300.0), 1200.0),
    ],
)
def test_the_highest_rate_is_the_last_that_is_kept(monkeypatch, pair, found):
    """One in a hundred is too much; a rate that the robot itself does not reach does not count."""
    monkeypatch.setattr('cnoid_control.bench.ros_loop.compare.FACTOR', 1.2)
    rate = RateSearch(first=1000.0, highest=2000.0).go_on(pair)
    assert rate == pytest.approx({2000.0: 1728.0}.get(found, found))


def test_a_search_goes_on_where_the_machine_stood_still():
    """With another pair, at the rate that was tried then."""
    search = RateSearch(first=1000.0, highest=1500.0)
    pair = FakePair(1e9)
    pair.late = 2.0 * STANDSTILL
    with pytest.raises(StoodStill):
        search.go_on(pair)
    assert search.go_on(FakePair(1400.0)) == pytest.approx(1322.5)


def test_a_machine_that_is_too_busy_gives_no_ratio(monkeypatch):
    """Not one of a controller that loses most states, nor one that keeps up with no rate."""

    @contextmanager
    def lost(kind, priority, folder):
        yield FakePair(0.0)

    monkeypatch.setattr(compare, 'driven', lost)
    with pytest.raises(CnoidControlError, match='too busy'):
        compare.highest_rates(0, rounds=1)
    monkeypatch.setattr(FakePair, 'share', 1)
    with pytest.raises(CnoidControlError, match='100 % of the states'):
        take_turns(0, rounds=1, ticks=10)


def test_a_turn_in_which_the_machine_stood_still_is_taken_anew(monkeypatch):
    """With another controller, for its watchdog has stopped the robot; not for ever."""
    started = []

    @contextmanager
    def held_up(kind, priority, folder):
        pair = FakePair(1e9)
        pair.late = 0.0 if len(started) in good else 2.0 * STANDSTILL
        started.append(kind)
        yield pair

    monkeypatch.setattr(compare, 'driven', held_up)
    good = {2, *range(3, 9)}
    turns = take_turns(0, rounds=1, ticks=10)
    assert started == [KINDS[0]] * 3 + list(KINDS[1:])
    assert all(turn.late == 0.0 for kind in KINDS for turn in turns[kind])
    good = set()
    with pytest.raises(CnoidControlError, match='stood still for 20 ms'):
        take_turns(0, rounds=1, ticks=10)


@needs_compiler
def test_a_robot_that_is_held_up_says_for_how_long(tmp_path):
    """By itself, so that it is known that its controller could not have answered."""
    with driven(C, 0, tmp_path) as pair, ThreadPoolExecutor() as pool:
        robot = pair.robot._process
        driving = pool.submit(pair.drive, SLOW, 200)
        time.sleep(0.5)
        robot.send_signal(signal.SIGSTOP)
        time.sleep(0.2)
        robot.send_signal(signal.SIGCONT)
        drive = driving.result()
    assert drive.late > 0.1
    assert not drive.is_valid


def test_the_ratio_is_the_median_of_the_turns():
    """One disturbed turn does not decide."""
    assert ratio([1.0, 9.0, 2.0], [2.0, 1.0, 4.0]) == 0.5
