"""Which messages feed which devices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cnoid_control.body.device import Device
from cnoid_control.body.devices import (
    AccelerationSensor,
    Camera,
    ForceSensor,
    Imu,
    RangeCamera,
    RangeSensor,
    RateGyroSensor,
)
from cnoid_control.ros.image_decoders import ImageDecoder, PointCloudDecoder
from cnoid_control.ros.sensor_decoders import (
    ImuDecoder,
    LaserScanDecoder,
    RangeDecoder,
    SensorDecoder,
    WrenchDecoder,
)

Apply = Callable[[Any, Any], bool]


class DeviceFeed(NamedTuple):
    """How one kind of message feeds one kind of device.

    Attributes:
        decoder: class that reads the message.
        apply: copies the decoder's values into the device; False where the message lacks them.
        is_large: whether the messages are too large to be read in the loop thread.
    """

    decoder: type[SensorDecoder]
    apply: Apply
    is_large: bool = False


def _imu(device: Imu, decoder: ImuDecoder) -> bool:
    return _gyro(device, decoder) and _acceleration(device, decoder)


def _gyro(device: Imu | RateGyroSensor, decoder: ImuDecoder) -> bool:
    device.w[:] = decoder.angular_velocity
    return decoder.has_angular_velocity and math.isfinite(device.w.dot(device.w))


def _acceleration(device: Imu | AccelerationSensor, decoder: ImuDecoder) -> bool:
    device.dv[:] = decoder.linear_acceleration
    return decoder.has_linear_acceleration and math.isfinite(device.dv.dot(device.dv))


def _force(device: ForceSensor, decoder: WrenchDecoder) -> bool:
    device.F[:] = decoder.numbers
    return math.isfinite(device.F.dot(device.F))


def _camera(device: Camera, decoder: ImageDecoder) -> bool:
    device.image = decoder.image
    return True


def _points(device: RangeCamera, decoder: PointCloudDecoder) -> bool:
    device.points = decoder.points
    return True


def _scan(device: RangeSensor, decoder: LaserScanDecoder) -> bool:
    ranges = decoder.ranges.astype(float)
    # Outside of the scanner's own range there is nothing that it could have hit.
    ranges[~(ranges <= decoder.range_max)] = np.inf
    device.range_data = ranges
    return True


def _range(device: RangeSensor, decoder: RangeDecoder) -> bool:
    distance = decoder.range
    device.range_data = np.array([distance if distance <= decoder.max_range else np.inf])
    return True


# The first feed of a device is the one that is used where the topic's type is not known.
FEEDS: dict[type[Device], tuple[DeviceFeed, ...]] = {
    Imu: (DeviceFeed(ImuDecoder, _imu),),
    RateGyroSensor: (DeviceFeed(ImuDecoder, _gyro),),
    AccelerationSensor: (DeviceFeed(ImuDecoder, _acceleration),),
    ForceSensor: (DeviceFeed(WrenchDecoder, _force),),
    RangeCamera: (
        DeviceFeed(PointCloudDecoder, _points, is_large=True),
        DeviceFeed(ImageDecoder, _camera, is_large=True),
    ),
    Camera: (DeviceFeed(ImageDecoder, _camera, is_large=True),),
    RangeSensor: (
        DeviceFeed(LaserScanDecoder, _scan),
        DeviceFeed(RangeDecoder, _range),
    ),
}


def feeds_of(device: Device) -> tuple[DeviceFeed, ...]:
    """The messages that can feed a device; empty for a device that measures nothing."""
    for kind in type(device).__mro__:
        if kind in FEEDS:
            return FEEDS[kind]
    return ()


def default_topic(device: Device) -> str:
    """Relative topic of a device that the configuration does not give one."""
    if isinstance(device, (Imu, RateGyroSensor, AccelerationSensor)):
        return 'imu_sensor_broadcaster/imu'
    if isinstance(device, ForceSensor):
        return f'{device.name}_broadcaster/wrench'
    if isinstance(device, RangeSensor):
        return f'{device.name}/scan'
    if isinstance(device, RangeCamera):
        return f'{device.name}/points'
    return f'{device.name}/image'
