"""Reading of serialized messages (CDR, as every DDS sends it) without building message objects."""

from __future__ import annotations

import struct

import numpy as np

from cnoid_control.ros.exceptions import MalformedMessage

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

    def byte(self) -> int:
        """Next byte."""
        return self.data[self.skip(1, 1)]

    def floats(self, count: int) -> tuple[float, ...]:
        """Next `count` numbers of 32 bits."""
        begin = self.skip(count, 4)
        return struct.unpack_from(f'{self.order}{count}f', self.data, begin)

    def string(self) -> str:
        """Next text.

        Raises:
            MalformedMessage: it does not end as texts do, or not before the message's end.
        """
        length = self.integer()
        begin = self.skip(length, 1)
        if length and self.data[begin + length - 1]:
            raise MalformedMessage(f'a text of {length} bytes without an end')
        return self.data[begin : begin + max(length - 1, 0)].decode('utf-8', 'replace')

    def sequence(self, kind: str) -> np.ndarray:
        """Next sequence of numbers, numpy type `kind` ('f4', 'f8', 'u1'); a view on the bytes."""
        count = self.integer()
        dtype = np.dtype(self.order + kind)
        begin = self.skip(count, dtype.itemsize)
        return np.frombuffer(self.data, dtype, count, begin)

    def header(self) -> int:
        """Next header; returns its stamp [ns]."""
        begin = self.skip(2, 4)
        seconds, nanoseconds = STAMP_FIELDS[self.order].unpack_from(self.data, begin)
        self.string()
        stamp: int = seconds * NANOSECONDS + nanoseconds
        return stamp


def read_stamp(data: bytes, order: str) -> int:
    """Stamp of a stamped message of at least 12 bytes [ns]."""
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
