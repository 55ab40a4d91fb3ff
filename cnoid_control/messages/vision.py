"""What cameras, range cameras and range finders see, as fields of ROS 2 messages and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from cnoid_control.body.devices import Camera, RangeCamera, RangeSensor
from cnoid_control.body.devices.base import Device
from cnoid_control.messages.exceptions import MalformedMessage

# --- sensor_msgs/Image ------------------------------------------------------------------------

# Encodings that can be read: channels, numpy type, and which channels are red, green, blue.
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


def decode_image(message: Any) -> np.ndarray:
    """Rows from the top, shape (height, width, 3) in red, green, blue order or (height, width)."""
    height, width, step = int(message.height), int(message.width), int(message.step)
    encoding = message.encoding
    if encoding not in ENCODINGS:
        raise MalformedMessage(
            f'encoding {encoding!r} is not among {", ".join(sorted(ENCODINGS))}'
        )
    channels, kind, picked = ENCODINGS[encoding]
    dtype = np.dtype(('>' if message.is_bigendian else '<') + kind)
    pixels = np.asarray(message.data, np.uint8)
    row = width * channels * dtype.itemsize
    if step < row or pixels.size < step * height:
        raise MalformedMessage(
            f'{pixels.size} bytes with step {step} for {width}x{height} {encoding}'
        )
    rows = np.ascontiguousarray(pixels[: step * height].reshape(height, step)[:, :row])
    image = rows.view(dtype).reshape(height, width, channels)
    return image[:, :, 0] if channels == 1 else image[:, :, picked]


def encode_image(device: Camera, image: np.ndarray) -> dict[str, Any]:
    """Fields of the message of an image of shape (height, width[, 3]), uint8."""
    pixels = np.ascontiguousarray(image, dtype=np.uint8)
    return {
        'height': pixels.shape[0],
        'width': pixels.shape[1],
        'encoding': 'rgb8' if pixels.ndim == 3 else 'mono8',
        'step': pixels[:1].size,
        'data': pixels.reshape(-1),
    }


# --- sensor_msgs/PointCloud2 ------------------------------------------------------------------

# sensor_msgs/PointField: datatype to numpy type.
POINT_TYPES = {1: 'i1', 2: 'u1', 3: 'i2', 4: 'u2', 5: 'i4', 6: 'u4', 7: 'f4', 8: 'f8'}
FLOAT32 = 7


def decode_points(message: Any) -> np.ndarray:
    """x, y, z in the message's frame [m], shape (points, 3), float32, rows first."""
    height, width = int(message.height), int(message.width)
    point_step, row_step = int(message.point_step), int(message.row_step)
    raw = np.asarray(message.data, np.uint8)
    if row_step < point_step * width or raw.size < row_step * height:
        raise MalformedMessage(
            f'{raw.size} bytes with row step {row_step} for {width}x{height} points'
        )
    if not width * height:
        # The steps of no points may be anything.
        return np.zeros((0, 3), np.float32)
    columns = _columns(message, point_step)
    rows = raw[: row_step * height].reshape(height, row_step)[:, : point_step * width]
    table: Any = np.ascontiguousarray(rows).view(columns).reshape(-1)
    return np.stack([table[axis] for axis in 'xyz'], axis=1).astype(np.float32)


def _columns(message: Any, point_step: int) -> np.dtype:
    fields = {field.name: (int(field.offset), int(field.datatype)) for field in message.fields}
    order = '>' if message.is_bigendian else '<'
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


def encode_points(device: RangeCamera, points: np.ndarray) -> dict[str, Any]:
    """Fields of the message of points of shape (n, 3), with a row per row of the picture."""
    return _cloud(points, device.height if device.organized and len(points) else 1)


def _cloud(points: np.ndarray, height: int) -> dict[str, Any]:
    points = np.ascontiguousarray(points, dtype='<f4')
    width = len(points) // height
    fields = [
        {'name': axis, 'offset': 4 * i, 'datatype': FLOAT32, 'count': 1}
        for i, axis in enumerate('xyz')
    ]
    return {
        'height': height,
        'width': width,
        'fields': fields,
        'point_step': 12,
        'row_step': 12 * width,
        'data': points.view(np.uint8).reshape(-1),
        'is_dense': bool(np.isfinite(points).all()),
    }


# --- sensor_msgs/LaserScan, sensor_msgs/Range -------------------------------------------------


def decode_scan(message: Any) -> np.ndarray:
    """Distances [m], counter-clockwise from angle_min; infinite beyond the scanner's range."""
    ranges = np.asarray(message.ranges, np.float32).astype(float)
    ranges[~(ranges <= message.range_max)] = np.inf
    return ranges


def encode_scan(device: RangeSensor, ranges: np.ndarray) -> dict[str, Any]:
    """Fields of the message of a sensor with one row of rays."""
    angles = device.yaw_angles
    return {
        'angle_min': angles[0],
        'angle_max': angles[-1],
        'angle_increment': device.yaw_step,
        'scan_time': 1.0 / device.frame_rate if device.frame_rate > 0.0 else 0.0,
        'range_min': device.min_distance,
        'range_max': device.max_distance,
        'ranges': np.asarray(ranges, np.float32)[: len(angles)],
    }


def encode_grid(device: RangeSensor, ranges: np.ndarray) -> dict[str, Any]:
    """Fields of a cloud with a point for every sample, a row per pitch; infinite for nothing."""
    points = np.full((len(ranges), 3), np.inf)
    hit = np.isfinite(ranges)
    points[hit] = device.directions[hit] * ranges[hit, None]
    return _cloud(points, device.num_pitch_samples if len(ranges) else 1)


def decode_range(message: Any) -> np.ndarray:
    """Distance [m], shape (1,); infinite beyond the sensor's range."""
    return np.array([message.range if message.range <= message.max_range else np.inf], float)


def decode_numbers(message: Any) -> np.ndarray:
    """Data of a std_msgs/Float64MultiArray."""
    return np.array(message.data, float)


def encode_numbers(device: Device, values: np.ndarray) -> dict[str, Any]:
    """Fields of a std_msgs/Float64MultiArray."""
    return {'data': values}
