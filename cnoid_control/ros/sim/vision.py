"""Publishers of the sensors that look at the world at a rate of their own."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Image, LaserScan, PointCloud2, PointField

from cnoid_control.body import Device
from cnoid_control.messages.cdr import NANOSECONDS
from cnoid_control.ros.sim.devices import DevicePublisher, frame_of


class VisionPublisher(DevicePublisher, abc.ABC):
    """Base of the sensors that measure at a rate of their own: published when they have."""

    def __init__(self, node: Node, device: Device, topic: str, qos: QoSProfile) -> None:
        """Advertise the topic."""
        super().__init__(node, device, topic, qos)
        self._fresh = False
        device.state_changed.connect(self._note)

    def _note(self, device: Device) -> None:
        self._fresh = True

    def publish(self, stamp: int) -> None:
        """Publish the measurement, once."""
        if not self._fresh:
            return
        self._fresh = False
        message = self._message()
        message.header.frame_id = frame_of(self.device)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, NANOSECONDS)
        self.outbox.send(serialize_message(message))

    @abc.abstractmethod
    def _message(self) -> Any:
        """What the device has measured, as a message without a header."""


class ImagePublisher(VisionPublisher):
    """Colour cameras."""

    message_type = Image

    def _message(self) -> Any:
        pixels = np.ascontiguousarray(self.device.image, dtype=np.uint8)
        height, width = pixels.shape[:2]
        return Image(
            height=height,
            width=width,
            encoding='rgb8' if pixels.ndim == 3 else 'mono8',
            step=pixels.strides[0],
            data=pixels.tobytes(),
        )


class PointCloudPublisher(VisionPublisher):
    """Range cameras."""

    message_type = PointCloud2

    def _message(self) -> Any:
        points = np.ascontiguousarray(self.device.points, dtype=np.float32)
        device = self.device
        height = device.height if device.organized else 1
        fields = [
            PointField(name=axis, offset=4 * i, datatype=PointField.FLOAT32, count=1)
            for i, axis in enumerate('xyz')
        ]
        width = len(points) // max(height, 1)
        return PointCloud2(
            height=height,
            width=width,
            fields=fields,
            point_step=12,
            row_step=12 * width,
            data=points.tobytes(),
            is_dense=bool(np.isfinite(points).all()),
        )


class LaserScanPublisher(VisionPublisher):
    """Range sensors: the first row of their rays."""

    message_type = LaserScan

    def _message(self) -> Any:
        device = self.device
        angles = device.yaw_angles
        ranges = np.asarray(device.range_data, dtype=np.float32)[: len(angles)]
        return LaserScan(
            angle_min=float(angles[0]),
            angle_max=float(angles[-1]),
            angle_increment=float(device.yaw_step),
            range_min=float(device.min_distance),
            range_max=float(device.max_distance),
            ranges=ranges.tolist(),
        )
