"""Sensor values out of bytes: the values of the typed messages, whatever the bytes are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip('sensor_msgs.msg', reason='needs ROS 2')

from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Image, Imu, LaserScan, PointCloud2, PointField, Range

from cnoid_control.ros.robot.sensor_decoders import (
    ImageDecoder,
    ImuDecoder,
    LaserScanDecoder,
    PointCloudDecoder,
    RangeDecoder,
    WrenchDecoder,
)

rng = np.random.default_rng(3)


def stamped(message, frame='imu_link'):
    """Give the message a stamp of 3.000000004 s and a frame."""
    message.header.stamp.sec, message.header.stamp.nanosec = 3, 4
    message.header.frame_id = frame
    return message


def imu():
    """Return an Imu message with all numbers different."""
    message = stamped(Imu())
    for name, axes in (
        ('orientation', 'xyzw'),
        ('angular_velocity', 'xyz'),
        ('linear_acceleration', 'xyz'),
    ):
        for axis in axes:
            setattr(getattr(message, name), axis, rng.normal())
        setattr(message, f'{name}_covariance', rng.normal(size=9))
    return message


def cloud():
    """Return an organized 2 x 3 cloud with a gap in the rows."""
    points = rng.normal(size=(2, 3, 3)).astype('<f4')
    table = np.zeros((2, 3), np.dtype([('x', '<f4'), ('pad', 'u1'), ('z', '<f4'), ('y', '<f4')]))
    for i, axis in enumerate('xyz'):
        table[axis] = points[:, :, i]
    rows = np.concatenate([table.view('u1').reshape(2, -1), np.zeros((2, 5), 'u1')], axis=1)
    fields = [
        PointField(name=axis, offset=table.dtype.fields[axis][1], datatype=7, count=1)
        for axis in 'xyz'
    ]
    message = PointCloud2(height=2, width=3, fields=fields, point_step=table.itemsize)
    message.row_step = rows.shape[1]
    message.data = rows.tobytes()
    message.is_dense = True
    return stamped(message), points.reshape(-1, 3)


def test_imu_has_the_typed_values():
    """Quaternion, rate and acceleration, and the frame may change its name."""
    decoder = ImuDecoder()
    for frame in ('imu_link', 'imu', '', 'another_link', 'another_link'):
        message = imu()
        message.header.frame_id = frame
        assert decoder.decode(serialize_message(message))
        for name in ('orientation', 'angular_velocity', 'linear_acceleration'):
            typed = getattr(message, name)
            axes = 'xyzw' if name == 'orientation' else 'xyz'
            np.testing.assert_array_equal(
                getattr(decoder, name), [getattr(typed, axis) for axis in axes]
            )
    assert decoder.stamp == 3_000_000_004


def test_imu_says_what_it_does_not_measure():
    """A covariance that begins with -1 means that there is no such value."""
    message = imu()
    message.orientation_covariance[0] = -1.0
    decoder = ImuDecoder()
    assert decoder.decode(serialize_message(message))
    assert not decoder.has_orientation
    assert decoder.has_angular_velocity
    assert decoder.has_linear_acceleration


def test_wrench_has_the_typed_values():
    """Force first, then torque."""
    message = stamped(WrenchStamped(), 'RLEG_ANKLE_R')
    for i, axis in enumerate('xyz'):
        setattr(message.wrench.force, axis, i + 1.0)
        setattr(message.wrench.torque, axis, i + 4.0)
    decoder = WrenchDecoder()
    assert decoder.decode(serialize_message(message))
    np.testing.assert_array_equal(decoder.numbers, [1, 2, 3, 4, 5, 6])


def test_range_has_the_typed_values():
    """Measured distance and its bounds."""
    message = stamped(Range(min_range=0.25, max_range=4.0, range=1.5, radiation_type=1), 'r')
    decoder = RangeDecoder()
    assert decoder.decode(serialize_message(message))
    assert (decoder.min_range, decoder.max_range, decoder.range) == (0.25, 4.0, 1.5)


def test_laser_scan_has_the_typed_values():
    """Angles, bounds and all ranges, infinite ones included."""
    message = stamped(
        LaserScan(
            angle_min=-0.5,
            angle_max=0.5,
            angle_increment=0.5,
            range_min=0.25,
            range_max=8.0,
            ranges=[1.0, float('inf'), 2.5],
            intensities=[3.0],
        )
    )
    decoder = LaserScanDecoder()
    assert decoder.decode(serialize_message(message))
    np.testing.assert_array_equal(decoder.ranges, [1.0, np.inf, 2.5])
    assert (decoder.angle_min, decoder.angle_max, decoder.angle_increment) == (-0.5, 0.5, 0.5)
    assert (decoder.range_min, decoder.range_max) == (0.25, 8.0)


@pytest.mark.parametrize('encoding', ['rgb8', 'bgr8', 'rgba8', 'mono8', '32FC1', '16UC1'])
def test_images_become_arrays(encoding):
    """Rows from the top, red first, whatever the encoding and the step."""
    channels = {'rgb8': 3, 'bgr8': 3, 'rgba8': 4}.get(encoding, 1)
    dtype = {'32FC1': '<f4', '16UC1': '<u2'}.get(encoding, 'u1')
    pixels = rng.integers(0, 200, (2, 3, channels)).astype(dtype)
    rows = np.concatenate([pixels.view('u1').reshape(2, -1), np.zeros((2, 3), 'u1')], axis=1)
    message = Image(height=2, width=3, encoding=encoding, step=rows.shape[1])
    message.data = rows.tobytes()
    decoder = ImageDecoder()
    assert decoder.decode(serialize_message(stamped(message))), decoder.problem
    if channels == 1:
        wanted = pixels[:, :, 0]
    else:
        wanted = pixels[:, :, [2, 1, 0]] if encoding == 'bgr8' else pixels[:, :, :3]
    np.testing.assert_array_equal(decoder.image, wanted)


def test_an_unknown_encoding_is_named():
    """An encoding that cannot be read is refused by name."""
    decoder = ImageDecoder()
    assert not decoder.decode(serialize_message(Image(encoding='bayer_rggb8')))
    assert "'bayer_rggb8'" in decoder.problem


def test_point_clouds_become_arrays():
    """Points by the names of the fields, rows that have filling at their end."""
    message, points = cloud()
    decoder = PointCloudDecoder()
    assert decoder.decode(serialize_message(message)), decoder.problem
    np.testing.assert_array_equal(decoder.points, points)
    assert (decoder.width, decoder.height, decoder.is_dense) == (3, 2, True)


SAMPLES = [
    (ImuDecoder, serialize_message(imu())),
    (WrenchDecoder, serialize_message(stamped(WrenchStamped()))),
    (RangeDecoder, serialize_message(stamped(Range()))),
    (LaserScanDecoder, serialize_message(stamped(LaserScan(ranges=[1.0, 2.0])))),
    (
        ImageDecoder,
        serialize_message(
            stamped(Image(height=1, width=2, encoding='mono8', step=2, data=[1, 2]))
        ),
    ),
    (PointCloudDecoder, serialize_message(cloud()[0])),
]


@given(
    which=st.sampled_from(range(len(SAMPLES))),
    cut=st.floats(0.0, 1.0),
    changes=st.lists(st.tuples(st.floats(0.0, 1.0), st.integers(0, 255)), max_size=6),
)
@settings(max_examples=400, deadline=None)
def test_no_bytes_break_a_decoder(which, cut, changes):
    """Truncated and mutated bytes are read or refused, and nothing is raised."""
    kind, good = SAMPLES[which]
    decoder = kind()
    mutated = bytearray(good)
    for place, value in changes:
        mutated[int(place * (len(good) - 1))] = value
    assert decoder.decode(good), decoder.problem
    assert decoder.decode(bytes(mutated)[: int(cut * len(good))]) or decoder.problem
    assert decoder.decode(good), decoder.problem


@pytest.mark.parametrize('point_step', [0, 12, 2**31, 2**32 - 1])
def test_a_cloud_without_points_has_none(point_step):
    """Whatever its steps are; they mean nothing then."""
    message, _ = cloud()
    message.width = message.height = 0
    message.data = []
    message.point_step, message.row_step = point_step, 0
    decoder = PointCloudDecoder()
    assert decoder.decode(serialize_message(message)), decoder.problem
    assert decoder.points.shape == (0, 3)
