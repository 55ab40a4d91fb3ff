"""Publishers of a simulated robot's devices, by the table of device kinds."""

from __future__ import annotations

import abc
from collections import deque
from collections.abc import Callable
from functools import partial

import numpy as np
import pinocchio as pin
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64MultiArray

from cnoid_control.body import Body, Device
from cnoid_control.exceptions import choices, describe
from cnoid_control.messages.device_commands import apply_device_command, command_topic
from cnoid_control.messages.devices import (
    DEVICE_KINDS,
    DataMessage,
    NumbersMessage,
    Stream,
    kind_of,
)
from cnoid_control.messages.exceptions import MalformedMessage
from cnoid_control.messages.frames import frame_of
from cnoid_control.messages.layouts import MessageBuffer
from cnoid_control.ros.exceptions import RosError
from cnoid_control.ros.message_types import message_class
from cnoid_control.ros.raw_dds import RawPublisher

# Device commands that may wait to be taken.
QUEUE = 10


class DevicePublisher(abc.ABC):
    """Publishes one device; `publish` is called in every tick.

    Attributes:
        device: the device.
        outbox: where the messages go.
    """

    def __init__(
        self, node: Node, device: Device, topic: str, qos: QoSProfile, type_name: str
    ) -> None:
        """Advertise the topic."""
        self.device = device
        self.outbox = RawPublisher(node, message_class(type_name), topic, qos)

    @abc.abstractmethod
    def publish(self, stamp: int) -> None:
        """Publish what the device measures, with the stamp [ns] of the tick."""


class NumbersPublisher(DevicePublisher):
    """A device that is measured in every tick; an orientation is the true one."""

    def __init__(
        self,
        node: Node,
        device: Device,
        topic: str,
        qos: QoSProfile,
        message: NumbersMessage,
        prefix: str,
    ) -> None:
        """Advertise the topic and prepare the message; the device's frame gets the prefix."""
        super().__init__(node, device, topic, qos, message.schema)
        self._buffer = MessageBuffer(message.layout(f'{prefix}{frame_of(device)}'))
        self._copies = [
            (self._buffer.view(field.path), field.attribute) for field in message.fields
        ]
        self._orientation: np.ndarray | None = None
        if message.orientation:
            self._orientation = self._buffer.view(message.orientation)

    def publish(self, stamp: int) -> None:
        """Publish the measured numbers."""
        device = self.device
        for target, attribute in self._copies:
            target[:] = getattr(device, attribute)
        if self._orientation is not None:
            assert device.link is not None
            self._orientation[:] = pin.Quaternion(device.link.R @ device.R_local).coeffs()
        self.outbox.send(self._buffer.encode(stamp))


class DataPublisher(DevicePublisher):
    """A device that measures at a rate of its own: each measurement is published once."""

    def __init__(
        self,
        node: Node,
        device: Device,
        topic: str,
        qos: QoSProfile,
        message: DataMessage,
        prefix: str,
    ) -> None:
        """Advertise the topic; the device's frame gets the prefix."""
        super().__init__(node, device, topic, qos, message.schema)
        self._message = message
        self._frame = f'{prefix}{frame_of(device)}'
        self._is_fresh = False
        self._readers = 0
        device.state_changed.connect(self._note)

    def _note(self, device: Device) -> None:
        self._is_fresh = True

    def publish(self, stamp: int) -> None:
        """Publish the measurement if it is new, or somebody has come who lacks it."""
        before, self._readers = self._readers, self.outbox.reader_count
        if not self._is_fresh and self._readers <= before:
            return
        device = self.device
        value = getattr(device, self._message.attribute)
        if not (self._is_fresh or value.size):
            return
        self._is_fresh = False
        layout = self._message.layout(device, self._frame, value)
        self.outbox.send(MessageBuffer(layout).encode(stamp))


class DeviceInputs:
    """Commands to the robot's devices, on `<device>/command`; obeyed between two ticks."""

    def __init__(
        self, node: Node, body: Body, call: Callable[[Callable[[], None]], object]
    ) -> None:
        """Subscribe a topic for each device.

        Args:
            node: node that subscribes.
            body: the robot.
            call: has a function called in the thread of the simulation.
        """
        self._log = node.get_logger()
        self._call = call
        self._waiting: deque[tuple[Device, Float64MultiArray]] = deque()
        for device in body.devices:
            node.create_subscription(
                Float64MultiArray, command_topic(device), partial(self._take, device), QUEUE
            )

    def _take(self, device: Device, message: Float64MultiArray) -> None:
        if len(self._waiting) >= QUEUE:
            # Whoever sends faster than the simulation runs must not fill the memory.
            self._refuse(device, f'{QUEUE} others wait')
            return
        self._waiting.append((device, message))
        self._call(self._apply)

    def _apply(self) -> None:
        device, message = self._waiting.popleft()
        try:
            apply_device_command(device, message)
        except Exception as error:
            # Nobody looks at what this call raises.
            said = isinstance(error, MalformedMessage)
            self._refuse(device, str(error) if said else describe(error))

    def _refuse(self, device: Device, reason: str) -> None:
        self._log.error(
            f'command for device {device.name!r} refused: {reason}', throttle_duration_sec=1.0
        )


def make_publisher(
    node: Node,
    device: Device,
    topic: str,
    qos: QoSProfile,
    stream: Stream | None = None,
    prefix: str = '',
) -> DevicePublisher:
    """Publisher of one of a device's streams, the main one where None.

    Args:
        node: node to publish with.
        device: the device.
        topic: relative or absolute name.
        qos: quality of service.
        stream: the stream.
        prefix: what the name of the device's frame begins with.

    Raises:
        RosError: no message carries such a device.
    """
    kind = kind_of(device)
    if kind is None:
        known = choices(kind.device_type.__name__ for kind in DEVICE_KINDS)
        raise RosError(f'no message for device {device!r}; {known}')
    message = (stream or kind.streams(device)[0]).messages[0]
    if isinstance(message, NumbersMessage):
        return NumbersPublisher(node, device, topic, qos, message, prefix)
    return DataPublisher(node, device, topic, qos, message, prefix)
