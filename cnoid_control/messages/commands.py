"""Encoders of joint commands and joint states, fast enough for every tick."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cnoid_control.messages import layouts
from cnoid_control.messages.cdr import NANOSECONDS, aligned_copy
from cnoid_control.messages.layouts import MessageBuffer, MessageLayout

# Arrays of a trajectory point by ros2_control interface.
POINT_ARRAYS = {'position': 'positions', 'velocity': 'velocities', 'effort': 'effort'}


class ArrayEncoder:
    """std_msgs/Float64MultiArray messages of one size: a fixed head, and the numbers behind it."""

    def __init__(self, size: int) -> None:
        layout = layouts.numbers(size)
        self._head = layout.template[: len(layout.template) - 8 * size]

    def encode(self, values: np.ndarray) -> bytes:
        """Bytes of the message with these values, shape (size,), float64."""
        return self._head + values.tobytes()


class JointStateEncoder:
    """sensor_msgs/JointState messages with fixed names and a chosen set of arrays.

    Attributes:
        values: the arrays to fill before `encode`, by field, shape (joints,).
    """

    def __init__(self, names: Sequence[str], fields: Sequence[str], frame_id: str = '') -> None:
        """Prepare the message.

        Args:
            names: joints, in the order of the values.
            fields: the arrays that are sent, of 'position', 'velocity', 'effort'.
            frame_id: frame of the header.
        """
        self._buffer = MessageBuffer(layouts.joint_state(names, fields, frame_id))
        self.values = {field: self._buffer.view(field) for field in fields}
        self.encode = self._buffer.encode

    def encode_values(self, field: str, values: np.ndarray, stamp: int) -> bytes:
        """Bytes of the message with these values in one array and this stamp [ns]."""
        self.values[field][:] = values
        return self.encode(stamp)


class JointCommandEncoder:
    """control_msgs/JointCommand messages: the values of one interface of some joints, stamped."""

    def __init__(self, names: Sequence[str], interface: str) -> None:
        """Prepare the message.

        Args:
            names: joints, in the order of the values.
            interface: name of the interface.
        """
        self._buffer = MessageBuffer(layouts.joint_command(names, interface))
        self._values = self._buffer.view('values')

    def encode(self, values: np.ndarray, stamp: int) -> bytes:
        """Bytes of the message with these values and this stamp [ns]."""
        self._values[:] = values
        return self._buffer.encode(stamp)


class PointEncoder:
    """trajectory_msgs/JointTrajectory messages of one point, to be reached in one period."""

    def __init__(self, names: Sequence[str], interface: str, time_from_start: float) -> None:
        """Prepare the message; the stamp stays 0, which means now.

        Args:
            names: joints, in the order of the values.
            interface: 'position', 'velocity' or 'effort'.
            time_from_start: time in which the point is to be reached [s].
        """
        field = POINT_ARRAYS[interface]
        duration = divmod(round(time_from_start * NANOSECONDS), NANOSECONDS)
        point = {field: np.zeros(len(names)), 'time_from_start': duration}
        layout = MessageLayout(
            'trajectory_msgs/msg/JointTrajectory', {'joint_names': list(names), 'points': [point]}
        )
        self._bytes = aligned_copy(layout.template)
        place = layout.places[f'points.0.{field}']
        self._values = np.frombuffer(self._bytes, np.float64, place.size, place.offset)

    def encode(self, values: np.ndarray) -> bytes:
        """Bytes of the message with these values."""
        self._values[:] = values
        return bytes(self._bytes)
