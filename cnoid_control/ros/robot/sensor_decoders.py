"""Sensor message decoding."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from cnoid_control.messages.cdr import FRAME_ID, STAMP, CdrCursor, aligned_copy, read_stamp
from cnoid_control.ros.exceptions import MalformedMessage


class SensorDecoder(abc.ABC):
    """Base of the decoders: where the numbers behind the header are, and when they were measured.

    Attributes:
        type_name: ROS type of the messages.
        stamp: stamp of the last good message [ns].
        problem: what was wrong with the last message; empty when it was good.
    """

    type_name = ''

    def __init__(self) -> None:
        """Know nothing of the messages yet."""
        self.stamp = 0
        self.problem = ''

    def decode(self, data: bytes) -> bool:
        """Take over the values of a message; False, with `problem` set, where it is not one."""
        try:
            self._decode(data)
        except (MalformedMessage, ValueError) as error:
            # numpy refuses some sizes that fit.
            self.problem = str(error) or type(error).__name__
            return False
        self.problem = ''
        return True

    @abc.abstractmethod
    def _decode(self, data: bytes) -> None:
        """Take over the values of a message.

        Raises:
            MalformedMessage: it is not one.
        """


class NumbersDecoder(SensorDecoder):
    """A header and a fixed number of doubles behind it.

    Attributes:
        size: number of doubles of a message.
        numbers: the doubles of the last good message, shape (size,).
    """

    size = 0

    def __init__(self) -> None:
        """Know nothing of the messages yet."""
        super().__init__()
        self.numbers = np.full(self.size, np.nan)
        # What the places were learnt from, and a copy of the message with the numbers in it.
        self._length = -1
        self._preamble = b''
        self._name_length = b''
        self._order = '<'
        self._copy = aligned_copy(b'')
        self._source = self.numbers

    def _decode(self, data: bytes) -> None:
        # With the same length, byte order and length of the frame's name all is where it was.
        if not (
            len(data) == self._length
            and data.startswith(self._preamble)
            and data.startswith(self._name_length, FRAME_ID)
        ):
            self._learn(data)
        self.stamp = read_stamp(data, self._order)
        self._copy[:] = data
        self.numbers[:] = self._source

    def _learn(self, data: bytes) -> None:
        self._length = -1
        cursor = CdrCursor(data)
        cursor.header()
        self._skip_names(cursor)
        begin = cursor.skip(self.size, 8)
        self._order = cursor.order
        self._copy = aligned_copy(data)
        self._source = np.frombuffer(self._copy, cursor.order + 'f8', self.size, begin)
        self._preamble, self._name_length = data[:STAMP], data[FRAME_ID : FRAME_ID + 4]
        self._length = len(data)

    def _skip_names(self, cursor: CdrCursor) -> None:
        """Pass what is between the header and the numbers."""


class ImuDecoder(NumbersDecoder):
    """sensor_msgs/Imu.

    Attributes:
        orientation: quaternion x, y, z, w; a view on `numbers`.
        angular_velocity: in the sensor's frame [rad/s].
        linear_acceleration: in the sensor's frame [m/s^2].
    """

    type_name = 'sensor_msgs/msg/Imu'
    # A quaternion and two vectors, each followed by a covariance of nine.
    size = 37

    def __init__(self) -> None:
        """Know nothing of the messages yet."""
        super().__init__()
        self.orientation = self.numbers[0:4]
        self.angular_velocity = self.numbers[13:16]
        self.linear_acceleration = self.numbers[25:28]

    @property
    def has_orientation(self) -> bool:
        """Whether the sensor estimates its orientation (covariance[0] is not -1)."""
        return bool(self.numbers[4] != -1.0)

    @property
    def has_angular_velocity(self) -> bool:
        """Whether the sensor measures angular velocity."""
        return bool(self.numbers[16] != -1.0)

    @property
    def has_linear_acceleration(self) -> bool:
        """Whether the sensor measures linear acceleration."""
        return bool(self.numbers[28] != -1.0)


class WrenchDecoder(NumbersDecoder):
    """geometry_msgs/WrenchStamped: `numbers` is force [N], then torque [N m]."""

    type_name = 'geometry_msgs/msg/WrenchStamped'
    size = 6


class OdometryDecoder(NumbersDecoder):
    """nav_msgs/Odometry.

    Attributes:
        position: in the header's frame [m]; a view on `numbers`.
        orientation: quaternion x, y, z, w.
        linear, angular: velocity in the axes of the child frame [m/s], [rad/s].
    """

    type_name = 'nav_msgs/msg/Odometry'
    # A pose of seven and a twist of six, each followed by a covariance of thirty-six.
    size = 85

    def __init__(self) -> None:
        """Know nothing of the messages yet."""
        super().__init__()
        self.position = self.numbers[0:3]
        self.orientation = self.numbers[3:7]
        self.linear = self.numbers[43:46]
        self.angular = self.numbers[46:49]

    def _skip_names(self, cursor: CdrCursor) -> None:
        cursor.string()


class RangeDecoder(SensorDecoder):
    """sensor_msgs/Range.

    Attributes:
        min_range, max_range: [m].
        range: [m].
    """

    type_name = 'sensor_msgs/msg/Range'

    def __init__(self) -> None:
        """Know nothing of the messages yet."""
        super().__init__()
        self.min_range = self.max_range = self.range = float('nan')

    def _decode(self, data: bytes) -> None:
        cursor = CdrCursor(data)
        stamp = cursor.header()
        cursor.byte()
        _, self.min_range, self.max_range, self.range = cursor.floats(4)
        self.stamp = stamp


class LaserScanDecoder(SensorDecoder):
    """sensor_msgs/LaserScan.

    Attributes:
        angle_min, angle_max, angle_increment: [rad].
        range_min, range_max: [m].
        ranges: [m], counter-clockwise from angle_min; a view on the message's bytes.
    """

    type_name = 'sensor_msgs/msg/LaserScan'

    def __init__(self) -> None:
        """Know nothing of the messages yet."""
        super().__init__()
        self.angle_min = self.angle_max = self.angle_increment = float('nan')
        self.range_min = self.range_max = float('nan')
        self.ranges = np.zeros(0, np.float32)

    def _decode(self, data: bytes) -> None:
        cursor = CdrCursor(data)
        stamp = cursor.header()
        numbers = cursor.floats(7)
        ranges = cursor.sequence('f4')
        self.angle_min, self.angle_max, self.angle_increment = numbers[:3]
        self.range_min, self.range_max = numbers[5:]
        self.ranges = ranges
        self.stamp = stamp


# Encodings of sensor_msgs/Image that can be read: channels, numpy type, and their order.
ENCODINGS: dict[str, tuple[int, str, tuple[int, ...]]] = {
    'rgb8': (3, 'u1', (0, 1, 2)),
    'bgr8': (3, 'u1', (2, 1, 0)),
    'rgba8': (4, 'u1', (0, 1, 2)),
    'bgra8': (4, 'u1', (2, 1, 0)),
    'mono8': (1, 'u1', (0,)),
    '8UC1': (1, 'u1', (0,)),
    '8UC3': (3, 'u1', (0, 1, 2)),
    'mono16': (1, 'u2', (0,)),
    '16UC1': (1, 'u2', (0,)),
    '32FC1': (1, 'f4', (0,)),
}
# sensor_msgs/PointField: datatype to numpy type.
POINT_TYPES = {1: 'i1', 2: 'u1', 3: 'i2', 4: 'u2', 5: 'i4', 6: 'u4', 7: 'f4', 8: 'f8'}


class ImageDecoder(SensorDecoder):
    """sensor_msgs/Image.

    Attributes:
        image: rows from the top, shape (height, width, 3) in red, green, blue order or
            (height, width).
    """

    type_name = 'sensor_msgs/msg/Image'

    def __init__(self) -> None:
        """Have no picture yet."""
        super().__init__()
        self.image = np.zeros((0, 0, 3), np.uint8)

    def _decode(self, data: bytes) -> None:
        cursor = CdrCursor(data)
        stamp = cursor.header()
        height, width = cursor.integer(), cursor.integer()
        encoding = cursor.string()
        order = '>' if cursor.byte() else '<'
        step = cursor.integer()
        pixels = cursor.sequence('u1')
        if encoding not in ENCODINGS:
            raise MalformedMessage(
                f'encoding {encoding!r} is not among {", ".join(sorted(ENCODINGS))}'
            )
        channels, kind, picked = ENCODINGS[encoding]
        dtype = np.dtype(order + kind)
        row = width * channels * dtype.itemsize
        if step < row or pixels.size < step * height:
            raise MalformedMessage(
                f'{pixels.size} bytes with step {step} for {width}x{height} {encoding}'
            )
        rows = np.ascontiguousarray(pixels[: step * height].reshape(height, step)[:, :row])
        image = rows.view(dtype).reshape(height, width, channels)
        self.image = image[:, :, 0] if channels == 1 else image[:, :, picked]
        self.stamp = stamp


class PointCloudDecoder(SensorDecoder):
    """sensor_msgs/PointCloud2.

    Attributes:
        points: x, y, z in the message's frame [m], shape (points, 3), rows first.
        width, height: of an organized cloud; height 1 for a list of points.
        is_dense: whether all points are finite.
    """

    type_name = 'sensor_msgs/msg/PointCloud2'

    def __init__(self) -> None:
        """Have no points yet."""
        super().__init__()
        self.points = np.zeros((0, 3), np.float32)
        self.width = self.height = 0
        self.is_dense = True

    def _decode(self, data: bytes) -> None:
        cursor = CdrCursor(data)
        stamp = cursor.header()
        height, width = cursor.integer(), cursor.integer()
        fields: dict[str, tuple[int, int]] = {}
        for _ in range(cursor.integer()):
            name, offset, kind = cursor.string(), cursor.integer(), cursor.byte()
            cursor.integer()
            fields[name] = (offset, kind)
        order = '>' if cursor.byte() else '<'
        point_step, row_step = cursor.integer(), cursor.integer()
        raw = cursor.sequence('u1')
        is_dense = bool(cursor.byte())
        if row_step < point_step * width or raw.size < row_step * height:
            raise MalformedMessage(
                f'{raw.size} bytes with row step {row_step} for {width}x{height} points'
            )
        points = np.zeros((0, 3), np.float32)
        if width * height:
            # The steps of no points may be anything.
            columns = _columns(fields, order, point_step)
            rows = raw[: row_step * height].reshape(height, row_step)[:, : point_step * width]
            table: Any = np.ascontiguousarray(rows).view(columns).reshape(-1)
            points = np.stack([table[axis] for axis in 'xyz'], axis=1).astype(np.float32)
        self.points = points
        self.width, self.height, self.is_dense = width, height, is_dense
        self.stamp = stamp


def _columns(fields: dict[str, tuple[int, int]], order: str, point_step: int) -> np.dtype:
    offsets, kinds = [], []
    for axis in 'xyz':
        offset, kind = fields.get(axis, (0, 0))
        if kind not in POINT_TYPES:
            raise MalformedMessage(f'no field {axis!r} among {", ".join(fields) or "none"}')
        kinds.append(order + POINT_TYPES[kind])
        offsets.append(offset)
        if offset + np.dtype(kinds[-1]).itemsize > point_step:
            raise MalformedMessage(f'field {axis!r} lies behind the point step {point_step}')
    return np.dtype(
        {'names': ['x', 'y', 'z'], 'formats': kinds, 'offsets': offsets, 'itemsize': point_step}
    )
