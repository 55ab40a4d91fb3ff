"""Commands for the simulated robot on the topic of JointStateTopicSystem."""

import numpy as np
import pytest
from mujoco_rig import ARM
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from cnoid_control.body import Body, JointType
from cnoid_control.body.formats.urdf import parse_urdf
from cnoid_control.messages.joint_state import JointStateDecoder
from cnoid_control.ros.sim import commands as sim_commands
from cnoid_control.ros.sim.commands import CONSTANT_TIME, TopicFeed, TopicInput
from cnoid_control.ros.sim.controllers import forward_controller


class ListSubscription:
    """Messages in a list instead of a topic."""

    def __init__(self):
        """Begin with nothing."""
        self.messages = []

    def take(self):
        """Return the oldest message."""
        return self.messages.pop(0) if self.messages else None


@pytest.fixture
def clock(monkeypatch):
    """Return the steady clock of the commands, as a list with one entry."""
    now = [100.0]
    monkeypatch.setattr(sim_commands.time, 'monotonic', lambda: now[0])
    return now


@pytest.fixture
def send():
    """Return the arm, a feed, and a function that puts a message into it."""
    body = Body(parse_urdf(ARM, 'arm', JointType.FIXED))
    feed = TopicFeed.__new__(TopicFeed)
    feed.subscription, feed.count = ListSubscription(), 0
    feed.decoder = JointStateDecoder(body.joint_names)

    def put(*effort, position=(0.0, 0.0)):
        message = JointState(name=['shoulder', 'elbow'], position=position, effort=effort)
        feed.subscription.messages.append(serialize_message(message))

    put.body, put.feed = body, feed
    return put


def make_input(send, interface='effort', **options):
    """Return the part of one controller."""
    controller = forward_controller(interface, interface, ['shoulder', 'elbow'])
    return TopicInput(send.feed, controller, send.body, **options)


def test_efforts_that_are_sent_again_are_no_answer(send, clock):
    """Only a changed command is new, until one has been the same for long."""
    source = make_input(send)
    send(1.0, 2.0)
    assert source.take() == 1
    assert source.time == clock[0]
    clock[0] += 0.01
    send(1.0, 2.0)
    assert source.take() == 0
    assert source.time == clock[0] - 0.01
    send(1.0, 2.5)
    assert source.take() == 1
    np.testing.assert_array_equal(source.values, [1.0, 2.5])
    clock[0] += CONSTANT_TIME
    send(1.0, 2.5)
    assert source.take() == 1


def test_positions_may_stay_the_same(send, clock):
    """A servo holds its target: every message is an answer, as all are where that is asked for."""
    for source in (make_input(send, 'position'), make_input(send, repetitions_count=True)):
        for _ in range(3):
            send(1.0, 2.0)
            assert source.take() > 0


def test_values_that_are_no_numbers_keep_the_last_command(send, clock):
    """Before a controller's first command there are such values; they are counted."""
    source = make_input(send)
    send(np.nan, np.nan)
    assert source.take() == 0
    assert not source.complete
    send(1.0, 2.0)
    send(np.nan, 3.0)
    assert source.take() == 0
    np.testing.assert_array_equal(source.values[1:], [3.0])
    assert source.refused == 2
