"""The table of device kinds: values of the typed messages, from their bytes."""

import numpy as np
import pytest

pytest.importorskip('sensor_msgs.msg', reason='needs ROS 2')

from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Image, Imu, LaserScan, PointCloud2, PointField, Range

from cnoid_control.body.devices import (
    AccelerationSensor,
    Camera,
    ForceSensor,
    OpticalFrame,
    RangeCamera,
    RangeSensor,
)
from cnoid_control.body.devices import Imu as ImuDevice
from cnoid_control.body.devices.base import Device
from cnoid_control.log.device_messages import MeasurementCodec
from cnoid_control.messages import devices
from cnoid_control.messages.cdr import MessagePlaces, parse_message, read_stamp
from cnoid_control.messages.devices import (
    DEVICE_KINDS,
    GRID,
    IMAGE,
    POINTS,
    VECTOR,
    DeviceKind,
    MeasuredField,
    NumbersMessage,
    default_topic,
    kind_of,
)
from cnoid_control.messages.exceptions import MalformedMessage
from cnoid_control.messages.layouts import StampedNumbers
from cnoid_control.messages.vision import decode_image, decode_points
from cnoid_control.ros.message_types import typed_decoder
from cnoid_control.ros.robot.device_readers import message_decoder

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


def read(device, message, index=0):
    """Read a message into a device by the table, from its bytes."""
    entry = kind_of(device).messages[index]
    return entry.read(device, message_decoder(entry)(serialize_message(message)))


def test_imu_has_the_typed_values():
    """Quaternion, rate and acceleration, and the frame may change its name."""
    numbers = StampedNumbers('sensor_msgs/msg/Imu')
    for frame in ('imu_link', 'imu', '', 'another_link', 'another_link'):
        message = imu()
        message.header.frame_id = frame
        numbers.decode(serialize_message(message))
        for name in ('orientation', 'angular_velocity', 'linear_acceleration'):
            typed = getattr(message, name)
            axes = 'xyzw' if name == 'orientation' else 'xyz'
            np.testing.assert_array_equal(numbers[name], [getattr(typed, axis) for axis in axes])
    assert numbers.stamp == 3_000_000_004


@pytest.mark.parametrize('field', ['angular_velocity', 'linear_acceleration'])
def test_an_imu_that_lacks_a_value_is_refused(field):
    """A covariance that begins with -1 means that there is no such value."""
    message = imu()
    assert read(ImuDevice('imu'), message)
    getattr(message, f'{field}_covariance')[0] = -1.0
    assert not read(ImuDevice('imu'), message)
    assert read(AccelerationSensor('imu'), message) is (field == 'angular_velocity')


def test_non_finite_measurements_are_refused():
    """An infinite force is no measurement."""
    message = stamped(WrenchStamped())
    message.wrench.force.x = float('inf')
    assert not read(ForceSensor('foot'), message)


def test_wrench_has_the_typed_values():
    """Force first, then torque."""
    message = stamped(WrenchStamped(), 'RLEG_ANKLE_R')
    for i, axis in enumerate('xyz'):
        setattr(message.wrench.force, axis, i + 1.0)
        setattr(message.wrench.torque, axis, i + 4.0)
    device = ForceSensor('foot')
    assert read(device, message)
    np.testing.assert_array_equal(device.F, [1, 2, 3, 4, 5, 6])


@pytest.mark.parametrize(('distance', 'wanted'), [(1.5, 1.5), (4.5, np.inf), (np.nan, np.inf)])
def test_range_has_the_typed_value(distance, wanted):
    """Infinite beyond the sensor's range."""
    message = stamped(Range(min_range=0.25, max_range=4.0, range=distance, radiation_type=1), 'r')
    device = RangeSensor('nose')
    assert read(device, message, 1)
    np.testing.assert_array_equal(device.range_data, [wanted])


def test_laser_scan_has_the_typed_values():
    """All ranges, infinite beyond the scanner's range."""
    message = stamped(LaserScan(range_max=8.0, ranges=[1.0, float('inf'), 2.5, 9.0]))
    device = RangeSensor('nose')
    assert read(device, message)
    np.testing.assert_array_equal(device.range_data, [1.0, np.inf, 2.5, np.inf])


@pytest.mark.parametrize('encoding', ['rgb8', 'bgr8', 'rgba8', 'mono8', '32FC1', '16UC1'])
def test_images_become_arrays(encoding):
    """Rows from the top, red first, whatever the encoding and the step."""
    channels = {'rgb8': 3, 'bgr8': 3, 'rgba8': 4}.get(encoding, 1)
    dtype = {'32FC1': '<f4', '16UC1': '<u2'}.get(encoding, 'u1')
    pixels = rng.integers(0, 200, (2, 3, channels)).astype(dtype)
    rows = np.concatenate([pixels.view('u1').reshape(2, -1), np.zeros((2, 3), 'u1')], axis=1)
    message = Image(height=2, width=3, encoding=encoding, step=rows.shape[1])
    message.data = rows.tobytes()
    device = Camera('eye')
    assert read(device, stamped(message))
    if channels == 1:
        wanted = pixels[:, :, 0]
    else:
        wanted = pixels[:, :, [2, 1, 0]] if encoding == 'bgr8' else pixels[:, :, :3]
    np.testing.assert_array_equal(device.image, wanted)


def test_an_unknown_encoding_is_named():
    """An encoding that cannot be read is refused by name."""
    with pytest.raises(MalformedMessage, match="'bayer_rggb8' is not among 16UC1"):
        decode_image(Image(encoding='bayer_rggb8'))


def test_point_clouds_become_arrays():
    """Points by the names of the fields, rows that have filling at their end."""
    message, points = cloud()
    device = RangeCamera('eye')
    assert read(device, message)
    np.testing.assert_array_equal(device.points, points)


