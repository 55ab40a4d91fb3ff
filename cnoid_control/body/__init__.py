"""The robot model: bodies, links and devices, and what can be computed from them."""

from cnoid_control.body.body import Body, BodyState
from cnoid_control.body.device import Device
from cnoid_control.body.device_list import DeviceList
from cnoid_control.body.devices import (
    AccelerationSensor,
    Camera,
    ForceSensor,
    Imu,
    Light,
    PointLight,
    RangeCamera,
    RangeSensor,
    RateGyroSensor,
    SpotLight,
    VisionSensor,
)
from cnoid_control.body.dynamics import calc_inverse_dynamics, calc_mass_matrix
from cnoid_control.body.jacobians import (
    calc_angular_momentum_jacobian,
    calc_cm_jacobian,
    calc_link_jacobian,
)
from cnoid_control.body.joint_group import JointGroup
from cnoid_control.body.joint_path import JointPath, Rows, get_joint_path
from cnoid_control.body.joint_type import JointType
from cnoid_control.body.link import ContactPoint, Link
from cnoid_control.body.model_loader import load_body
from cnoid_control.body.state_flag import StateFlag
from cnoid_control.body.urdf_hardware import select_hardware

__all__ = [
    'AccelerationSensor',
    'Body',
    'BodyState',
    'Camera',
    'ContactPoint',
    'Device',
    'DeviceList',
    'ForceSensor',
    'Imu',
    'JointGroup',
    'JointPath',
    'JointType',
    'Light',
    'Link',
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
    'select_hardware',
]
