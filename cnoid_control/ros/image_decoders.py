"""Pictures and point clouds out of the bytes of their messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from cnoid_control.ros.cdr import CdrCursor
from cnoid_control.ros.exceptions import MalformedMessage
from cnoid_control.ros.sensor_decoders import SensorDecoder

# Encodings of sensor_msgs/Image that can be read: channels, numpy type, and their order.
ENCODINGS: dict[str, tuple[int, str, tuple[int, ...]]] = {
    'rgb8': (3, 'u1', (0, 1, 2)),
    'bgr8': (3, 'u1', (2, 1, 0)),
    'rgba8': (4, 'u1', (0, 1, 2)),
    'bgra8': (4, 'u1', (2, 1, 0)),
    'mono8': (1, 'u1', (0,)),
    '8UC1': (1, 'u1', (0,)),
    '8UC3': (3, 'u1', (0, 1, 2)),
    'mono16': (1, 'u2', (0,)),
    '16UC1': (1, 'u2', (0,)),
    '32FC1': (1, 'f4', (0,)),
}
# sensor_msgs/PointField: datatype to numpy type.
POINT_TYPES = {1: 'i1', 2: 'u1', 3: 'i2', 4: 'u2', 5: 'i4', 6: 'u4', 7: 'f4', 8: 'f8'}


class ImageDecoder(SensorDecoder):
    """sensor_msgs/Image.

    Attributes:
        image: rows from the top, shape (height, width, 3) in red, green, blue order or
            (height, width).
    """

    type_name = 'sensor_msgs/msg/Image'

    def __init__(self) -> None:
        """Have no picture yet."""
        super().__init__()
        self.image = np.zeros((0, 0, 3), np.uint8)

    def _decode(self, data: bytes) -> None:
        cursor = CdrCursor(data)
        stamp = cursor.header()
        height, width = cursor.integer(), cursor.integer()
        encoding = cursor.string()
        order = '>' if cursor.byte() else '<'
        step = cursor.integer()
        pixels = cursor.sequence('u1')
        if encoding not in ENCODINGS:
            raise MalformedMessage(
                f'encoding {encoding!r} is not among {", ".join(sorted(ENCODINGS))}'
            )
        channels, kind, picked = ENCODINGS[encoding]
        dtype = np.dtype(order + kind)
        row = width * channels * dtype.itemsize
        if step < row or pixels.size < step * height:
            raise MalformedMessage(
                f'{pixels.size} bytes with step {step} for {width}x{height} {encoding}'
            )
        rows = np.ascontiguousarray(pixels[: step * height].reshape(height, step)[:, :row])
        image = rows.view(dtype).reshape(height, width, channels)
        self.image = image[:, :, 0] if channels == 1 else image[:, :, picked]
        self.stamp = stamp


class PointCloudDecoder(SensorDecoder):
    """sensor_msgs/PointCloud2.

    Attributes:
        points: x, y, z in the message's frame [m], shape (points, 3), rows first.
        width, height: of an organized cloud; height 1 for a list of points.
        is_dense: whether all points are finite.
    """

    type_name = 'sensor_msgs/msg/PointCloud2'

    def __init__(self) -> None:
        """Have no points yet."""
        super().__init__()
        self.points = np.zeros((0, 3), np.float32)
        self.width = self.height = 0
        self.is_dense = True

    def _decode(self, data: bytes) -> None:
        cursor = CdrCursor(data)
        stamp = cursor.header()
        height, width = cursor.integer(), cursor.integer()
        fields: dict[str, tuple[int, int]] = {}
        for _ in range(cursor.integer()):
            name, offset, kind = cursor.string(), cursor.integer(), cursor.byte()
            cursor.integer()
            fields[name] = (offset, kind)
        order = '>' if cursor.byte() else '<'
        point_step, row_step = cursor.integer(), cursor.integer()
        raw = cursor.sequence('u1')
        is_dense = bool(cursor.byte())
        if row_step < point_step * width or raw.size < row_step * height:
            raise MalformedMessage(
                f'{raw.size} bytes with row step {row_step} for {width}x{height} points'
            )
        points = np.zeros((0, 3), np.float32)
        if width * height:
            # The steps of no points may be anything.
            columns = _columns(fields, order, point_step)
            rows = raw[: row_step * height].reshape(height, row_step)[:, : point_step * width]
            table: Any = np.ascontiguousarray(rows).view(columns).reshape(-1)
            points = np.stack([table[axis] for axis in 'xyz'], axis=1).astype(np.float32)
        self.points = points
        self.width, self.height, self.is_dense = width, height, is_dense
        self.stamp = stamp


def _columns(fields: dict[str, tuple[int, int]], order: str, point_step: int) -> np.dtype:
    offsets, kinds = [], []
    for axis in 'xyz':
        offset, kind = fields.get(axis, (0, 0))
        if kind not in POINT_TYPES:
            raise MalformedMessage(f'no field {axis!r} among {", ".join(fields) or "none"}')
        kinds.append(order + POINT_TYPES[kind])
        offsets.append(offset)
        if offset + np.dtype(kinds[-1]).itemsize > point_step:
            raise MalformedMessage(f'field {axis!r} lies behind the point step {point_step}')
    return np.dtype(
        {'names': ['x', 'y', 'z'], 'formats': kinds, 'offsets': offsets, 'itemsize': point_step}
    )
