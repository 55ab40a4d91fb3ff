"""Reading of serialized messages (CDR, as every DDS sends it) without building message objects."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from cnoid_control.messages.definitions import Field, fields_of
from cnoid_control.messages.exceptions import MalformedMessage

# The encapsulation header comes first; alignment counts from behind it.
PREAMBLE = 4
# Every stamped message begins with: seconds, nanoseconds, frame_id.
STAMP = PREAMBLE
FRAME_ID = PREAMBLE + 8
NANOSECONDS = 1_000_000_000
# Seconds and nanoseconds, by byte order.
STAMP_FIELDS = {order: struct.Struct(order + 'iI') for order in '<>'}


class CdrCursor:
    """Walks through the bytes of one message and checks every step against their end.

    Attributes:
        data: the message.
        offset: where the next field begins, before its alignment.
        order: '<' or '>', as the message's preamble says.
        gaps: begin and end of the filling that was passed; its bytes mean nothing.
    """

    def __init__(self, data: bytes) -> None:
        """Stand behind the preamble.

        Raises:
            MalformedMessage: the bytes do not begin as plain CDR does.
        """
        if len(data) < PREAMBLE or data[0] != 0 or data[1] > 1:
            raise MalformedMessage(f'{len(data)} bytes that do not begin as CDR')
        self.data = data
        self.offset = PREAMBLE
        self.order = '<' if data[1] else '>'
        self.gaps: list[tuple[int, int]] = []

    def skip(self, count: int, size: int) -> int:
        """Pass `count` fields of `size` bytes each; returns where they begin.

        Raises:
            MalformedMessage: they would end behind the message's end.
        """
        begin = self.offset
        if count:
            begin += -(begin - PREAMBLE) % size
        end = begin + count * size
        if end > len(self.data):
            raise MalformedMessage(f'{len(self.data)} bytes where {end} are needed')
        if begin > self.offset:
            self.gaps.append((self.offset, begin))
        self.offset = end
        return begin

    def integer(self) -> int:
        """Next unsigned integer of 32 bits."""
        begin = self.skip(1, 4)
        value: int = struct.unpack_from(self.order + 'I', self.data, begin)[0]
        return value

    def string(self) -> str:
        """Next text.

        Raises:
            MalformedMessage: it is not terminated, or not before the message's end.
        """
        length = self.integer()
        begin = self.skip(length, 1)
        if length and self.data[begin + length - 1]:
            raise MalformedMessage(f'a text of {length} bytes without an end')
        return self.data[begin : begin + max(length - 1, 0)].decode('utf-8', 'replace')


class Place(NamedTuple):
    """Where numbers stand in a message: offset [bytes], how many and of which numpy type."""

    offset: int
    size: int
    dtype: np.dtype

    @property
    def end(self) -> int:
        """Where they end [bytes]."""
        return self.offset + self.size * self.dtype.itemsize


class MessagePlaces:
    """Where everything stands in one serialized message, found by the message's definition.

    Fields are named by their path: 'position', 'pose.pose.orientation.w', 'fields.0.name'.

    Attributes:
        numbers: places of the numbers by field.
        texts: texts by field; those of an array together.
        counts: where the size of each sequence stands [bytes].
        order: byte order, '<' or '>'.
        gaps: begin and end of the filling between fields.
    """

    def __init__(self, schema: str, data: bytes) -> None:
        """Walk through a message of type `package/msg/Type`.

        Raises:
            MalformedMessage: the bytes are not such a message.
        """
        self.numbers: dict[str, Place] = {}
        self.texts: dict[str, str | tuple[str, ...]] = {}
        self.counts: dict[str, int] = {}
        self._cursor = CdrCursor(data)
        self.order = self._cursor.order
        self.gaps = self._cursor.gaps
        self._walk(fields_of(schema), '')

    def _walk(self, fields: tuple[Field, ...], prefix: str) -> None:
        cursor = self._cursor
        for name, kind, parts, count in fields:
            path = prefix + name
            is_one = count == 1
            if count < 0:
                count = cursor.integer()
                self.counts[path] = cursor.offset - 4
            if kind:
                dtype = np.dtype(self.order + kind)
                self.numbers[path] = Place(cursor.skip(count, dtype.itemsize), count, dtype)
            elif not parts:
                texts = tuple([cursor.string() for _ in range(count)])
                self.texts[path] = texts[0] if is_one else texts
            elif is_one:
                self._walk(parts, f'{path}.')
            else:
                for index in range(count):
                    self._walk(parts, f'{path}.{index}.')

    def __getitem__(self, path: str) -> Place:
        """Place of a field, or of all numbers of one that is made of numbers of one type.

        Raises:
            KeyError: the message has no such field.
        """
        if path in self.numbers:
            return self.numbers[path]
        parts = [place for name, place in self.numbers.items() if name.startswith(f'{path}.')]
        if not parts:
            raise KeyError(f'no numbers {path!r}; choose from: {", ".join(self.numbers)}')
        whole = Place(parts[0].offset, sum(part.size for part in parts), parts[0].dtype)
        if whole.end != parts[-1].end or any(part.dtype != whole.dtype for part in parts):
            raise KeyError(f'{path!r} is not made of numbers of one type in a row')
        return whole


def parse_message(schema: str, data: bytes) -> Any:
    """Message of type `package/msg/Type`, with the attributes that rclpy's message has.

    Arrays of numbers are views on the bytes; a time is an array of seconds and nanoseconds.

    Raises:
        MalformedMessage: the bytes are not such a message.
    """
    places = MessagePlaces(schema, data)

    def build(fields: tuple[Field, ...], prefix: str) -> SimpleNamespace:
        message = SimpleNamespace()
        for field in fields:
            setattr(message, field.name, value_of(field, prefix + field.name))
        return message

    def value_of(field: Field, path: str) -> Any:
        if field.dtype:
            place = places.numbers[path]
            values = np.frombuffer(data, place.dtype, place.size, place.offset)
            return values[0] if field.size == 1 else values
        if not field.parts:
            return places.texts[path]
        if field.size == 1:
            return build(field.parts, f'{path}.')
        count = field.size
        if count < 0:
            order, at = places.order, places.counts[path]
            count = struct.unpack_from(order + 'I', data, at)[0]
        return [build(field.parts, f'{path}.{index}.') for index in range(count)]

    return build(fields_of(schema), '')


def read_stamp(data: bytes, order: str | None = None) -> int:
    """Stamp of a stamped message of at least 12 bytes [ns]; by its preamble without an order."""
    if order is None:
        order = '<' if data[1] else '>'
    seconds, nanoseconds = STAMP_FIELDS[order].unpack_from(data, STAMP)
    stamp: int = seconds * NANOSECONDS + nanoseconds
    return stamp


def aligned_copy(data: bytes) -> memoryview:
    """A copy of a message that can be written, with its numbers where the processor wants them.

    The preamble shifts all numbers of eight bytes to where numpy would copy them before use.
    """
    block = np.zeros(2 * PREAMBLE + len(data), np.uint8)
    copy = block.data[PREAMBLE : PREAMBLE + len(data)]
    copy[:] = data
    return copy
