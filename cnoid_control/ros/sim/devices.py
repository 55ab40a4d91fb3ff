"""Publishers of the sensors that are measured in every tick: one class a message type."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Imu as ImuMessage

from cnoid_control.body import Device
from cnoid_control.messages.commands import MessageTemplate, marks
from cnoid_control.ros.raw_dds import RawPublisher

# Value of a covariance's first element that says that there is no such estimate.
NO_ESTIMATE = -1.0


def frame_of(device: Device) -> str:
    """Frame that a device's values are given in: its link where it sits at the link's origin."""
    assert device.link is not None
    return device.link.name if np.array_equal(device.T_local, np.eye(4)) else device.name


class DevicePublisher(abc.ABC):
    """Publishes one device; `publish` is called in every tick.

    Attributes:
        controller_type: broadcaster that serves such a device in ros2_control; empty for none.
        state_interfaces: names of the interfaces that the broadcaster reads.
        device: the device.
    """

    controller_type: ClassVar[str] = ''
    state_interfaces: ClassVar[tuple[str, ...]] = ()
    message_type: ClassVar[type]

    def __init__(self, node: Node, device: Device, topic: str, qos: QoSProfile) -> None:
        """Advertise the topic."""
        self.device: Any = device
        self.outbox = RawPublisher(node, self.message_type, topic, qos)

    @abc.abstractmethod
    def publish(self, stamp: int) -> None:
        """Publish what the device measures, with the stamp [ns] of the tick."""


class ImuPublisher(DevicePublisher):
    """Inertial units, gyros and accelerometers; the orientation is the true one."""

    controller_type = 'imu_sensor_broadcaster/IMUSensorBroadcaster'
    state_interfaces = (
        *(f'orientation.{axis}' for axis in 'xyzw'),
        *(f'angular_velocity.{axis}' for axis in 'xyz'),
        *(f'linear_acceleration.{axis}' for axis in 'xyz'),
    )
    message_type = ImuMessage

    def __init__(self, node: Node, device: Device, topic: str, qos: QoSProfile) -> None:
        """Advertise the topic and prepare the message."""
        super().__init__(node, device, topic, qos)
        message: Any = ImuMessage()
        message.header.frame_id = frame_of(device)
        turn, rate, push = marks(0, 4), marks(4, 3), marks(7, 3)
        for field, values in (
            (message.orientation, turn),
            (message.angular_velocity, rate),
            (message.linear_acceleration, push),
        ):
            for axis, value in zip('xyzw', values, strict=False):
                setattr(field, axis, value)
        self._gyro: Any = device if hasattr(device, 'w') else None
        self._accelerometer: Any = device if hasattr(device, 'dv') else None
        if self._gyro is None:
            message.angular_velocity_covariance[0] = NO_ESTIMATE
        if self._accelerometer is None:
            message.linear_acceleration_covariance[0] = NO_ESTIMATE
        self._template = MessageTemplate(message)
        self._orientation = self._template.view(turn)
        self._rate, self._acceleration = self._template.view(rate), self._template.view(push)
        self._rate[:] = self._acceleration[:] = 0.0

    def publish(self, stamp: int) -> None:
        """Publish orientation in the world, angular velocity and specific force."""
        device = self.device
        self._orientation[:] = pin.Quaternion(device.link.R @ device.R_local).coeffs()
        if self._gyro is not None:
            self._rate[:] = self._gyro.w
        if self._accelerometer is not None:
            self._acceleration[:] = self._accelerometer.dv
        self.outbox.send(self._template.encode(stamp))


class WrenchPublisher(DevicePublisher):
    """Force and torque sensors."""

    controller_type = 'force_torque_sensor_broadcaster/ForceTorqueSensorBroadcaster'
    state_interfaces = (
        *(f'force.{axis}' for axis in 'xyz'),
        *(f'torque.{axis}' for axis in 'xyz'),
    )
    message_type = WrenchStamped

    def __init__(self, node: Node, device: Device, topic: str, qos: QoSProfile) -> None:
        """Advertise the topic and prepare the message."""
        super().__init__(node, device, topic, qos)
        message: Any = WrenchStamped()
        message.header.frame_id = frame_of(device)
        values = marks(0, 6)
        for axis, force, torque in zip('xyz', values[:3], values[3:], strict=True):
            setattr(message.wrench.force, axis, force)
            setattr(message.wrench.torque, axis, torque)
        self._template = MessageTemplate(message)
        self._wrench = self._template.view(values)

    def publish(self, stamp: int) -> None:
        """Publish force [N] and torque [N m] in sensor axes."""
        self._wrench[:] = self.device.F
        self.outbox.send(self._template.encode(stamp))
