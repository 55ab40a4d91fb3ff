"""Robot models: bodies, links and devices, kinematics and dynamics."""

from cnoid_control.body.body import Body, BodyState
from cnoid_control.body.description import JointType, StateFlag
from cnoid_control.body.devices import (
    AccelerationSensor,
    Camera,
    ForceSensor,
    GenericDevice,
    Imu,
    Light,
    PointLight,
    RangeCamera,
    RangeSensor,
    RateGyroSensor,
    SpotLight,
    VisionSensor,
)
from cnoid_control.body.devices.base import Device, DeviceList
from cnoid_control.body.exceptions import ModelError, MotionError
from cnoid_control.body.formats.load import load_body
from cnoid_control.body.joint_group import JointGroup
from cnoid_control.body.joint_path import JointPath, Rows, get_joint_path
from cnoid_control.body.kinematics import (
    calc_angular_momentum_jacobian,
    calc_cm_jacobian,
    calc_inverse_dynamics,
    calc_link_jacobian,
    calc_mass_matrix,
)
from cnoid_control.body.link import ContactPoint, Link

__all__ = [
    'AccelerationSensor',
    'Body',
    'BodyState',
    'Camera',
    'ContactPoint',
    'Device',
    'DeviceList',
    'ForceSensor',
    'GenericDevice',
    'Imu',
    'JointGroup',
    'JointPath',
    'JointType',
    'Light',
    'Link',
    'ModelError',
    'MotionError',
    'PointLight',
    'RangeCamera',
    'RangeSensor',
    'RateGyroSensor',
    'Rows',
    'SpotLight',
    'StateFlag',
    'VisionSensor',
    'calc_angular_momentum_jacobian',
    'calc_cm_jacobian',
    'calc_inverse_dynamics',
    'calc_link_jacobian',
    'calc_mass_matrix',
    'get_joint_path',
    'load_body',
]
