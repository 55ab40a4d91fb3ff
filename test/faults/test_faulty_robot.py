"""The robot that corrupts its joint states: each fault is on the wire as its name says."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

pytest.importorskip('sensor_msgs.msg', reason='needs ROS 2')

from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from cnoid_control.faults.faulty_robot import BURST, FLOOD, CorruptingPublisher
from cnoid_control.messages.joint_state import JointStateDecoder

NAMES = ['a', 'b', 'c', 'd']


class Wire:
    """Keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def send(self, data: bytes) -> bool:
        """Keep it."""
        self.sent.append(data)
        return True


def state(stamp: int) -> bytes:
    """Message of a state with its stamp [ns]."""
    message = JointState(name=NAMES, position=[0.1, 0.2, 0.3, 0.4], velocity=[0.0] * 4)
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    return bytes(serialize_message(message))


def sent(fault: str, count: int) -> list[bytes]:
    """What is sent of so many states, 1 ms apart, with a fault."""
    wire = Wire()
    spoiler = CorruptingPublisher(wire)  # type: ignore[arg-type]
    spoiler.send(state(5 * 10**9))
    wire.sent.clear()
    spoiler.begin(fault)
    for tick in range(count):
        spoiler.send(state(5 * 10**9 + (tick + 1) * 10**6))
    return wire.sent


def decoded(data: bytes) -> JointStateDecoder:
    """Decoder that has seen a message."""
    decoder = JointStateDecoder(NAMES)
    decoder.decode(data)
    return decoder


@pytest.mark.parametrize(('fault', 'check'), [('nan', math.isnan), ('inf', math.isinf)])
def test_bursts_of_bad_numbers(fault: str, check) -> None:
    """One position is no number in a burst of messages; then all is well again."""
    messages = sent(fault, BURST + 2)
    assert [check(decoded(data).position[3]) for data in messages] == [True] * BURST + [False] * 2


def test_a_missing_joint() -> None:
    """The last joint is not there in a burst of messages."""
    messages = sent('missing', BURST + 1)
    assert decoded(messages[0]).missing == ('d',)
    assert decoded(messages[-1]).missing == ()


def test_truncated_messages() -> None:
    """Half of the bytes are gone in a burst of messages."""
    messages = sent('truncate', BURST + 1)
    assert decoded(messages[0]).problem
    assert not decoded(messages[-1]).problem


@pytest.mark.parametrize(('fault', 'seconds'), [('jump', 1), ('back', -1)])
def test_stamps_that_jump(fault: str, seconds: int) -> None:
    """All stamps are moved from some message on."""
    messages = sent(fault, 3)
    assert decoded(messages[0]).stamp == (5 + seconds) * 10**9 + 10**6
    assert decoded(messages[2]).stamp == (5 + seconds) * 10**9 + 3 * 10**6


def test_old_states_in_between() -> None:
    """Every third state is followed by an old one."""
    stamps = [decoded(data).stamp for data in sent('reorder', 6)]
    assert len(stamps) == 8
    assert sum(later < earlier for earlier, later in pairwise(stamps)) == 2


def test_rates() -> None:
    """Slow sends one in five hundred, a flood ten of each."""
    assert len(sent('slow', 1000)) == 2
    assert len(sent('flood', 5)) == 5 * FLOOD
    assert len(sent('', 5)) == 5
