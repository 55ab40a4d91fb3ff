"""Devices as ROS 2 messages, and back."""

from __future__ import annotations

import struct

import numpy as np

from cnoid_control.body import Device
from cnoid_control.body.devices import (
    AccelerationSensor,
    ForceSensor,
    Imu,
    RangeSensor,
    RateGyroSensor,
)
from cnoid_control.messages import layouts
from cnoid_control.messages.layouts import CdrLayout, stamps
from cnoid_control.log.writer import Batch


def measurement_layout(device: Device) -> CdrLayout:
    """Message of a device with measured numbers; its fields are the device's, or 'data'."""
    if isinstance(device, ForceSensor):
        return layouts.wrench(device.name)
    if isinstance(device, RateGyroSensor):
        return layouts.vector(device.name, 'w')
    if isinstance(device, AccelerationSensor):
        return layouts.vector(device.name, 'dv')
    if isinstance(device, Imu):
        return layouts.imu(device.name)
    return layouts.numbers(sum(getattr(device, name).size for name in device.measured_fields))


def split_measurements(device: Device, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Values of `measurement_layout`'s fields from rows of measured numbers, shape (n, size)."""
    fields = {'data': rows}
    start = 0
    for name in device.measured_fields:
        size = getattr(device, name).size
        fields[name] = rows[:, start : start + size]
        start += size
    return fields


def join_measurements(device: Device, layout: CdrLayout, messages: np.ndarray) -> np.ndarray:
    """Rows of measured numbers, shape (n, size), from messages of `measurement_layout`."""
    if 'data' in layout.fields:
        return layout.decode(messages, 'data')
    return np.concatenate([layout.decode(messages, name) for name in device.measured_fields], 1)


def data_messages(
    device: Device, topic: str, data: dict[str, np.ndarray], time: int
) -> list[Batch]:
    """Messages of what a device saw.

    Args:
        device: the device.
        topic: its topic.
        data: its data fields at the time.
        time: the time [ns].
    """
    batches = []
    if 'points' in data:
        batches.append(_point_cloud(device, topic, data['points'], time))
        topic = f'{topic}/image'
    if 'image' in data:
        layout = layouts.image(device.name, data['image'])
        batches.append(_batch(layout, topic, time, {'data': data['image'].reshape(1, -1)}))
    if 'range_data' in data:
        ranges = data['range_data']
        batches.append(_laser_scan(device, topic, ranges, time))
        # A LaserScan has single precision; these are the numbers that the controller saw.
        layout = layouts.numbers(ranges.size)
        batches.append(_batch(layout, f'{topic}/ranges', time, {'data': ranges[None]}))
    return batches


def data_topics(device: Device, topic: str) -> dict[str, str]:
    """Topic that holds each data field of a device without loss."""
    names = device.data_fields
    topics = {'points': topic, 'range_data': f'{topic}/ranges'}
    topics['image'] = f'{topic}/image' if 'points' in names else topic
    return {name: topics[name] for name in names if name in topics}


def decode_data(field: str, message: bytes) -> np.ndarray:
    """Data field of a device from its message."""
    if field == 'range_data':
        layout = layouts.numbers((len(message) - layouts.numbers(0).length) // 8)
        return layout.decode(np.frombuffer(message, np.uint8)[None], 'data')[0].copy()
    # Header: encapsulation, stamp, frame; then height and width.
    end = 16 + struct.unpack_from('<I', message, 12)[0]
    end += -(end - 4) % 4
    height, width = struct.unpack_from('<II', message, end)
    if field == 'points':
        points = np.frombuffer(message[-1 - 12 * height * width : -1], np.float32)
        return points.reshape(-1, 3).copy()
    channels = (3,) if message[end + 12 : end + 16] == b'rgb8' else ()
    size = height * width * (channels[0] if channels else 1)
    pixels = np.frombuffer(message[len(message) - size :], np.uint8)
    return pixels.reshape(height, width, *channels).copy()


def _batch(layout: CdrLayout, topic: str, time: int, values: dict[str, np.ndarray]) -> Batch:
    times = np.array([time], dtype=np.uint64)
    rows = layout.encode(values | {'stamp': stamps(times)}, 1)
    return Batch(topic, layout.schema, times, rows)


def _point_cloud(device: Device, topic: str, points: np.ndarray, time: int) -> Batch:
    organized = getattr(device, 'organized', False) and len(points)
    height = getattr(device, 'height', 1) if organized else 1
    layout = layouts.point_cloud(device.name, height, len(points) // height)
    raw = np.ascontiguousarray(points, dtype='<f4').view(np.uint8).reshape(1, -1)
    return _batch(layout, topic, time, {'data': raw})


def _laser_scan(device: Device, topic: str, ranges: np.ndarray, time: int) -> Batch:
    assert isinstance(device, RangeSensor)
    yaw = device.yaw_angles
    period = 1.0 / device.frame_rate if device.frame_rate > 0.0 else 0.0
    scan = [yaw[0], yaw[-1], device.yaw_step, 0.0, period]
    scan += [device.min_distance, device.max_distance]
    layout = layouts.laser_scan(device.name, ranges.size)
    return _batch(layout, topic, time, {'scan': np.array([scan]), 'ranges': ranges[None]})
