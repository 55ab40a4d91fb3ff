"""Which message a device is published by."""

from __future__ import annotations

from cnoid_control.body import Device
from cnoid_control.body.devices import (
    AccelerationSensor,
    Camera,
    ForceSensor,
    Imu,
    RangeCamera,
    RangeSensor,
    RateGyroSensor,
)
from cnoid_control.ros.exceptions import UnsupportedDevice
from cnoid_control.ros.sim.devices import DevicePublisher, ImuPublisher, WrenchPublisher
from cnoid_control.ros.sim.vision import ImagePublisher, LaserScanPublisher, PointCloudPublisher

PUBLISHERS: tuple[tuple[type[Device], type[DevicePublisher]], ...] = (
    (Imu, ImuPublisher),
    (RateGyroSensor, ImuPublisher),
    (AccelerationSensor, ImuPublisher),
    (ForceSensor, WrenchPublisher),
    (RangeSensor, LaserScanPublisher),
    (RangeCamera, PointCloudPublisher),
    (Camera, ImagePublisher),
)


def is_served(device: Device) -> bool:
    """Whether there is a message for such a device."""
    return any(isinstance(device, device_type) for device_type, _ in PUBLISHERS)


def publisher_class(device: Device) -> type[DevicePublisher]:
    """Class that publishes such a device.

    Raises:
        UnsupportedDevice: there is no message for it.
    """
    for device_type, publisher in PUBLISHERS:
        if isinstance(device, device_type):
            return publisher
    raise UnsupportedDevice(device, [device_type.__name__ for device_type, _ in PUBLISHERS])
