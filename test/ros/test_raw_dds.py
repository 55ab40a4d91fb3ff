"""The loop thread's way to DDS, on real DDS: direct and public calls give the same bytes."""

import os
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from raw_messages import take
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from cnoid_control.messages.joint_state import JointStateDecoder
from cnoid_control.ros.raw_dds import (
    CallbackSubscription,
    DirectSubscription,
    RawPublisher,
    open_subscription,
)

QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)


def message(k):
    """Return a message whose values tell its number."""
    state = JointState(name=['a', 'b'], position=[float(k), -float(k)])
    state.header.stamp.sec = k
    return state


@pytest.fixture
def spinning(ros_executor):
    """Serve the test's nodes in a thread, as the node does."""
    stop = threading.Event()

    def spin():
        while not stop.is_set():
            ros_executor.spin_once(timeout_sec=0.05)

    thread = threading.Thread(target=spin)
    thread.start()
    yield
    stop.set()
    thread.join()


def test_both_subscriptions_give_the_same_values(ros_node, spinning):
    """Raw access and public calls: every message, in order, with the sent values."""
    direct = open_subscription(ros_node, JointState, 'joint_states', QOS)
    public = open_subscription(ros_node, JointState, 'joint_states', QOS, public=True)
    assert isinstance(direct, DirectSubscription)
    assert isinstance(public, CallbackSubscription)
    publisher = ros_node.create_publisher(JointState, 'joint_states', QOS)
    while publisher.get_subscription_count() < 2:
        time.sleep(0.01)
    for k in range(5):
        publisher.publish(message(k))
    for subscription in (direct, public):
        decoder = JointStateDecoder(['b', 'a'])
        for k in range(5):
            assert decoder.decode(take(subscription))
            assert decoder.position.tolist() == [-float(k), float(k)]
            assert decoder.stamp == k * 10**9
        assert subscription.take() is None
        assert subscription.lost == 0
        subscription.close()
        subscription.close()
    while publisher.get_subscription_count():
        time.sleep(0.01)


def test_two_publishers_show_in_the_count(ros_node):
    """A message that does not go on with the last one's count is of another publisher."""
    subscription = open_subscription(ros_node, JointState, 'joint_states', QOS)
    first, second = (ros_node.create_publisher(JointState, 'joint_states', QOS) for _ in range(2))
    while not first.get_subscription_count() or not second.get_subscription_count():
        time.sleep(0.01)
    for k in range(5):
        first.publish(message(k))
        take(subscription)
    assert subscription.restarts == 0
    for restarts in (1, 2):
        second.publish(message(7))
        take(subscription)
        assert subscription.restarts == restarts
        first.publish(message(8))
        take(subscription)
    assert subscription.restarts == 2
    subscription.close()


def test_a_late_reader_knows_what_it_lost(ros_node):
    """With depth 1 only the newest message is there, and the others are counted."""
    subscription = open_subscription(ros_node, JointState, 'joint_states', QoSProfile(depth=1))
    publisher = ros_node.create_publisher(JointState, 'joint_states', QOS)
    while not publisher.get_subscription_count():
        time.sleep(0.01)
    decoder = JointStateDecoder(['a'])
    publisher.publish(message(1))
    decoder.decode(take(subscription))
    for k in range(2, 6):
        publisher.publish(message(k))
    time.sleep(0.2)
    decoder.decode(take(subscription))
    assert decoder.position[0] == 5.0
    assert subscription.lost == 3
    subscription.close()


@pytest.mark.parametrize('public', [False, True])
def test_a_wait_can_be_ended(ros_node, spinning, public):
    """Waking ends a long wait at once; without it the time-out does."""
    subscription = open_subscription(ros_node, JointState, 'joint_states', QOS, public=public)
    subscription.wait(0.01)
    threading.Timer(0.1, subscription.wake).start()
    subscription.wait(60.0)
    assert subscription.take() is None
    subscription.close()


def test_the_bytes_that_are_sent_arrive_typed(ros_node, spin_until):
    """An outbox's bytes are the message that a subscriber gets."""
    received = []
    ros_node.create_subscription(Float64MultiArray, 'commands', received.append, QOS)
    outbox = RawPublisher(ros_node, Float64MultiArray, 'commands', QOS)
    assert spin_until(lambda: outbox.reader_count == 1)
    sent = Float64MultiArray(data=[1.0, 2.0])
    assert outbox.send(serialize_message(sent))
    assert spin_until(lambda: received)
    assert received == [sent]
    assert outbox.topic == '/commands'
    assert outbox.flush(5.0)
    outbox.close()
    outbox.close()


def test_a_lost_context_ends_quietly(ros_context):
    """After shut-down nothing is raised: no message, no waiting, nothing sent."""
    import rclpy

    node = Node('lonely', context=ros_context)
    subscription = open_subscription(node, JointState, 'joint_states', QOS)
    outbox = RawPublisher(node, Float64MultiArray, 'commands', QOS)
    rclpy.try_shutdown(context=ros_context)
    subscription.wait(0.05)
    assert subscription.take() is None
    assert not outbox.send(serialize_message(Float64MultiArray()))
    subscription.close()
    outbox.close()


def test_quality_of_service_can_be_overridden(ros_context):
    """A qos_overrides parameter changes what the subscription asks for."""
    name = 'qos_overrides./joint_states.subscription.reliability'
    node = Node(
        'overridden',
        context=ros_context,
        cli_args=['--ros-args', '-p', f'{name}:=best_effort'],
    )
    subscription = open_subscription(node, JointState, 'joint_states', QOS)
    info = node.get_subscriptions_info_by_topic('/joint_states')
    assert [one.qos_profile.reliability for one in info] == [ReliabilityPolicy.BEST_EFFORT]
    subscription.close()
    node.destroy_node()


def test_a_message_of_another_process_arrives(ros_node):
    """A typed publisher in another process is read raw."""
    code = (
        'import rclpy, time\n'
        'from sensor_msgs.msg import JointState\n'
        'rclpy.init()\n'
        "node = rclpy.create_node('robot')\n"
        "publisher = node.create_publisher(JointState, 'joint_states', 1)\n"
        'for _ in range(400):\n'
        "    publisher.publish(JointState(name=['a', 'b'], position=[1.5, 2.5]))\n"
        '    time.sleep(0.05)\n'
    )
    subscription = open_subscription(ros_node, JointState, 'joint_states', QoSProfile(depth=1))
    process = subprocess.Popen([sys.executable, '-c', code], env=dict(os.environ))
    try:
        decoder = JointStateDecoder(['b', 'a'])
        assert decoder.decode(take(subscription, 30.0))
        assert decoder.position.tolist() == [2.5, 1.5]
    finally:
        process.kill()
        process.wait()
        subscription.close()


def test_messages_do_not_wake_the_executor(ros_node):
    """Nothing of a raw subscription is left in the node's wait set."""
    before = list(ros_node.waitables)
    subscription = open_subscription(ros_node, JointState, 'joint_states', QoSProfile(depth=1))
    assert list(ros_node.waitables) == before
    subscription.close()
