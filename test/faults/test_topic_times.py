"""When messages were sent: the publisher's clock counts, not when somebody looks."""

from __future__ import annotations

import math
import time

import pytest

pytest.importorskip('sensor_msgs.msg', reason='needs ROS 2')

from sensor_msgs.msg import JointState

from cnoid_control.faults.wire import EVERY_MESSAGE, TakeoverTimes, TopicTimes


@pytest.fixture
def publisher(ros_node):
    """Return a publisher of joint states."""
    return ros_node.create_publisher(JointState, 'states', 10)


def test_times_are_those_of_sending(ros_node, spin_until, publisher) -> None:
    """Two messages that are looked at late have the times at which they were sent."""
    times = TopicTimes(ros_node, JointState, 'states')
    assert spin_until(lambda: publisher.get_subscription_count() > 0)
    before = time.time()
    publisher.publish(JointState())
    between = time.time()
    publisher.publish(JointState())
    after = time.time()
    time.sleep(0.05)
    assert spin_until(lambda: times.poll() or len(times.times) == 2)
    first, second = times.times
    assert before <= first <= between <= second <= after
    assert times.first_after(before) == first
    assert times.first_after(between) == times.last_before(after) == second
    assert times.last_before(before) == -math.inf
    assert times.first_after(after) == math.inf
    assert times.count_between(before, after) == 2
    assert times.count_between(first, after) == 1
    times.close()
    times.poll()


def test_another_commander_is_seen_by_the_positions(ros_node, spin_until, publisher) -> None:
    """The first message with other positions is noted; efforts and the end in order are not."""
    takeover = TakeoverTimes(ros_node, 'states')
    assert spin_until(lambda: publisher.get_subscription_count() > 0)

    def send(position: list[float], effort: list[float]) -> float:
        count = len(takeover.times)
        names = ['a', 'b'][: len(position)]
        publisher.publish(JointState(name=names, position=position, effort=effort))
        assert spin_until(lambda: takeover.poll() or len(takeover.times) > count)
        return takeover.changed

    assert send([1.0, 2.0], [0.0, 0.0]) == 0.0
    assert send([1.0, 2.0], [5.0, 6.0]) == 0.0
    assert send([], []) == 0.0
    assert send([1.0, 2.1], [5.0, 6.0]) == takeover.times[-1]
    assert send([1.0, 2.2], [5.0, 6.0]) == takeover.times[-2]
    takeover.forget()
    assert send([1.0, 2.2], [5.0, 6.0]) == 0.0
    takeover.close()


def test_messages_without_end_do_not_keep_the_other_topics_waiting(ros_node, monkeypatch) -> None:
    """A look at a topic that is faster than its observer returns."""
    times = TopicTimes(ros_node, JointState, 'states')
    monkeypatch.setattr(times._subscription, 'take', lambda: b'')
    times.poll()
    assert len(times.times) == EVERY_MESSAGE.depth
    times.close()
