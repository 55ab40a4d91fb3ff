"""Devices that a robot can carry: sensors, cameras, lights, and others."""

from cnoid_control.body.devices.base import Device, DeviceList
from cnoid_control.body.devices.generic import GenericDevice
from cnoid_control.body.devices.light import Light, PointLight, SpotLight
from cnoid_control.body.devices.motion import AccelerationSensor, ForceSensor, Imu, RateGyroSensor
from cnoid_control.body.devices.vision import (
    Camera,
    ImageType,
    LensType,
    OpticalFrame,
    RangeCamera,
    RangeSensor,
    VisionSensor,
)

__all__ = [
    'AccelerationSensor',
    'Camera',
    'Device',
    'DeviceList',
    'ForceSensor',
    'GenericDevice',
    'ImageType',
    'Imu',
    'LensType',
    'Light',
    'OpticalFrame',
    'PointLight',
    'RangeCamera',
    'RangeSensor',
    'RateGyroSensor',
    'SpotLight',
    'VisionSensor',
]
