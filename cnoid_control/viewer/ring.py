"""Memory that one process writes frames to and another one reads the newest of."""

from __future__ import annotations

import mmap
import os
import struct

# Slots that frames are written to in turn: who reads one has this many frames of time.
SLOTS = 4
# Largest frame [B]. Memory that was never written to costs nothing.
CAPACITY = 16 * 2**20
_HEAD = struct.Struct('<Q')
_SLOT = struct.Struct('<QQ')
_PAGE = 4096


class Ring:
    """The last frames, in memory that two processes share.

    Writing is a copy: it never waits, and who reads, hangs or has died is not noticed. Reading
    gives the newest frame that is whole.

    Attributes:
        fd: file descriptor of the memory, to be inherited by the other process.
        too_large: frames that did not fit in.
    """

    def __init__(self, fd: int | None = None) -> None:
        """Make the memory, or open the memory of a file descriptor."""
        self.fd = os.memfd_create('cnoid_control_view') if fd is None else fd
        self.too_large = 0
        self._stride = CAPACITY + _PAGE
        size = _PAGE + SLOTS * self._stride
        if fd is None:
            os.ftruncate(self.fd, size)
        self._memory = mmap.mmap(self.fd, size)
        self._count = _HEAD.unpack_from(self._memory, 0)[0]

    def write(self, data: bytes) -> bool:
        """Write a frame in the place of the oldest one; whether it fits in, and is wanted."""
        if self._memory.closed:
            return False
        if len(data) > CAPACITY:
            self.too_large += 1
            return False
        self._count += 1
        start = _PAGE + self._count % SLOTS * self._stride
        memory = self._memory
        # Number and size stand on both sides: who reads in between sees that they differ.
        mark = _SLOT.pack(self._count, len(data))
        memory[start : start + _SLOT.size] = mark
        begin = start + _SLOT.size
        memory[begin : begin + len(data)] = data
        memory[begin + len(data) : begin + len(data) + _SLOT.size] = mark
        _HEAD.pack_into(memory, 0, self._count)
        return True

    @property
    def count(self) -> int:
        """Number of the newest frame; 0 where there is none."""
        return int(_HEAD.unpack_from(self._memory, 0)[0])

    def read(self) -> bytes | None:
        """The newest frame; None where there is none, or where it was just overwritten."""
        count = self.count
        if count == 0:
            return None
        memory = self._memory
        start = _PAGE + count % SLOTS * self._stride
        number, size = _SLOT.unpack_from(memory, start)
        if number != count or size > CAPACITY:
            return None
        begin = start + _SLOT.size
        data = memory[begin : begin + size]
        after = _SLOT.unpack_from(memory, begin + size)
        before = _SLOT.unpack_from(memory, start)
        return data if before == after == (count, size) else None

    def close(self) -> None:
        """Let go of the memory."""
        self._memory.close()
        os.close(self.fd)
