"""Messages of fixed size, written and read by their definitions, one or many at once."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cnoid_control.messages.cdr import (
    FRAME_ID,
    NANOSECONDS,
    PREAMBLE,
    STAMP,
    STAMP_FIELDS,
    MessagePlaces,
    aligned_copy,
    read_stamp,
)
from cnoid_control.messages.definitions import Field, fields_of

LITTLE_ENDIAN = b'\x00\x01\x00\x00'

JOINT_STATE = 'sensor_msgs/msg/JointState'
JOINT_FIELDS = ('position', 'velocity', 'effort')
ODOMETRY = 'nav_msgs/msg/Odometry'
JOINT_COMMAND = 'control_msgs/msg/JointCommand'
NUMBERS = 'std_msgs/msg/Float64MultiArray'
TEXT = 'std_msgs/msg/String'


class MessageLayout:
    """A message whose texts and array sizes are fixed, and the places of its numbers.

    Attributes:
        schema: ROS type, `package/msg/Type`.
        template: the serialized message with the numbers that it was made with.
        places: where its numbers stand.
    """

    def __init__(self, schema: str, values: Mapping[str, Any] | None = None) -> None:
        """Serialize a message.

        Args:
            schema: ROS type, `package/msg/Type`.
            values: texts and numbers by field ('header.frame_id', 'pose.pose'), a list of such
                maps for a sequence of messages; what is left out is zero or empty.

        Raises:
            KeyError: the message has no such field.
            ValueError: a field has another number of values.
        """
        self.schema = schema
        given = _flatten(values or {})
        template = bytearray(LITTLE_ENDIAN)
        _append(template, fields_of(schema), '', given)
        self.places = MessagePlaces(schema, bytes(template))
        known = self.places
        for path, value in given.items():
            if path in known.texts or (path in known.counts and path not in known.numbers):
                continue
            place = known[path]
            numbers = np.broadcast_to(np.asarray(value, place.dtype).reshape(-1), place.size)
            template[place.offset : place.end] = numbers.tobytes()
        self.template = bytes(template)

    @property
    def length(self) -> int:
        """Length of a message [bytes]."""
        return len(self.template)

    def encode(self, values: Mapping[str, np.ndarray], count: int) -> np.ndarray:
        """Serialize many messages.

        Args:
            values: for each field an array of shape (count, field size), or (count,) for one
                number; what is left out keeps its value in the template.
            count: number of messages.

        Returns:
            One message per row, shape (count, length), uint8.

        Raises:
            KeyError: the message has no such field.
        """
        rows = np.tile(np.frombuffer(self.template, np.uint8), (count, 1))
        for path, value in values.items():
            place = self.places[path]
            if place.size:
                numbers = np.ascontiguousarray(value, place.dtype).reshape(count, place.size)
                rows[:, place.offset : place.end] = numbers.view(np.uint8)
        return rows

    def decode(self, rows: np.ndarray, path: str) -> np.ndarray:
        """Numbers of a field in many messages, shape (messages, field size).

        Args:
            rows: one message per row, shape (messages, length), uint8.
            path: the field.
        """
        place = self.places[path]
        part = np.ascontiguousarray(rows[:, place.offset : place.end])
        return part.view(place.dtype).reshape(len(rows), place.size)


def _flatten(values: Mapping[str, Any], prefix: str = '') -> dict[str, Any]:
    """Values by full path; a list of maps also keeps its length under its own path."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat[prefix + name] = value
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            for index, part in enumerate(value):
                flat |= _flatten(part, f'{prefix}{name}.{index}.')
    return flat


def _append(
    data: bytearray, fields: Sequence[Field], prefix: str, values: Mapping[str, Any]
) -> None:
    """Append fields with their texts and sizes; the numbers stay zero."""
    for name, kind, parts, size in fields:
        path = prefix + name
        count = size
        if size < 0:
            count = len(values.get(path, ()))
            _append_integer(data, count)
        if kind:
            _append_zeros(data, count, np.dtype(kind).itemsize)
        elif not parts:
            texts = [values.get(path, '')] if size == 1 else values.get(path, ())
            for text in texts:
                encoded = text.encode() + b'\x00'
                _append_integer(data, len(encoded))
                data += encoded
        elif size == 1:
            _append(data, parts, f'{path}.', values)
        else:
            for index in range(count):
                _append(data, parts, f'{path}.{index}.', values)


def _append_zeros(data: bytearray, count: int, size: int) -> None:
    # Nothing stands for an empty array, not even what would align it.
    if count:
        data.extend(bytes(-(len(data) - PREAMBLE) % size + count * size))


def _append_integer(data: bytearray, value: int) -> None:
    _append_zeros(data, 1, 4)
    data[-4:] = value.to_bytes(4, 'little')


