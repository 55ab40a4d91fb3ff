"""Rates and jitter from arrival times, sending times and stamps."""

from __future__ import annotations

import pytest

from cnoid_control.ros.check.meter import timing_of

MS = 1_000_000


def test_rate_and_jitter_are_those_of_the_sender() -> None:
    """Messages that were sent evenly and came unevenly are regular."""
    seen = [
        (10 * n * MS + (7 * MS if n % 2 else 0), 10 * n * MS, 10 * n * MS) for n in range(1, 22)
    ]
    timing = timing_of(seen, 0.25, 3, has_stamps=True)
    assert timing.rate == pytest.approx(100.0)
    assert timing.jitter == pytest.approx(0.0, abs=1e-12)
    assert timing.longest == pytest.approx(0.010)
    assert timing.stamp_rate == pytest.approx(100.0)
    assert (timing.count, timing.lost, timing.repeated) == (21, 3, 0)


def test_arrivals_count_where_nobody_says_when_it_was_sent() -> None:
    """A middleware without sending times: gaps of 4 and 6 ms are a jitter of 1 ms."""
    times = [0, 4, 10, 14, 20, 24, 30]
    timing = timing_of([(t * MS, 0, 0) for t in times], 0.1, 0, has_stamps=False)
    assert timing.rate == pytest.approx(200.0)
    assert timing.jitter == pytest.approx(0.001)
    assert timing.longest == pytest.approx(0.006)
    assert not timing.has_stamps


def test_repeated_stamps_are_no_new_states() -> None:
    """A manager at 100 Hz whose hardware gives 50 states a second."""
    seen = [(10 * n * MS, 10 * n * MS, 20 * (n // 2) * MS) for n in range(2, 23)]
    timing = timing_of(seen, 0.3, 0, has_stamps=True)
    assert timing.rate == pytest.approx(100.0)
    assert timing.stamp_rate == pytest.approx(50.0)
    assert timing.repeated == 10


def test_age_and_standing_stamps() -> None:
    """The age is that of the last message; stamps that stand still have no rate."""
    timing = timing_of([(n * MS, n * MS, 1 * MS) for n in range(1, 6)], 0.1, 0, has_stamps=True)
    assert timing.stamp_age == pytest.approx(0.004)
    assert timing.stamp_rate == 0.0
    assert timing_of([], 1.0, 0, has_stamps=True).count == 0
    assert timing_of([(5, 5, 1)], 1.0, 0, has_stamps=True).rate == 0.0
