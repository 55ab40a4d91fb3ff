"""Commands as bytes are the messages that rclpy would send."""

import numpy as np
import pytest

pytest.importorskip('std_msgs.msg', reason='needs ROS 2')

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from cnoid_control.messages.commands import ArrayEncoder, JointCommandEncoder, JointStateEncoder


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


def test_joint_commands_by_an_independent_reader():
    """The definition of control_msgs, read by mcap's own decoder: no release here has the type."""
    dynamic = pytest.importorskip('mcap_ros2._dynamic', reason='needs mcap-ros2-support')
    text = 'std_msgs/Header header\nstring[] joint_names\nstring interface_name\nfloat64[] values'
    text += f'\n{"=" * 80}\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id'
    text += f'\n{"=" * 80}\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec'
    decode = dynamic.generate_dynamic('control_msgs/msg/JointCommand', text)
    encoder = JointCommandEncoder(['hip', 'left_knee'], 'stiffness')
    for values in ([40.0, 0.0], [-1.5, 1e300]):
        message = decode['control_msgs/msg/JointCommand'](
            encoder.encode(np.array(values), 7_000_000_009)
        )
        assert list(message.joint_names) == ['hip', 'left_knee']
        assert message.interface_name == 'stiffness'
        assert list(message.values) == values
        assert (message.header.stamp.sec, message.header.stamp.nanosec) == (7, 9)
