"""Bytes on the wire that are cut, mutated or made up: read as they are meant, or refused."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
import pytest
from fake_hardware import two_joint_body
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip('sensor_msgs.msg', reason='needs ROS 2')

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Image, Imu, JointState, LaserScan, PointCloud2, PointField, Range
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

from cnoid_control.body.devices.base import Device
from cnoid_control.messages.devices import DEVICE_KINDS, DataMessage, NumbersMessage
from cnoid_control.messages.exceptions import MalformedMessage
from cnoid_control.messages.joint_state import find_layout
from cnoid_control.ros.message_types import read_message
from cnoid_control.ros.robot import device_readers
from cnoid_control.ros.robot.device_readers import DeviceReader, OdometryReader, TopicReader
from cnoid_control.ros.robot.joint_states import JointStateSource

NAMES = ['LLEG_HIP_P', 'KNEE', 'Größe']
# Counts and sizes that overflow, wrap or just miss.
WORDS = [0, 1, 2, 3, 4, 5, 7, 8, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 8, 2**32 - 1]
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just('byte'), st.floats(0.0, 1.0), st.integers(0, 255)),
        st.tuples(st.just('word'), st.floats(0.0, 1.0), st.sampled_from(WORDS)),
        st.tuples(st.just('cut'), st.floats(0.0, 1.0), st.just(0)),
        st.tuples(st.just('drop'), st.floats(0.0, 1.0), st.integers(1, 9)),
        st.tuples(st.just('insert'), st.floats(0.0, 1.0), st.integers(0, 255)),
        st.tuples(st.just('double'), st.floats(0.0, 1.0), st.integers(1, 40)),
    ),
    max_size=5,
)


def mutated(data: bytes, changes: list[tuple[str, float, int]]) -> bytes:
    """Bytes with changes."""
    found = bytearray(data)
    for kind, part, value in changes:
        place = int(part * len(found))
        if kind == 'byte' and place < len(found):
            found[place] = value
        elif kind == 'word':
            place -= place % 4
            found[place : place + 4] = value.to_bytes(4, 'little')
        elif kind == 'cut':
            del found[place:]
        elif kind == 'drop':
            del found[place : place + value]
        elif kind == 'insert':
            found.insert(place, value)
        elif kind == 'double':
            found[place:place] = found[place : place + value]
    return bytes(found)


class RawSubscription:
    """Messages to take."""

    lost = restarts = sent_at = 0

    def __init__(self, *messages: bytes) -> None:
        self.messages = deque(messages)

    def take(self) -> bytes | None:
        """Oldest one."""
        return self.messages.popleft() if self.messages else None


def joint_state(names: list[str], seconds: int = 5, values: int = 3) -> bytes:
    """Serialized joint state of some joints with the first arrays only."""
    message = JointState(name=names)
    message.header.stamp.sec = seconds
    message.header.frame_id = 'base'
    for field in ('position', 'velocity', 'effort')[:values]:
        setattr(message, field, [0.1 * i for i in range(len(names))])
    return bytes(serialize_message(message))


def same(mine: float, theirs: float) -> bool:
    """Whether two numbers are the same, also where they are none."""
    return mine == theirs or (math.isnan(mine) and math.isnan(theirs))


@given(
    changes=CHANGES,
    names=st.lists(st.sampled_from([*NAMES, 'x', '', 'HEAD']), max_size=6),
    values=st.integers(0, 3),
    known=st.booleans(),
)
def test_fuzz_joint_states(changes, names, values, known) -> None:
    """A state that is taken is what the typed message says, and knows where all joints are."""
    data = mutated(joint_state(names or NAMES, values=values), changes)
    good = joint_state(NAMES, 4)
    subscription = RawSubscription(good, data) if known else RawSubscription(data)
    reports: list[str] = []
    source = JointStateSource(subscription, NAMES, 0.001, 0.5, reports.append)  # type: ignore[arg-type]
    source.need(np.arange(len(NAMES)))
    if known:
        assert source.poll_one()
    if source.poll_one():
        assert np.isfinite(source.decoder.position).all()
        typed = read_message(data, JointState)
        if typed is not None:
            place = {name: i for i, name in reversed(list(enumerate(typed.name)))}
            for i, name in enumerate(NAMES):
                assert same(source.decoder.position[i], typed.position[place[name]])
                if typed.velocity:
                    assert same(source.decoder.velocity[i], typed.velocity[place[name]])
            stamp = typed.header.stamp
            assert source.stamp == stamp.sec * 10**9 + stamp.nanosec
    else:
        assert sum(source.counts.values()) == 1
    # Whatever came, the next good one is read.
    subscription.messages.append(joint_state(NAMES, 50))
    before = source.stamp
    assert source.poll_one() or before == 50 * 10**9
    np.testing.assert_allclose(source.decoder.position, [0.0, 0.1, 0.2])


def point_cloud() -> PointCloud2:
    """Cloud of two points."""
    fields = [PointField(name=n, offset=4 * i, datatype=7, count=1) for i, n in enumerate('xyz')]
    data = np.arange(6, dtype='<f4').tobytes()
    return PointCloud2(
        height=1, width=2, fields=fields, point_step=12, row_step=24, data=data, is_dense=True
    )


GOOD = {
    kind: bytes(serialize_message(message))
    for kind, message in (
        ('sensor_msgs/msg/Imu', Imu()),
        ('geometry_msgs/msg/WrenchStamped', WrenchStamped()),
        ('sensor_msgs/msg/Range', Range()),
        ('sensor_msgs/msg/LaserScan', LaserScan(ranges=[1.0, 2.0])),
        (
            'sensor_msgs/msg/Image',
            Image(height=1, width=2, encoding='mono8', step=2, data=[1, 2]),
        ),
        ('sensor_msgs/msg/PointCloud2', point_cloud()),
    )
}
FEEDS = [
    (kind.device_type, message)
    for kind in DEVICE_KINDS
    for messages in (kind.messages, *(stream.messages for stream in kind.more))
    for message in messages
]


class FakeNode:
    """What a reader asks a node for."""

    def resolve_topic_name(self, topic: str) -> str:
        """Take all names for full ones."""
        return topic


@pytest.fixture(scope='module', autouse=True)
def no_subscriptions():
    """Readers get their messages here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_readers, 'open_subscription', lambda *_: RawSubscription())
        yield


