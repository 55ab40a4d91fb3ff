"""Decoding of sensor_msgs/JointState, in any joint order, fast enough for every tick."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cnoid_control.messages.cdr import (
    FRAME_ID,
    NANOSECONDS,
    STAMP,
    STAMP_FIELDS,
    MessagePlaces,
    aligned_copy,
)
from cnoid_control.messages.exceptions import MalformedMessage
from cnoid_control.messages.layouts import JOINT_FIELDS, JOINT_STATE


class JointStateLayout(NamedTuple):
    """Places in one message, good for every message of the same length, names and sizes.

    Attributes:
        names: the joints.
        order: byte order, '<' or '>'.
        block_end: where the arrays begin, behind the names.
        mask: 0xFF for the bytes up to there that must stay the same, 0 for stamp and filling.
        counts: where the size of each array is, and its bytes.
        arrays: where the numbers of each array begin; arrays that are empty are left out.
    """

    names: tuple[str, ...]
    order: str
    block_end: int
    mask: np.ndarray
    counts: list[tuple[int, bytes]]
    arrays: dict[str, int]


def find_layout(data: bytes) -> JointStateLayout:
    """Places of a serialized message.

    Raises:
        MalformedMessage: it is not a JointState, or an array has not one value for each name.
    """
    places = MessagePlaces(JOINT_STATE, data)
    names = tuple(places.texts['name'])
    block_end = places.counts['position']
    mask = np.full(block_end, 0xFF, np.uint8)
    mask[STAMP - 2 : FRAME_ID] = 0
    for begin, end in places.gaps:
        mask[begin:end] = 0
    counts = []
    arrays = {}
    for field in JOINT_FIELDS:
        at, place = places.counts[field], places.numbers[field]
        counts.append((at, data[at : at + 4]))
        if place.size not in (0, len(names)):
            raise MalformedMessage(f'{field} has {place.size} values for {len(names)} names')
        if place.size:
            arrays[field] = place.offset
    return JointStateLayout(names, places.order, block_end, mask, counts, arrays)


class JointStateDecoder:
    """Extracts this robot's joints from JointState messages in any joint order.

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
        """Decode the values of these joints, in this order."""
        self.names = tuple(names)
        self.stamp = 0
        self._values = np.full(len(JOINT_FIELDS) * len(self.names), np.nan)
        self.position, self.velocity, self.effort = self._values.reshape(len(JOINT_FIELDS), -1)
        self.has_position = self.has_velocity = self.has_effort = False
        self.missing: tuple[str, ...] = self.names
        self.problem = ''
        self.learnt = 0
        # What the places were learnt from: length, size of each array, names.
        self._length = -1
        self._counts: list[tuple[int, bytes]] = []
        self._preamble = b''
        self._names = b''
        self._mask = np.zeros(0, np.uint8)
        # The places: the doubles from the first array's begin to the last one's end, with what
        # lies in between, in a copy of the message; which of them are ours, and where in the
        # values they go (None: all).
        self._read_stamp = STAMP_FIELDS['<'].unpack_from
        self._copy = aligned_copy(b'')
        self._numbers = np.zeros(0)
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
        seconds, nanoseconds = self._read_stamp(data, STAMP)
        self.stamp = seconds * NANOSECONDS + nanoseconds
        self._copy[:] = data
        if self._target is None:
            # The places were checked when they were learnt.
            self._numbers.take(self._source, None, self._values, 'clip')
        else:
            self._values[self._target] = self._numbers[self._source]
        return True

    def _is_known(self, data: bytes) -> bool:
        if len(data) != self._length:
            return False
        for begin, count in self._counts:
            if not data.startswith(count, begin):
                return False
        # The stamp lies between the preamble and the names.
        if data.startswith(self._preamble) and data.startswith(self._names, FRAME_ID):
            return True
        # The filling between the names means nothing: compare what does.
        known = self._preamble + data[STAMP:FRAME_ID] + self._names
        block = data[: len(known)]
        differs = np.frombuffer(block, np.uint8) ^ np.frombuffer(known, np.uint8)
        if np.any(differs & self._mask):
            return False
        self._preamble, self._names = block[:STAMP], block[FRAME_ID:]
        return True

    def _learn(self, data: bytes) -> None:
        layout = find_layout(data)
        for field in JOINT_FIELDS:
            setattr(self, f'has_{field}', field in layout.arrays)
        self._map(layout, data)
        self._length, self._counts = len(data), layout.counts
        self._preamble, self._names = data[:STAMP], data[FRAME_ID : layout.block_end]
        self._mask = layout.mask
        self._read_stamp = STAMP_FIELDS[layout.order].unpack_from
        self.learnt += 1
        self.problem = ''

    def _map(self, layout: JointStateLayout, data: bytes) -> None:
        index_of = {name: index for index, name in reversed(list(enumerate(layout.names)))}
        self.missing = tuple(name for name in self.names if name not in index_of)
        begins = list(layout.arrays.values())
        begin = min(begins, default=0)
        size = (max(begins) - begin) // 8 + len(layout.names) if begins else 0
        self._copy = aligned_copy(data)
        self._numbers = np.frombuffer(self._copy, layout.order + 'f8', size, begin)
        source, target = [], []
        for row, field in enumerate(JOINT_FIELDS):
            if field in layout.arrays:
                first = (layout.arrays[field] - begin) // 8
                for column, name in enumerate(self.names):
                    if name in index_of:
                        source.append(first + index_of[name])
                        target.append(row * len(self.names) + column)
        self._source = np.array(source, np.intp)
        self._target = None if len(target) == self._values.size else np.array(target, np.intp)
        self._values[:] = np.nan
