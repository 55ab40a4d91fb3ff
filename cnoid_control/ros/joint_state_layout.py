"""Where the parts of a serialized sensor_msgs/JointState are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cnoid_control.ros.cdr import FRAME_ID, STAMP, CdrCursor
from cnoid_control.ros.exceptions import MalformedMessage

FIELDS = ('position', 'velocity', 'effort')


class JointStateLayout(NamedTuple):
    """Places in one message, good for every message of the same length, names and sizes.

    Attributes:
        names: the joints.
        order: byte order, '<' or '>'.
        block_end: where the names end.
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
    """Walk through a message.

    Raises:
        MalformedMessage: it is not a JointState, or an array has not one value for each name.
    """
    cursor = CdrCursor(data)
    cursor.header()
    names = tuple([cursor.string() for _ in range(cursor.integer())])
    block_end = cursor.offset
    mask = np.full(block_end, 0xFF, np.uint8)
    mask[STAMP - 2 : FRAME_ID] = 0
    for begin, end in cursor.gaps:
        mask[begin:end] = 0
    counts = []
    arrays = {}
    for field in FIELDS:
        count = cursor.integer()
        counts.append((cursor.offset - 4, data[cursor.offset - 4 : cursor.offset]))
        begin = cursor.skip(count, 8)
        if count not in (0, len(names)):
            raise MalformedMessage(f'{field} has {count} values for {len(names)} names')
        if count:
            arrays[field] = begin
    return JointStateLayout(names, cursor.order, block_end, mask, counts, arrays)