class MessageBuffer:
    """One message that is filled in again and again, at every tick."""

    def __init__(self, layout: MessageLayout, stamp: str = 'header.stamp') -> None:
        """Copy a message.

        Args:
            layout: the message.
            stamp: field of its stamp.
        """
        self._bytes = aligned_copy(layout.template)
        self._places = layout.places
        self._stamp = layout.places[stamp].offset

    def view(self, path: str) -> np.ndarray:
        """Writable view on the numbers of a field."""
        place = self._places[path]
        return np.frombuffer(self._bytes, place.dtype, place.size, place.offset)

    def encode(self, stamp: int) -> bytes:
        """Bytes of the message with the present numbers and this stamp [ns]."""
        STAMP_FIELDS['<'].pack_into(self._bytes, self._stamp, *divmod(stamp, NANOSECONDS))
        return bytes(self._bytes)


class StampedNumbers(dict[str, np.ndarray]):
    """Reads a message that has nothing but float64 numbers behind its header.

    It maps each field to its numbers in the last message: an array that the next message refills,
    or that stays behind where that one has another length or byte order.
    """

    def __init__(self, schema: str) -> None:
        """Read messages of type `package/msg/Type`; all numbers are zero before the first."""
        super().__init__()
        self._schema = schema
        self._learn(MessageLayout(schema).template)

    @property
    def stamp(self) -> int:
        """Stamp of the last message [ns]; 0 before the first."""
        return read_stamp(bytes(self._copy))

    def __missing__(self, path: str) -> np.ndarray:
        """Numbers of a field that was not asked for since the places were learnt."""
        place = self._places[path]
        view = np.frombuffer(self._copy, place.dtype, place.size, place.offset)
        self[path] = view
        return view

    def decode(self, data: bytes) -> StampedNumbers:
        """Take over the numbers of a message; returns them.

        Raises:
            MalformedMessage: the bytes are not such a message.
        """
        # With the same length, byte order and length of the frame's name all is where it was.
        if not (
            len(data) == self._length
            and data.startswith(self._preamble)
            and data.startswith(self._name_length, FRAME_ID)
        ):
            self._learn(data)
        self._copy[:] = data
        return self

    def _learn(self, data: bytes) -> None:
        # What the places were learnt from, and a copy of the message.
        self._length = -1
        self._places = MessagePlaces(self._schema, data)
        self._copy = aligned_copy(data)
        self.clear()
        self._preamble, self._name_length = data[:STAMP], data[FRAME_ID : FRAME_ID + 4]
        self._length = len(data)


def is_stamped(schema: str) -> bool:
    """Whether messages of a type begin with a header."""
    return fields_of(schema)[0].name == 'header'


def stamps(nanoseconds: np.ndarray) -> np.ndarray:
    """Seconds and nanoseconds of `header.stamp`, shape (n, 2), uint32."""
    return np.stack((nanoseconds // 10**9, nanoseconds % 10**9), axis=1).astype('<u4')


def to_nanoseconds(times: np.ndarray) -> np.ndarray:
    """Times [s] as whole nanoseconds, uint64."""
    return np.rint(np.maximum(times, 0.0) * 1e9).astype(np.uint64)


def joint_state(
    names: Sequence[str],
    fields: Sequence[str] = JOINT_FIELDS,
    frame: str = '',
    with_effort: bool = True,
) -> MessageLayout:
    """sensor_msgs/JointState of these joints with these arrays, where wanted without efforts."""
    fields = [field for field in fields if with_effort or field != 'effort']
    arrays = {field: np.zeros(len(names)) for field in fields}
    return MessageLayout(JOINT_STATE, {'header.frame_id': frame, 'name': list(names)} | arrays)


def joint_command(names: Sequence[str], interface: str) -> MessageLayout:
    """control_msgs/JointCommand of these joints: one number each in 'values'."""
    return MessageLayout(
        JOINT_COMMAND,
        {
            'joint_names': list(names),
            'interface_name': interface,
            'values': np.zeros(len(names)),
        },
    )


def odometry(frame: str, child_frame: str) -> MessageLayout:
    """nav_msgs/Odometry: 'pose.pose' and, in the child frame, 'twist.twist'."""
    return MessageLayout(ODOMETRY, {'header.frame_id': frame, 'child_frame_id': child_frame})


@functools.lru_cache(256)
def numbers(count: int) -> MessageLayout:
    """std_msgs/Float64MultiArray with this many numbers in 'data'."""
    return MessageLayout(NUMBERS, {'data': np.zeros(count)})


def numbers_in(rows: np.ndarray) -> np.ndarray:
    """Data of std_msgs/Float64MultiArray messages of one length, shape (messages, numbers)."""
    return numbers((rows.shape[1] - numbers(0).length) // 8).decode(rows, 'data')
