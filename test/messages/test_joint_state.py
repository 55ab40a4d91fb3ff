"""Joint states out of bytes: the values of the typed message, whatever the bytes are."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip('sensor_msgs.msg', reason='needs ROS 2')

from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from cnoid_control.messages.joint_state import JointStateDecoder

NAMES = ['WAIST', 'KNEE', 'ANKLE', 'Größe']
numbers = st.floats(allow_nan=True, allow_infinity=True, width=64)


def joint_state(names, position=(), velocity=(), effort=(), stamp=(0, 0), frame=''):
    """Return a message."""
    message = JointState(
        name=list(names), position=list(position), velocity=list(velocity), effort=list(effort)
    )
    message.header.stamp.sec, message.header.stamp.nanosec = stamp
    message.header.frame_id = frame
    return message


def expected(message, field):
    """Return a field's values of our joints, found by name in the typed message."""
    values = getattr(message, field)
    by_name = dict(zip(message.name, values, strict=True)) if len(values) else {}
    return [by_name.get(name, np.nan) for name in NAMES]


@given(
    names=st.lists(st.sampled_from([*NAMES, 'HEAD', 'x', '']), unique=True, max_size=7),
    fields=st.sets(st.sampled_from(['position', 'velocity', 'effort'])),
    frame=st.text(max_size=9).filter(lambda text: '\0' not in text),
    stamp=st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(0, 999_999_999)),
    data=st.data(),
)
@settings(max_examples=150, deadline=None)
def test_the_values_are_those_of_the_typed_message(names, fields, frame, stamp, data):
    """Any order, extra and missing joints, absent arrays: by name, as the typed message says."""
    message = joint_state(names, stamp=stamp, frame=frame)
    for field in fields:
        setattr(message, field, [data.draw(numbers) for _ in names])
    raw = serialize_message(message)
    typed = deserialize_message(raw, JointState)
    decoder = JointStateDecoder(NAMES)
    for _ in range(2):
        assert decoder.decode(raw)
        for field in ('position', 'velocity', 'effort'):
            np.testing.assert_array_equal(getattr(decoder, field), expected(typed, field))
    assert decoder.stamp == stamp[0] * 10**9 + stamp[1]
    assert set(decoder.missing) == set(NAMES) - set(names)
    assert decoder.has_velocity == ('velocity' in fields and len(names) > 0)
    assert decoder.learnt == 1


def test_places_are_learnt_again_when_the_names_or_the_sizes_change():
    """The same length with other names or other arrays does not give old places' numbers."""
    decoder = JointStateDecoder(['a', 'b'])
    assert decoder.decode(serialize_message(joint_state(['a', 'b'], [1, 2])))
    assert decoder.decode(serialize_message(joint_state(['a', 'b'], [3, 4])))
    assert decoder.learnt == 1
    assert decoder.decode(serialize_message(joint_state(['b', 'a'], [5, 6])))
    np.testing.assert_array_equal(decoder.position, [6, 5])
    assert decoder.decode(serialize_message(joint_state(['b', 'a'], [], [7, 8])))
    np.testing.assert_array_equal(decoder.position, [np.nan, np.nan])
    np.testing.assert_array_equal(decoder.velocity, [8, 7])
    assert decoder.learnt == 3


def test_filling_between_names_does_not_matter():
    """Bytes between the fields may differ from message to message: nothing is learnt anew."""
    raw = bytearray(serialize_message(joint_state(['a', 'b'], [1, 2])))
    decoder = JointStateDecoder(['a', 'b'])
    assert decoder.decode(bytes(raw))
    # frame_id: length 1 at 12, its end mark at 16, filling at 17 to 19.
    raw[17:20] = b'\xaa\xbb\xcc'
    assert decoder.decode(bytes(raw))
    np.testing.assert_array_equal(decoder.position, [1, 2])
    assert decoder.learnt == 1


def test_the_first_of_two_joints_of_one_name_counts():
    """A name that comes twice has its first value."""
    decoder = JointStateDecoder(['a'])
    assert decoder.decode(serialize_message(joint_state(['a', 'a'], [1, 2])))
    assert decoder.position[0] == 1


def test_big_endian_is_read():
    """A message of a big-endian machine has the same values."""
    raw = struct.pack('>BBHiII4xI', 0, 0, 0, 5, 6, 1, 1) + struct.pack('>I2s2x', 2, b'a\0')
    raw += struct.pack('>Id', 1, 2.5) if (len(raw) - 4) % 8 == 4 else struct.pack('>I4xd', 1, 2.5)
    raw += struct.pack('>II', 0, 0)
    decoder = JointStateDecoder(['a'])
    assert decoder.decode(raw), decoder.problem
    assert decoder.position[0] == 2.5
    assert decoder.stamp == 5_000_000_006


def test_a_wrong_size_is_refused_with_its_numbers():
    """An array that has not one value for each name is named."""
    decoder = JointStateDecoder(['a', 'b'])
    assert not decoder.decode(serialize_message(joint_state(['a', 'b'], [1, 2], [1])))
    assert decoder.problem == 'velocity has 1 values for 2 names'
    assert decoder.decode(serialize_message(joint_state(['a', 'b'], [1, 2])))
    assert decoder.problem == ''


GOOD = serialize_message(joint_state(NAMES, [1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]))


@given(
    cut=st.integers(0, len(GOOD)),
    changes=st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), max_size=6),
    tail=st.binary(max_size=8),
)
@settings(max_examples=400, deadline=None)
def test_no_bytes_break_it(cut, changes, tail):
    """Truncated and mutated bytes are read or refused, and a good message then reads well."""
    decoder = JointStateDecoder(NAMES)
    for first in (True, False):
        mutated = bytearray(GOOD)
        for place, value in changes:
            mutated[place] = value
        bad = bytes(mutated[:cut]) + tail
        assert decoder.decode(bad) or decoder.problem
        if first:
            assert decoder.decode(GOOD)
    assert decoder.decode(GOOD)
    np.testing.assert_array_equal(decoder.position, [1, 2, 3, 4])
    np.testing.assert_array_equal(decoder.effort, [9, 10, 11, 12])


@given(data=st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_random_bytes_are_refused_or_read(data):
    """Whatever comes, nothing is raised."""
    decoder = JointStateDecoder(NAMES)
    decoder.decode(data)
    decoder.decode(b'\x00\x01\x00\x00' + data)


def test_a_name_without_an_end_is_no_name():
    """Texts end with a zero: the typed message reads another name there."""
    decoder = JointStateDecoder(NAMES)
    good = serialize_message(joint_state(NAMES, [1.0, 2.0, 3.0, 4.0]))
    assert not decoder.decode(good.replace(b'KNEE\0', b'KNEE\1'))
    assert 'without an end' in decoder.problem
    assert decoder.decode(good)
