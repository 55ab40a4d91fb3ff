"""Fresh joint states: which messages are new states, and how time goes on."""

import numpy as np
import pytest

pytest.importorskip('sensor_msgs.msg', reason='needs ROS 2')

from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from cnoid_control.ros.robot.joint_states import JointStateSource


class ListSubscription:
    """Messages in a list."""

    lost = 0
    restarts = 0

    def __init__(self):
        self.messages = []

    def take(self):
        """Return the next one."""
        return self.messages.pop(0) if self.messages else None

    def put(self, stamp, position=(1.0, 2.0), names=('a', 'b')):
        """Add a message."""
        message = JointState(name=list(names), position=list(position))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(round(stamp * 1e9), 10**9)
        self.messages.append(serialize_message(message))


@pytest.fixture
def reports():
    """Return a list of what was reported."""
    return []


@pytest.fixture
def source(reports):
    """Return a source of two joints with a period of 10 ms."""
    made = JointStateSource(ListSubscription(), ['a', 'b'], 0.01, 0.5, reports.append)
    made.need(np.arange(2))
    return made


def test_dt_comes_from_the_stamps(source, reports):
    """Each fresh state advances the time by the difference of the stamps."""
    for stamp in (100.0, 100.01, 100.025):
        source.subscription.put(stamp)
        assert source.poll_one()
    assert source.dt == pytest.approx(0.015)
    assert source.time == pytest.approx(0.025)
    assert source.stamp == 100_025_000_000
    assert not source.poll_one()
    assert reports == []


def test_a_repeated_state_is_passed_over_for_a_while(reports):
    """Where that is asked for, a state with another stamp alone is no new one until it is old."""
    source = JointStateSource(ListSubscription(), ['a', 'b'], 0.01, 0.5, reports.append, 0.03)
    source.need(np.arange(2))
    for stamp in (1.0, 1.01, 1.02, 1.03, 1.04):
        source.subscription.put(stamp)
    source.subscription.put(1.05, (1.0, 2.1))
    assert [source.poll_one() for _ in range(6)] == [True, False, False, True, False, True]
    assert source.counts['repeated'] == 3
    assert source.dt == pytest.approx(0.02)
    assert source.time == pytest.approx(0.05)


def test_a_repeated_stamp_is_not_a_new_state(source):
    """The same stamp again is counted and passed over."""
    source.subscription.put(1.0)
    source.subscription.put(1.0, (9.0, 9.0))
    assert source.poll_one()
    assert not source.poll_one()
    assert source.counts['repeated'] == 1
    source.subscription.put(1.0)
    source.restart()
    assert source.poll_one()


def test_an_older_state_is_passed_over(source, reports):
    """A stamp that is a little older comes too late to be a state."""
    for stamp in (1.0, 1.02, 1.01, 1.03):
        source.subscription.put(stamp)
    assert [source.poll_one() for _ in range(4)] == [True, True, False, True]
    assert source.counts['older'] == 1
    assert reports == ['joint states: a state that is 0.010000 s older than the last one']
    assert source.time == pytest.approx(0.03)


@pytest.mark.parametrize('jump', [-0.9, 3600.0])
def test_a_jump_of_the_clock_is_told_and_time_goes_on(source, reports, jump):
    """The state counts, the jump does not: the time advances by one period."""
    for stamp in (1.0, 1.01, 1.01 + jump, 1.02 + jump):
        source.subscription.put(stamp)
        assert source.poll_one()
    assert source.time == pytest.approx(0.03)
    assert source.counts['jumps'] == 1
    assert reports == [f'joint states: the clock jumped by {jump:+.3f} s']


def test_unknown_positions_are_no_state(source, reports):
    """NaN, infinity and missing joints are told by name, once."""
    nan, inf = float('nan'), float('inf')
    for position in ((1.0, nan), (1.0, nan), (inf, 2.0)):
        source.subscription.put(1.0, position)
        assert not source.poll_one()
    source.subscription.put(1.0, (1.0,), ('b',))
    assert not source.poll_one()
    assert reports == [
        'joint states: joints whose position is not a number: b',
        'joint states: joints whose position is not a number: a',
        'joint states: joints that are missing: a',
    ]
    source.need(np.array([1]))
    source.subscription.put(1.0, (nan, 2.0))
    assert source.poll_one()
    assert source.problem == ''


def test_bytes_that_are_no_message_are_counted(source, reports):
    """They are told, and the next good message is a state."""
    source.subscription.messages.append(b'\x00\x01\x00\x00abc')
    assert not source.poll_one()
    source.subscription.put(1.0)
    assert source.poll_one()
    assert source.counts['malformed'] == 1
    assert len(reports) == 1


def test_polling_takes_the_newest(source):
    """All that has come is taken; the last one counts."""
    for k in range(5):
        source.subscription.put(1.0 + 0.01 * k, (float(k), 0.0))
    assert source.poll()
    assert source.decoder.position[0] == 4.0
    assert source.time == pytest.approx(0.04)


def test_another_publisher_is_passed_over_and_two_are_told_from_a_restart(source):
    """The first message of another one is no state; who takes turns with it contests the topic."""
    subscription = source.subscription
    subscription.put(1.0)
    assert source.poll_one()
    subscription.put(1.001)
    subscription.restarts = 1
    assert not source.poll_one()
    assert not source.contested
    subscription.put(1.002)
    assert source.poll_one()
    subscription.put(1.003)
    subscription.restarts = 2
    assert not source.poll_one()
    assert source.contested
    assert source.counts['of another publisher'] == 2
