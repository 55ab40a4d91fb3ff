"""The robot model: bodies, links and devices, and what can be computed from them."""

from cnoid_control.body.body import Body, BodyState
from cnoid_control.body.device import Device
from cnoid_control.body.device_list import DeviceList
from cnoid_control.body.joint_type import JointType
from cnoid_control.body.link import ContactPoint, Link
from cnoid_control.body.state_flag import StateFlag

__all__ = [
    'Body',
    'BodyState',
    'ContactPoint',
    'Device',
    'DeviceList',
    'JointType',
    'Link',
    'StateFlag',
]
