"""Logs hold what ROS 2 itself takes for these messages."""

import importlib
import io

import numpy as np
import pytest

from cnoid_control.log.reader import LogFile
from cnoid_control.messages import layouts
from cnoid_control.messages.definitions import DEFINITIONS
from cnoid_control.messages.layouts import stamps
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.recorder import Recorder

CPP_NAMES = {'double': 'float64', 'float': 'float32', 'boolean': 'bool', 'octet': 'byte'}


def message_type(name: str) -> type:
    """Class of a ROS type given as package/Type or package/msg/Type."""
    package, *_, kind = name.split('/')
    return getattr(importlib.import_module(f'{package}.msg'), kind)


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
        assert len(messages) == 20, topic
        last[topic] = messages[-1]
    body = loop.hardware.body
    assert last['joint_states'].header.stamp.nanosec == 19_000_000
    assert list(last['joint_states'].name) == body.joint_names
    np.testing.assert_array_equal(last['joint_states'].position, body.q)
    np.testing.assert_array_equal(last['commands'].effort, body.u)
    assert last['root'].pose.pose.position.z == body.root_link.p[2]
    assert last['WaistIMU'].linear_acceleration.z == body.devices[2].dv[2]
    assert last['LeftAnkleForceSensor'].header.frame_id == 'LeftAnkleForceSensor'


def test_pictures_points_and_scans_are_deserialized_by_ros():
    """The messages of changing size."""
    from rclpy.serialization import deserialize_message
    from sensor_msgs.msg import Image, LaserScan, PointCloud2

    stamp = {'stamp': stamps(np.array([1_500_000_000], dtype=np.uint64))}
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    rows = layouts.image('eye', pixels).encode(stamp | {'data': pixels.reshape(1, -1)}, 1)
    image = deserialize_message(rows[0].tobytes(), Image)
    assert (image.height, image.width, image.encoding, image.step) == (2, 4, 'rgb8', 12)
    assert bytes(image.data) == pixels.tobytes()
    points = np.arange(6, dtype='<f4').reshape(2, 3)
    values = stamp | {'data': points.view(np.uint8).reshape(1, -1)}
    rows = layouts.point_cloud('eye', 1, 2).encode(values, 1)
    cloud = deserialize_message(rows[0].tobytes(), PointCloud2)
    assert [(field.name, field.offset, field.datatype) for field in cloud.fields] == [
        ('x', 0, 7),
        ('y', 4, 7),
        ('z', 8, 7),
    ]
    assert bytes(cloud.data) == points.tobytes()
    values = stamp | {'scan': np.arange(7.0)[None], 'ranges': np.arange(3.0)[None]}
    rows = layouts.laser_scan('nose', 3).encode(values, 1)
    scan = deserialize_message(rows[0].tobytes(), LaserScan)
    assert (scan.angle_min, scan.range_max, list(scan.ranges)) == (0.0, 6.0, [0.0, 1.0, 2.0])
    assert (scan.header.stamp.sec, scan.header.stamp.nanosec) == (1, 500_000_000)
