"""Layouts of the messages that logs are made of."""

from __future__ import annotations

import numpy as np

from cnoid_control.log.cdr_layout import CdrLayout


def joint_state(names: list[str], efforts: bool = True) -> CdrLayout:
    """sensor_msgs/JointState: position, velocity and, where wanted, effort of these joints."""
    layout = CdrLayout('sensor_msgs/msg/JointState')
    layout.header('')
    layout.texts(names)
    layout.sequence('position', len(names))
    layout.sequence('velocity', len(names))
    layout.sequence('effort', len(names) if efforts else 0)
    return layout


def odometry(frame: str, child_frame: str) -> CdrLayout:
    """nav_msgs/Odometry: pose (position, quaternion) and twist (in the child frame)."""
    layout = CdrLayout('nav_msgs/msg/Odometry')
    layout.header(frame)
    layout.text(child_frame)
    layout.numbers('pose', 7)
    layout.numbers('', 36)
    layout.numbers('twist', 6)
    layout.numbers('', 36)
    return layout


def numbers(count: int) -> CdrLayout:
    """std_msgs/Float64MultiArray: data of one size."""
    layout = CdrLayout('std_msgs/msg/Float64MultiArray')
    layout.numbers('', dtype='<u4')
    layout.numbers('', dtype='<u4')
    layout.sequence('data', count)
    return layout


def text(value: str) -> CdrLayout:
    """std_msgs/String: a constant text."""
    layout = CdrLayout('std_msgs/msg/String')
    layout.text(value)
    return layout


def vector(frame: str, name: str) -> CdrLayout:
    """geometry_msgs/Vector3Stamped: one vector."""
    layout = CdrLayout('geometry_msgs/msg/Vector3Stamped')
    layout.header(frame)
    layout.numbers(name, 3)
    return layout


def wrench(frame: str) -> CdrLayout:
    """geometry_msgs/WrenchStamped: force and torque."""
    layout = CdrLayout('geometry_msgs/msg/WrenchStamped')
    layout.header(frame)
    layout.numbers('F', 6)
    return layout


def imu(frame: str) -> CdrLayout:
    """sensor_msgs/Imu: angular velocity and acceleration; it knows no orientation."""
    layout = CdrLayout('sensor_msgs/msg/Imu')
    layout.header(frame)
    layout.numbers('', 4)
    layout.numbers('', 1, value=-1.0)  # stands for an orientation that is not measured
    layout.numbers('', 8)
    layout.numbers('w', 3)
    layout.numbers('', 9)
    layout.numbers('dv', 3)
    layout.numbers('', 9)
    return layout


def image(frame: str, pixels: np.ndarray) -> CdrLayout:
    """sensor_msgs/Image with the size of a picture of shape (height, width[, 3]), uint8."""
    height, width = pixels.shape[:2]
    layout = CdrLayout('sensor_msgs/msg/Image')
    layout.header(frame)
    layout.numbers('', dtype='<u4', value=height)
    layout.numbers('', dtype='<u4', value=width)
    layout.text('rgb8' if pixels.ndim == 3 else 'mono8')
    layout.numbers('', dtype='u1')
    layout.numbers('', dtype='<u4', value=pixels[:1].size)
    layout.sequence('data', pixels.size, 'u1')
    return layout


def point_cloud(frame: str, height: int, width: int) -> CdrLayout:
    """sensor_msgs/PointCloud2 of float32 x, y, z."""
    layout = CdrLayout('sensor_msgs/msg/PointCloud2')
    layout.header(frame)
    layout.numbers('', dtype='<u4', value=height)
    layout.numbers('', dtype='<u4', value=width)
    layout.numbers('', dtype='<u4', value=3)
    for index, name in enumerate('xyz'):
        layout.text(name)
        layout.numbers('', dtype='<u4', value=4 * index)
        layout.numbers('', dtype='u1', value=7)  # FLOAT32
        layout.numbers('', dtype='<u4', value=1)
    layout.numbers('', dtype='u1')
    layout.numbers('', dtype='<u4', value=12)
    layout.numbers('', dtype='<u4', value=12 * width)
    layout.sequence('data', 12 * height * width, 'u1')
    layout.numbers('', dtype='u1', value=0)
    return layout


def laser_scan(frame: str, count: int) -> CdrLayout:
    """sensor_msgs/LaserScan: angle_min, angle_max, angle_increment, ..., ranges."""
    layout = CdrLayout('sensor_msgs/msg/LaserScan')
    layout.header(frame)
    layout.numbers('scan', 7, '<f4')
    layout.sequence('ranges', count, '<f4')
    layout.sequence('', 0, '<f4')
    return layout
