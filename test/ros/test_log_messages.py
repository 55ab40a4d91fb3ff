"""Logs hold what ROS 2 itself takes for these messages."""

import importlib
import io

import numpy as np
import pytest

from cnoid_control.log.reader import LogFile
from cnoid_control.messages.definitions import DEFINITIONS
from cnoid_control.messages.layouts import MessageLayout
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.recorder import Recorder

CPP_NAMES = {'double': 'float64', 'float': 'float32', 'boolean': 'bool', 'octet': 'byte'}


def message_type(name: str) -> type:
    """Class of a ROS type given as package/Type or package/msg/Type."""
    package, *_, kind = name.split('/')
    messages = importlib.import_module(f'{package}.msg')
    if not hasattr(messages, kind):
        pytest.skip(f'the {package} that is installed has no {kind}')
    return getattr(messages, kind)


def ros_fields(kind: type) -> dict[str, str]:
    """Fields of a message class, with the types as message definitions write them."""
    fields = {}
    for name, text in kind.get_fields_and_field_types().items():
        array = ''
        if text.startswith('sequence<'):
            text, array = text[len('sequence<') : -1], '[]'
        elif '[' in text:
            text, array = text[: text.index('[')], text[text.index('[') :]
        fields[name] = CPP_NAMES.get(text, text) + array
    return fields


@pytest.mark.parametrize('name', DEFINITIONS)
def test_definitions_are_those_of_ros(name):
    """The same fields of the same types in the same order."""
    ours = [line.split() for line in DEFINITIONS[name].splitlines()]
    assert [(field, kind) for kind, field in ours] == list(ros_fields(message_type(name)).items())


def test_recorded_run_is_deserialized_by_ros(tmp_path):
    """Every message of every topic; numbers are those of the log."""
    from rclpy.serialization import deserialize_message

    loop = make_loop(load_config('sr1_pd'), os=io.StringIO())
    loop.recorder = Recorder(tmp_path / 'x.mcap', loop.hardware.body)
    loop.observed |= {'LeftAnkleForceSensor', 'WaistIMU', 'WaistGyro', 'WaistAccelSensor'}
    loop.run(0.02)
    log = LogFile(tmp_path / 'x.mcap')
    last = {}
    for topic in log.topics:
        kind = message_type(log.schema(topic))
        messages = [deserialize_message(data, kind) for data in log.messages(topic)]
        # Frames of links come at a rate of their own, the description once.
        count = 1 if topic in ('tf', 'robot_description') else 20
        assert len(messages) == count, topic
        last[topic] = messages[-1]
    body = loop.hardware.body
    assert last['joint_states'].header.stamp.nanosec == 19_000_000
    assert list(last['joint_states'].name) == body.joint_names
    np.testing.assert_array_equal(last['joint_states'].position, body.q)
    np.testing.assert_array_equal(last['commands'].effort, body.u)
    assert last['root'].pose.pose.position.z == body.root_link.p[2]
    assert last['WaistIMU'].linear_acceleration.z == body.devices[2].dv[2]
    assert last['LeftAnkleForceSensor'].header.frame_id in {
        transform.child_frame_id for transform in last['tf'].transforms
    }
    assert '<robot' in last['robot_description'].data


@pytest.mark.parametrize(
    ('schema', 'values'),
    [
        ('sensor_msgs/msg/JointState', {'name': ['a', 'Größe'], 'effort': [1.0, 2.0]}),
        ('trajectory_msgs/msg/JointTrajectory', {'points': [{}, {'effort': [3.0]}]}),
        ('tf2_msgs/msg/TFMessage', {'transforms': [{'header.frame_id': 'abc'}, {}]}),
        ('sensor_msgs/msg/PointCloud2', {'fields': [{'name': 'x', 'count': 1}], 'data': [5]}),
        ('sensor_msgs/msg/Image', {'encoding': 'rgb8', 'data': range(7)}),
        ('sensor_msgs/msg/Range', {'range': 1.5}),
        ('rosgraph_msgs/msg/Clock', {'clock': [1, 2]}),
        ('nav_msgs/msg/Odometry', {'child_frame_id': 'waist', 'pose.pose': range(7)}),
    ],
)
def test_layouts_serialize_as_ros_does(schema, values):
    """Bytes that rclpy reads and writes again, to the byte but for the filling."""
    from rclpy.serialization import deserialize_message, serialize_message

    layout = MessageLayout(schema, values)
    data = layout.template
    again = bytearray(serialize_message(deserialize_message(data, message_type(schema))))
    again[:4] = data[:4]
    for begin, end in layout.places.gaps:
        again[begin:end] = bytes(end - begin)
    assert bytes(again[: len(data)]) == data


def test_a_layout_refuses_fields_that_a_message_does_not_have():
    """The error names the field and those that there are."""
    with pytest.raises(KeyError, match=r"'F'.*choose from: header.stamp, wrench.force.x"):
        MessageLayout('geometry_msgs/msg/WrenchStamped', {'F': 1.0})