@pytest.mark.parametrize('point_step', [0, 12, 2**31, 2**32 - 1])
def test_a_cloud_without_points_has_none(point_step):
    """Whatever its steps are; they mean nothing then."""
    message, _ = cloud()
    message.width = message.height = 0
    message.data = []
    message.point_step, message.row_step = point_step, 0
    assert decode_points(message).shape == (0, 3)


def test_messages_are_parsed_without_ros():
    """The parsed message has the values of the typed one, so that one function reads both."""
    message, points = cloud()
    data = serialize_message(message)
    parsed = parse_message(POINTS.schema, data)
    assert [field.name for field in parsed.fields] == ['x', 'y', 'z']
    assert (parsed.header.frame_id, parsed.header.stamp.tolist()) == ('imu_link', [3, 4])
    np.testing.assert_array_equal(decode_points(parsed), points)
    assert read_stamp(data) == 3_000_000_004
    image = stamped(Image(height=1, width=2, encoding='mono8', step=2, data=[1, 2]))
    parsed = parse_message(IMAGE.schema, serialize_message(image))
    np.testing.assert_array_equal(decode_image(parsed), [[1, 2]])


@pytest.mark.parametrize('kind', DEVICE_KINDS, ids=lambda kind: kind.device_type.__name__)
def test_every_kind_is_complete(kind):
    """It has a topic, a message that can be published and a log that holds all it measures."""
    device = kind.device_type('sensor')
    if not kind.applies(device):
        device = RangeSensor('sensor', pitch_range=1.0, pitch_step=0.5)
    assert kind_of(device) is kind
    assert default_topic(device)
    assert '{' not in default_topic(device)
    published = kind.messages[0]
    assert getattr(published, 'encode', published.read) is not None
    held = {field.attribute for entry in kind.log for field in getattr(entry, 'fields', ())}
    held |= {entry.attribute for entry in kind.log if getattr(entry, 'decode', None)}
    assert held == {*device.measured_fields, *device.data_fields}


def test_sizes_beyond_the_end_are_refused_before_anything_is_allocated():
    """A sequence that claims four thousand million numbers."""
    data = bytearray(serialize_message(LaserScan(ranges=[1.0])))
    at = MessagePlaces('sensor_msgs/msg/LaserScan', bytes(data)).counts['ranges']
    data[at : at + 4] = b'\xff' * 4
    with pytest.raises(MalformedMessage, match='bytes where'):
        typed_decoder('sensor_msgs/msg/LaserScan')(bytes(data))


class Thermometer(Device):
    """A kind of device that the table does not have."""

    measured_fields = ('temperatures',)
    state_fields = (*Device.state_fields, *measured_fields)

    def __init__(self, name):
        """Read zero at three places."""
        super().__init__(name)
        self.temperatures = np.zeros(3)


def test_a_row_in_the_table_is_all_that_messages_need(monkeypatch):
    """A device of a new kind is written, read and recorded by its row."""
    device = Thermometer('stove')
    times = np.array([5_000_000_006], np.uint64)
    rows = np.array([[1.0, 2.0, 3.0]])
    assert kind_of(device) is None
    unknown = MeasurementCodec(device)
    assert unknown.layout.schema == 'std_msgs/msg/Float64MultiArray'
    np.testing.assert_array_equal(unknown.decode(unknown.encode(rows, times)), rows)
    message = NumbersMessage(VECTOR, (MeasuredField('temperatures', 'vector'),), {})
    kind = DeviceKind(Thermometer, '{name}/heat', (message,), (message,))
    monkeypatch.setattr(devices, 'DEVICE_KINDS', (*DEVICE_KINDS, kind))
    assert default_topic(device) == 'stove/heat'
    codec = MeasurementCodec(device)
    assert codec.layout.schema == VECTOR
    recorded = codec.encode(rows, times)
    np.testing.assert_array_equal(codec.decode(recorded), rows)
    assert read_stamp(recorded[0].tobytes()) == times[0]
    assert message.read(device, message_decoder(message)(recorded[0].tobytes()))
    np.testing.assert_array_equal(device.temperatures, rows[0])


@pytest.mark.parametrize('optical_frame', list(OpticalFrame))
def test_a_cloud_fills_the_grid_of_a_range_sensor(optical_frame):
    """All rows arrive, in whatever order the points come and wherever the sensor's axes point."""
    sensor = RangeSensor(
        'lidar',
        yaw_range=1.5,
        yaw_step=0.3,
        pitch_range=0.6,
        pitch_step=0.2,
        optical_frame=optical_frame,
    )
    assert kind_of(sensor).messages[0] is GRID
    ranges = rng.uniform(0.5, 9.0, 4 * 6)
    ranges[[3, 17]] = np.inf
    message = deserialize_message(GRID.layout(sensor, 'lidar', ranges).template, PointCloud2)
    assert (message.height, message.width) == (4, 6)
    twin = sensor.clone()
    assert GRID.read(twin, message)
    np.testing.assert_allclose(twin.range_data, ranges, rtol=1e-6)
    # A driver that leaves gaps out, and sends its points in another order and some twice.
    points = decode_points(message)
    points = points[np.isfinite(points).all(axis=1)]
    points = np.concatenate([points[::-1], 1.5 * points, [[np.nan, 0, 0], -5 * points[0]]])
    fields = [PointField(name=a, offset=4 * i, datatype=7, count=1) for i, a in enumerate('xyz')]
    flat = PointCloud2(height=1, width=len(points), fields=fields, point_step=12)
    flat.row_step = 12 * len(points)
    flat.data = points.astype('<f4').tobytes()
    assert GRID.read(twin, flat)
    np.testing.assert_allclose(twin.range_data, ranges, rtol=1e-6)