def read_good_after_bad(reader: TopicReader, good: bytes, bad: bytes, known: bool) -> None:
    """Poll a bad message, with or without a good one before, and a good one."""
    messages: deque[bytes] = reader._inbox.messages  # type: ignore[attr-defined]
    if known:
        messages.append(good)
        assert reader.poll()
        assert not reader.problem
    messages.append(bad)
    assert reader.poll()
    messages.append(good)
    assert reader.poll()
    assert not reader.problem, reader.problem


@given(which=st.sampled_from(FEEDS), changes=CHANGES, known=st.booleans())
def test_fuzz_sensors(
    which: tuple[type[Device], NumbersMessage | DataMessage], changes, known: bool
) -> None:
    """Every reader reads or refuses, with a reason, and reads the next good message."""
    kind, message = which
    good = GOOD[message.schema]
    devices = [(kind('sensor'), message)]
    reader = DeviceReader(FakeNode(), 'topic', devices, False, True, lambda *_: None)  # type: ignore[arg-type]
    read_good_after_bad(reader, good, mutated(good, changes), known)


@given(changes=CHANGES, known=st.booleans())
def test_fuzz_odometry(changes, known: bool) -> None:
    """The root's pose stays a pose."""
    message = Odometry(child_frame_id='waist')
    message.pose.pose.orientation.w = 1.0
    good = bytes(serialize_message(message))
    body = two_joint_body()
    reader = OdometryReader(FakeNode(), 'root', body, False, True)  # type: ignore[arg-type]
    read_good_after_bad(reader, good, mutated(good, changes), known)
    assert np.isfinite(body.root_link.T).all()


@given(changes=CHANGES, data=st.binary(max_size=120), made_up=st.booleans())
def test_fuzz_layouts(changes, data: bytes, made_up: bool) -> None:
    """Who looks at commands on the wire is not broken by them either."""
    try:
        layout = find_layout(data if made_up else mutated(joint_state(NAMES), changes))
    except MalformedMessage:
        return
    assert set(layout.arrays) <= {'position', 'velocity', 'effort'}


@given(changes=CHANGES, labels=st.integers(0, 2))
def test_fuzz_typed_messages(changes, labels: int) -> None:
    """Bytes that are no message are none."""
    layout = MultiArrayLayout(dim=[MultiArrayDimension(label='x', size=3)] * labels)
    good = bytes(serialize_message(Float64MultiArray(layout=layout, data=[1.0, 2.0, 3.0])))
    message = read_message(mutated(good, changes), Float64MultiArray)
    assert message is None or isinstance(message, Float64MultiArray)
