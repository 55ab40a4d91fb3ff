"""Numbers of the loop's regularity, from ticks whose times are known."""

import math

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from cnoid_control.ros.node.loop_statistics import WINDOW, LoopStatistics

PERIOD = 0.001


@pytest.mark.parametrize('ticks', [10, WINDOW, WINDOW + 777])
def test_rate_jitter_and_durations(ticks):
    """Rate, jitter and durations are those of the last ticks, however many there were."""
    rng = np.random.default_rng(1)
    arrivals = np.cumsum(PERIOD + 1e-4 * rng.uniform(-1.0, 1.0, ticks))
    durations = rng.uniform(1e-4, 5e-4, ticks)
    statistics = LoopStatistics(PERIOD)
    for arrival, duration in zip(arrivals, durations, strict=True):
        statistics.tick(arrival, duration, PERIOD)
    kept, took = arrivals[-WINDOW:], durations[-WINDOW:]
    summary = statistics.summary()
    assert summary['rate'] == pytest.approx((len(kept) - 1) / (kept[-1] - kept[0]))
    assert summary['jitter'] == pytest.approx(np.diff(kept).std())
    assert summary['period_max'] == pytest.approx(np.diff(kept).max())
    assert summary['duration_median'] == pytest.approx(np.median(took))
    assert summary['duration_p99'] == pytest.approx(np.quantile(took, 0.99))
    assert summary['duration_max'] == pytest.approx(took.max())
    assert (summary['ticks'], summary['late'], summary['lost']) == (ticks, 0, 0)


def test_late_ticks_and_lost_states_are_counted():
    """A tick that took longer than a period is late; a gap in the stamps is lost states."""
    statistics = LoopStatistics(PERIOD)
    for i, (duration, dt) in enumerate([(0.0005, 1), (0.0011, 1), (0.0005, 2), (0.002, 4)]):
        statistics.tick(0.001 * i, duration, dt * PERIOD)
    assert (statistics.ticks, statistics.late, statistics.lost) == (4, 2, 4)


def test_before_the_first_tick_there_is_nothing():
    """Without ticks the rate is not a number, and nothing fails."""
    summary = LoopStatistics(PERIOD).summary()
    assert math.isnan(summary['rate'])
    assert summary['ticks'] == 0
