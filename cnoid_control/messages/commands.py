"""Command encoding."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message

from cnoid_control.messages.cdr import NANOSECONDS, STAMP, STAMP_FIELDS, CdrCursor, aligned_copy
from cnoid_control.messages.joint_state import find_layout


class ArrayEncoder:
    """std_msgs/Float64MultiArray messages of one size: a fixed head, and the numbers behind it."""

    def __init__(self, size: int) -> None:
        """Cut the head out of a message of that size."""
        from rclpy.serialization import serialize_message
        from std_msgs.msg import Float64MultiArray

        whole = serialize_message(Float64MultiArray(data=[0.0] * size))
        self._head = whole[: len(whole) - 8 * size]

    def encode(self, values: np.ndarray) -> bytes:
        """Bytes of the message with these values, shape (size,), float64."""
        return self._head + values.tobytes()


class JointStateEncoder:
    """sensor_msgs/JointState messages with fixed names and a chosen set of arrays.

    Attributes:
        values: the arrays to fill before `encode`, by field, shape (joints,).
    """

    def __init__(self, names: Sequence[str], fields: Sequence[str], frame_id: str = '') -> None:
        """Prepare the message and find where stamp and numbers go.

        Args:
            names: joints, in the order of the values.
            fields: the arrays that are sent, of 'position', 'velocity', 'effort'.
            frame_id: frame of the header.
        """
        from rclpy.serialization import serialize_message
        from sensor_msgs.msg import JointState

        message: Any = JointState(name=list(names))
        message.header.frame_id = frame_id
        for field in fields:
            setattr(message, field, [0.0] * len(names))
        self._bytes = aligned_copy(serialize_message(message))
        places = find_layout(bytes(self._bytes)).arrays
        self.values = {
            field: np.frombuffer(self._bytes, np.float64, len(names), places[field])
            for field in fields
            if field in places
        }

    def encode_values(self, field: str, values: np.ndarray, stamp: int) -> bytes:
        """Bytes of the message with these values in one array and this stamp [ns]."""
        self.values[field][:] = values
        return self.encode(stamp)

    def encode(self, stamp: int) -> bytes:
        """Bytes of the message with the numbers in `values` and this stamp [ns]."""
        STAMP_FIELDS['<'].pack_into(self._bytes, STAMP, *divmod(stamp, NANOSECONDS))
        return bytes(self._bytes)


class PointEncoder:
    """trajectory_msgs/JointTrajectory messages of one point, to be reached in one period."""

    def __init__(self, names: Sequence[str], interface: str, time_from_start: float) -> None:
        """Prepare the message; the stamp stays 0, which means now.

        Args:
            names: joints, in the order of the values.
            interface: 'position', 'velocity' or 'effort'.
            time_from_start: time in which the point is to be reached [s].
        """
        from rclpy.serialization import serialize_message
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        field = {'position': 'positions', 'velocity': 'velocities', 'effort': 'effort'}[interface]
        point: Any = JointTrajectoryPoint(**{field: [0.0] * len(names)})
        seconds, nanoseconds = divmod(round(time_from_start * NANOSECONDS), NANOSECONDS)
        point.time_from_start.sec = seconds
        point.time_from_start.nanosec = nanoseconds
        message = JointTrajectory(joint_names=list(names), points=[point])
        self._bytes = aligned_copy(serialize_message(message))
        cursor = CdrCursor(bytes(self._bytes))
        cursor.header()
        for _ in range(cursor.integer()):
            cursor.string()
        cursor.integer()
        begin = 0
        for name in ('positions', 'velocities', 'accelerations', 'effort'):
            count = cursor.integer()
            at = cursor.skip(count, 8)
            if name == field:
                begin = at
        self._values = np.frombuffer(self._bytes, np.float64, len(names), begin)

    def encode(self, values: np.ndarray) -> bytes:
        """Bytes of the message with these values."""
        self._values[:] = values
        return bytes(self._bytes)


# Values that no template has for another reason; where they stand is where numbers go.
_MARK = -7.231e-201


class MessageTemplate:
    """The bytes of a message of fixed size, with views on the numbers in it."""

    def __init__(self, message: Any, stamp_offset: int = STAMP) -> None:
        """Serialize a message.

        Args:
            message: the message; numbers that will change are marked by `marks`.
            stamp_offset: where its stamp begins [bytes].
        """
        self._bytes = bytearray(serialize_message(message))
        self._stamp = stamp_offset

    def view(self, values: Sequence[float]) -> np.ndarray:
        """Writable view on the place where these float64 values stand in a row.

        Raises:
            ValueError: they do not stand there.
        """
        pattern = np.asarray(values, dtype='<f8')
        begin = self._bytes.find(pattern.tobytes())
        if begin < 0:
            raise ValueError(f'the message does not hold {list(values)}')
        return np.frombuffer(self._bytes, '<f8', pattern.size, begin)

    def encode(self, stamp: int) -> bytes:
        """Bytes of the stamped message with the present numbers and this stamp [ns]."""
        struct.pack_into('<iI', self._bytes, self._stamp, *divmod(stamp, NANOSECONDS))
        return bytes(self._bytes)


def marks(first: int, count: int) -> list[float]:
    """Numbers to fill a template with, different for different places."""
    return [_MARK * (1 + first + i) for i in range(count)]
