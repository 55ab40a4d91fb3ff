"""Messages by rcl's own functions: what a thread finds that comes too late, and long messages."""

import os
import threading
import time

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from raw_messages import take
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import String

from cnoid_control.ros import rcl
from cnoid_control.ros.raw_dds import CallbackSubscription, DirectSubscription, open_subscription

QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)


@pytest.fixture
def pair(ros_node):
    """Give a subscription and a publisher that know each other."""
    subscription = open_subscription(ros_node, String, 'text', QOS)
    assert isinstance(subscription, DirectSubscription)
    publisher = ros_node.create_publisher(String, 'text', QOS)
    while not publisher.get_subscription_count():
        time.sleep(0.01)
    yield subscription, publisher
    subscription.close()


def test_messages_of_every_length_arrive_whole(pair):
    """The buffer grows with what comes, and a short message after a long one is short again."""
    subscription, publisher = pair
    for length in (3, 4090, 5000, 200_000, 7):
        sent = String(data='x' * (length - 1) + 'y')
        publisher.publish(sent)
        data = take(subscription)
        assert deserialize_message(data, String) == sent
        assert len(data) == len(serialize_message(sent))
    assert subscription.lost == 0


def test_what_came_before_the_first_wait_ends_it(pair):
    """Messages are counted from the first wait on, and those that are there then count."""
    subscription, publisher = pair
    publisher.publish(String(data='early'))
    time.sleep(0.2)
    begin = time.monotonic()
    subscription.wait(60.0)
    assert time.monotonic() - begin < 30.0
    assert deserialize_message(subscription.take(), String).data == 'early'


def test_no_wait_while_there_is_a_message(pair):
    """Who has taken one of several that came together finds the next one at once."""
    subscription, publisher = pair
    for k in range(3):
        publisher.publish(String(data=str(k)))
    time.sleep(0.2)
    begin = time.monotonic()
    for k in range(3):
        subscription.wait(60.0)
        subscription.wait(60.0)
        assert deserialize_message(subscription.take(), String).data == str(k)
    assert time.monotonic() - begin < 30.0


def test_messages_that_nobody_took_end_one_wait(pair):
    """However many have come meanwhile, the thread is not woken once for each."""
    subscription, publisher = pair
    subscription.wait(0.0)
    for k in range(50):
        publisher.publish(String(data=str(k)))
    time.sleep(0.2)
    subscription.wait(60.0)
    while subscription.take() is not None:
        pass
    subscription.wait(0.0)
    assert subscription.take() is None
    begin = time.monotonic()
    subscription.wait(0.1)
    assert time.monotonic() - begin >= 0.1


def test_a_thread_that_comes_too_late_finds_nothing(pair):
    """After the end nothing is taken, and no descriptor that is another file's is touched."""
    subscription, publisher = pair
    subscription.wait(0.0)
    before = subscription._rcl._counter.value
    publisher.publish(String(data='late'))
    subscription.close()
    other = os.eventfd(5, os.EFD_NONBLOCK)
    try:
        assert other == before
        assert subscription.take() is None
        subscription.wait(60.0)
        subscription.wake()
        assert os.eventfd_read(other) == 5
    finally:
        os.close(other)


def test_the_end_ends_a_wait(pair):
    """Who waits in another thread goes on when the subscription is closed."""
    subscription, _ = pair
    thread = threading.Thread(target=subscription.wait, args=(60.0,))
    thread.start()
    time.sleep(0.1)
    subscription.close()
    thread.join(20.0)
    assert not thread.is_alive()


def test_public_calls_are_used_where_the_middleware_does_not_tell(ros_node, monkeypatch):
    """A middleware that refuses the callback, or libraries that differ, leave rclpy's own way."""

    class Refusing(rcl.Library):
        def __init__(self):
            super().__init__()
            self.set_callback = lambda *_: 1

    descriptors = len(os.listdir('/proc/self/fd'))
    monkeypatch.setattr(rcl.RclSubscription, '_library', Refusing())
    one = open_subscription(ros_node, String, 'text', QOS)
    assert isinstance(one, CallbackSubscription)
    assert len(os.listdir('/proc/self/fd')) == descriptors
    assert ros_node.count_subscribers('text') == 1
    monkeypatch.setattr(rcl.RclSubscription, '_library', None)
    monkeypatch.setattr(rcl, 'POINTER_SIZE', 4)
    other = open_subscription(ros_node, String, 'text', QOS)
    assert isinstance(other, CallbackSubscription)
    for subscription in (one, other):
        subscription.close()
