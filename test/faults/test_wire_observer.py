"""Control periods as the robot counts them."""

from __future__ import annotations

import pytest

pytest.importorskip('controller_manager_msgs.msg', reason='interfaces are not built')

from cnoid_control.faults.wire import STATES, WireObserver


@pytest.fixture
def observer(ros_node):
    """Return an observer of a robot with a period of 1 ms that sent states at 1, 2, 3 and 7 s."""
    observer = WireObserver(ros_node, 2, 5.0, 0.001, {'imu': 'sensor_msgs/msg/Imu'})
    observer.topics[STATES].times[:] = [1.0, 2.0, 3.0, 7.0]
    yield observer
    observer.close()


@pytest.mark.parametrize(
    ('begin', 'end', 'periods'),
    [(1.0, 1.5, 1), (1.0, 2.5, 2), (0.5, 3.5, 4), (2.5, 3.0, 2)],
)
def test_periods_are_those_of_the_robot(observer, begin, end, periods) -> None:
    """Each state that the robot sends begins a period, the one under way counts."""
    assert observer.periods(begin, end) == periods


def test_states_that_come_at_once_are_no_periods(observer) -> None:
    """A robot that makes up for lost time: not more periods than there was time for."""
    observer.topics[STATES].times[:] = [5.0, 5.0001, 5.0002, 5.0003, 5.0004, 5.001]
    assert observer.periods(4.9999, 5.0005) == 2
    assert observer.periods(4.9999, 5.0012) == 3


def test_periods_by_the_clock(observer) -> None:
    """Where the robot sends nothing, the clock counts, upwards."""
    assert observer.periods(8.0, 8.0021) == 3
    assert observer.periods(8.0, 7.9) == 1
