"""Commands as bytes are the messages that rclpy would send."""

import numpy as np
import pytest

pytest.importorskip('std_msgs.msg', reason='needs ROS 2')

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from cnoid_control.messages.commands import ArrayEncoder, JointStateEncoder


@pytest.mark.parametrize('size', [0, 1, 29])
def test_an_array_reads_as_it_was_written(size):
    """The typed message has the values, and no layout."""
    values = np.arange(size) + 0.5
    message = deserialize_message(ArrayEncoder(size).encode(values), Float64MultiArray)
    assert message == Float64MultiArray(data=values)


@pytest.mark.parametrize(
    'fields', [('position',), ('effort',), ('position', 'velocity', 'effort')]
)
def test_joint_states_read_as_they_were_written(fields):
    """Names, stamp, frame and just the arrays that were asked for."""
    encoder = JointStateEncoder(['a', 'knee'], fields, 'base_link')
    for i, field in enumerate(fields):
        encoder.values[field][:] = [i + 0.5, -i]
    message = deserialize_message(encoder.encode(7_000_000_009), JointState)
    wanted = JointState(name=['a', 'knee'])
    wanted.header.stamp.sec, wanted.header.stamp.nanosec = 7, 9
    wanted.header.frame_id = 'base_link'
    for i, field in enumerate(fields):
        setattr(wanted, field, [i + 0.5, -i])
    assert message == wanted
