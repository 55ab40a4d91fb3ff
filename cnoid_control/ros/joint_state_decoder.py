"""Joint states out of the bytes of sensor_msgs/JointState messages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cnoid_control.ros.cdr import FRAME_ID, STAMP, read_stamp
from cnoid_control.ros.exceptions import MalformedMessage
from cnoid_control.ros.joint_state_layout import FIELDS, JointStateLayout, find_layout


class JointStateDecoder:
    """Values of our joints, whatever order and company a message names them in.

    The first message is walked through once to learn where its numbers are; the following ones
    are read there directly, as long as their length, names and sizes stay the same.

    Attributes:
        names: our joints, in the order of the values.
        stamp: stamp of the last message [ns].
        position, velocity, effort: values of the last message, shape (joints,); NaN where it has
            none.
        has_position, has_velocity, has_effort: whether the last message had that array.
        missing: names of ours that the last message did not have.
        problem: what was wrong with the last message; empty when it was good.
        learnt: how often the places of the numbers were learnt.
    """

    def __init__(self, names: Sequence[str]) -> None:
        """Expect these joints."""
        self.names = tuple(names)
        self.stamp = 0
        self._values = np.full(len(FIELDS) * len(self.names), np.nan)
        self.position, self.velocity, self.effort = self._values.reshape(len(FIELDS), -1)
        self.has_position = self.has_velocity = self.has_effort = False
        self.missing: tuple[str, ...] = self.names
        self.problem = ''
        self.learnt = 0
        # What the places were learnt from: length, size of each array, names.
        self._length = -1
        self._counts: list[tuple[int, bytes]] = []
        self._block = b''
        self._block_end = 0
        self._mask = np.zeros(0, np.uint8)
        # The places: the doubles from the first array's begin to the last one's end, with what
        # lies in between; which of them are ours, and where in the values they go (None: all).
        self._order = '<'
        self._dtype = np.dtype('<f8')
        self._begin = 0
        self._size = 0
        self._source = np.zeros(0, np.intp)
        self._target: np.ndarray | None = None

    def decode(self, data: bytes) -> bool:
        """Take over the values of a message; False, with `problem` set, where it is not one."""
        if not self._is_known(data):
            try:
                self._learn(data)
            except MalformedMessage as error:
                self._length = -1
                self.problem = str(error)
                return False
        self.stamp = read_stamp(data, self._order)
        numbers = np.frombuffer(data, self._dtype, self._size, self._begin)
        if self._target is None:
            self._values[:] = numbers[self._source]
        else:
            self._values[self._target] = numbers[self._source]
        return True

    def _is_known(self, data: bytes) -> bool:
        if len(data) != self._length:
            return False
        for begin, count in self._counts:
            if data[begin : begin + 4] != count:
                return False
        block = data[: self._block_end]
        # The stamp is in the block's first bytes: compare behind it.
        if block[FRAME_ID:] != self._block[FRAME_ID:] or block[:STAMP] != self._block[:STAMP]:
            # The filling between the names means nothing: compare what does.
            differs = np.frombuffer(block, np.uint8) ^ np.frombuffer(self._block, np.uint8)
            if np.any(differs & self._mask):
                return False
            self._block = block
        return True

    def _learn(self, data: bytes) -> None:
        layout = find_layout(data)
        for field in FIELDS:
            setattr(self, f'has_{field}', field in layout.arrays)
        self._map(layout)
        self._length, self._counts = len(data), layout.counts
        self._block, self._block_end = data[: layout.block_end], layout.block_end
        self._mask = layout.mask
        self._order, self._dtype = layout.order, np.dtype(layout.order + 'f8')
        self.learnt += 1
        self.problem = ''

    def _map(self, layout: JointStateLayout) -> None:
        index_of = {name: index for index, name in reversed(list(enumerate(layout.names)))}
        self.missing = tuple(name for name in self.names if name not in index_of)
        begins = list(layout.arrays.values())
        self._begin = min(begins, default=0)
        self._size = (max(begins) - self._begin) // 8 + len(layout.names) if begins else 0
        source, target = [], []
        for row, field in enumerate(FIELDS):
            if field in layout.arrays:
                first = (layout.arrays[field] - self._begin) // 8
                for column, name in enumerate(self.names):
                    if name in index_of:
                        source.append(first + index_of[name])
                        target.append(row * len(self.names) + column)
        self._source = np.array(source, np.intp)
        self._target = None if len(target) == self._values.size else np.array(target, np.intp)
        self._values[:] = np.nan
