"""ROS 2 messages of one length: where each number stands in the serialized bytes.

All messages of a topic whose strings and array sizes do not change are equal but for their
numbers, so many of them are made, or read, with a few array operations.
"""

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
