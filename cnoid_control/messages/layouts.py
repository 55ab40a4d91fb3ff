"""Byte layouts of the messages that are written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

HEADER = b'\x00\x01\x00\x00'  # CDR, little endian


@dataclass(frozen=True)
class Field:
    """Numbers in a message: offset [bytes], how many and of which type."""

    offset: int
    count: int
    dtype: np.dtype


class CdrLayout:
    """Layout of a message, put together field by field in the order of its definition.

    Attributes:
        schema: ROS type, `package/msg/Type`.
        fields: named fields that can be filled in.
    """

    def __init__(self, schema: str) -> None:
        """Begin a message."""
        self.schema = schema
        self.fields: dict[str, Field] = {}
        self._template = bytearray(HEADER)

    # --- putting it together ------------------------------------------------------------------

    def _align(self, size: int) -> None:
        # Alignment counts from the end of the encapsulation header.
        self._template.extend(b'\x00' * (-(len(self._template) - len(HEADER)) % size))

    def numbers(self, name: str, count: int = 1, dtype: str = '<f8', value: float = 0) -> None:
        """Append a number or an array of fixed size; without a name it is constant."""
        kind = np.dtype(dtype)
        # Nothing stands for an empty array, not even what would align it.
        if count:
            self._align(kind.itemsize)
        if name:
            self.fields[name] = Field(len(self._template), count, kind)
        self._template += np.full(count, value, kind).tobytes()

    def sequence(self, name: str, count: int, dtype: str = '<f8') -> None:
        """Append an array of variable size, which has this size here."""
        self.numbers('', dtype='<u4', value=count)
        self.numbers(name, count, dtype)

    def text(self, value: str) -> None:
        """Append a constant string."""
        encoded = value.encode() + b'\x00'
        self.numbers('', dtype='<u4', value=len(encoded))
        self._template += encoded

    def texts(self, values: list[str]) -> None:
        """Append a constant array of strings."""
        self.numbers('', dtype='<u4', value=len(values))
        for value in values:
            self.text(value)

    def header(self, frame: str) -> None:
        """Append a std_msgs/Header with the time left open."""
        self.numbers('stamp', 2, '<u4')
        self.text(frame)

    # --- using it -----------------------------------------------------------------------------

    @property
    def length(self) -> int:
        """Length of a message [bytes]."""
        return len(self._template)

    def encode(self, values: dict[str, np.ndarray], count: int) -> np.ndarray:
        """Serialize many messages.

        Args:
            values: for each field an array of shape (count, field size), or (count,) for one
                number; what is left out keeps its constant.
            count: number of messages.

        Returns:
            One message a row, shape (count, length), uint8.
        """
        rows = np.tile(np.frombuffer(bytes(self._template), dtype=np.uint8), (count, 1))
        for name, value in values.items():
            field = self.fields.get(name)
            if field is None or not field.count:
                continue
            numbers = np.ascontiguousarray(value, dtype=field.dtype).reshape(count, field.count)
            size = field.count * field.dtype.itemsize
            rows[:, field.offset : field.offset + size] = numbers.view(np.uint8)
        return rows

    def decode(self, rows: np.ndarray, name: str) -> np.ndarray:
        """Numbers of a field in many messages, shape (messages, field size).

        Args:
            rows: one message a row, shape (messages, length), uint8.
            name: name of the field.
        """
        field = self.fields[name]
        size = field.count * field.dtype.itemsize
        part = np.ascontiguousarray(rows[:, field.offset : field.offset + size])
        return part.view(field.dtype)


def stamps(nanoseconds: np.ndarray) -> np.ndarray:
    """Seconds and nanoseconds of `Header.stamp`, shape (n, 2), uint32."""
    return np.stack((nanoseconds // 10**9, nanoseconds % 10**9), axis=1).astype('<u4')


def to_nanoseconds(times: np.ndarray) -> np.ndarray:
    """Times [s] as whole nanoseconds, uint64."""
    return np.rint(np.maximum(times, 0.0) * 1e9).astype(np.uint64)


def decode_text(message: bytes) -> str:
    """Text of a std_msgs/String."""
    start = len(HEADER) + 4
    length = int.from_bytes(message[len(HEADER) : start], 'little')
    return message[start : start + length - 1].decode()


def joint_state(names: list[str], efforts: bool = True) -> CdrLayout:
    """sensor_msgs/JointState: position, velocity and, where wanted, effort of these joints."""
    layout = CdrLayout('sensor_msgs/msg/JointState')
    layout.header('')
    layout.texts(names)
    layout.sequence('position', len(names))
    layout.sequence('velocity', len(names))
    layout.sequence('effort', len(names) if efforts else 0)
    return layout


def odometry(frame: str, child_frame: str) -> CdrLayout:
    """nav_msgs/Odometry: pose (position, quaternion) and twist (in the child frame)."""
    layout = CdrLayout('nav_msgs/msg/Odometry')
    layout.header(frame)
    layout.text(child_frame)
    layout.numbers('pose', 7)
    layout.numbers('', 36)
    layout.numbers('twist', 6)
    layout.numbers('', 36)
    return layout


def numbers(count: int) -> CdrLayout:
    """std_msgs/Float64MultiArray: data of one size."""
    layout = CdrLayout('std_msgs/msg/Float64MultiArray')
    layout.numbers('', dtype='<u4')
    layout.numbers('', dtype='<u4')
    layout.sequence('data', count)
    return layout


def text(value: str) -> CdrLayout:
    """std_msgs/String: a constant text."""
    layout = CdrLayout('std_msgs/msg/String')
    layout.text(value)
    return layout


def vector(frame: str, name: str) -> CdrLayout:
    """geometry_msgs/Vector3Stamped: one vector."""
    layout = CdrLayout('geometry_msgs/msg/Vector3Stamped')
    layout.header(frame)
    layout.numbers(name, 3)
    return layout


def wrench(frame: str) -> CdrLayout:
    """geometry_msgs/WrenchStamped: force and torque."""
    layout = CdrLayout('geometry_msgs/msg/WrenchStamped')
    layout.header(frame)
    layout.numbers('F', 6)
    return layout


def imu(frame: str) -> CdrLayout:
    """sensor_msgs/Imu: angular velocity and acceleration; it knows no orientation."""
    layout = CdrLayout('sensor_msgs/msg/Imu')
    layout.header(frame)
    layout.numbers('', 4)
    layout.numbers('', 1, value=-1.0)  # stands for an orientation that is not measured
    layout.numbers('', 8)
    layout.numbers('w', 3)
    layout.numbers('', 9)
    layout.numbers('dv', 3)
    layout.numbers('', 9)
    return layout


def image(frame: str, pixels: np.ndarray) -> CdrLayout:
    """sensor_msgs/Image with the size of a picture of shape (height, width[, 3]), uint8."""
    height, width = pixels.shape[:2]
    layout = CdrLayout('sensor_msgs/msg/Image')
    layout.header(frame)
    layout.numbers('', dtype='<u4', value=height)
    layout.numbers('', dtype='<u4', value=width)
    layout.text('rgb8' if pixels.ndim == 3 else 'mono8')
    layout.numbers('', dtype='u1')
    layout.numbers('', dtype='<u4', value=pixels[:1].size)
    layout.sequence('data', pixels.size, 'u1')
    return layout


def point_cloud(frame: str, height: int, width: int) -> CdrLayout:
    """sensor_msgs/PointCloud2 of float32 x, y, z."""
    layout = CdrLayout('sensor_msgs/msg/PointCloud2')
    layout.header(frame)
    layout.numbers('', dtype='<u4', value=height)
    layout.numbers('', dtype='<u4', value=width)
    layout.numbers('', dtype='<u4', value=3)
    for index, name in enumerate('xyz'):
        layout.text(name)
        layout.numbers('', dtype='<u4', value=4 * index)
        layout.numbers('', dtype='u1', value=7)  # FLOAT32
        layout.numbers('', dtype='<u4', value=1)
    layout.numbers('', dtype='u1')
    layout.numbers('', dtype='<u4', value=12)
    layout.numbers('', dtype='<u4', value=12 * width)
    layout.sequence('data', 12 * height * width, 'u1')
    layout.numbers('', dtype='u1', value=0)
    return layout


def laser_scan(frame: str, count: int) -> CdrLayout:
    """sensor_msgs/LaserScan: angle_min, angle_max, angle_increment, ..., ranges."""
    layout = CdrLayout('sensor_msgs/msg/LaserScan')
    layout.header(frame)
    layout.numbers('scan', 7, '<f4')
    layout.sequence('ranges', count, '<f4')
    layout.sequence('', 0, '<f4')
    return layout
