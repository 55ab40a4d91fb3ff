"""The devices a robot can carry, one class a file."""

from cnoid_control.body.devices.acceleration_sensor import AccelerationSensor
from cnoid_control.body.devices.camera import Camera, ImageType, LensType
from cnoid_control.body.devices.force_sensor import ForceSensor
from cnoid_control.body.devices.imu import Imu
from cnoid_control.body.devices.light import Light
from cnoid_control.body.devices.point_light import PointLight
from cnoid_control.body.devices.range_camera import RangeCamera
from cnoid_control.body.devices.range_sensor import RangeSensor
from cnoid_control.body.devices.rate_gyro_sensor import RateGyroSensor
from cnoid_control.body.devices.spot_light import SpotLight
from cnoid_control.body.devices.vision_sensor import OpticalFrame, VisionSensor

__all__ = [
    'AccelerationSensor',
    'Camera',
    'ForceSensor',
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
