"""Messages that are serialized once and whose numbers are replaced before each publishing."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message

from cnoid_control.ros.cdr import NANOSECONDS, STAMP

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
