"""Devices and the root read from topics."""

from __future__ import annotations

import abc
import math
import time
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import pinocchio as pin
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from cnoid_control.body import Body
from cnoid_control.body.devices.base import Device
from cnoid_control.messages.cdr import read_stamp
from cnoid_control.messages.devices import (
    DataMessage,
    NumbersMessage,
    Stream,
    default_topic,
    device_streams,
)
from cnoid_control.messages.exceptions import MalformedMessage
from cnoid_control.messages.layouts import ODOMETRY, StampedNumbers
from cnoid_control.ros.exceptions import MissingChannel, WrongTopicType
from cnoid_control.ros.message_types import message_class, typed_decoder
from cnoid_control.ros.raw_dds import RawSubscription, open_subscription
from cnoid_control.ros.waiting import Waiting

# It matches every writer; only the newest message counts.
STATE_QOS = QoSProfile(
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.VOLATILE,
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
)
# Where the robot waits for an answer to every message, none may be lost.
LOCK_STEP_QOS = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
)


class TopicReader(abc.ABC):
    """Base of the readers: takes the newest message of a topic; `_apply` uses it.

    Attributes:
        what: what is read, for messages.
        topic: full name of the topic.
        problem: what was wrong with the last message; empty when it was good.
        has_own_rate: whether it does not send a message for every joint state.
        missed: joint states without a message, in lock-step; it falls again where all have one.
    """

    has_own_rate = False

    def __init__(
        self,
        node: Node,
        what: str,
        topic: str,
        type_name: str,
        decode: Callable[[bytes], Any],
        lock_step: bool,
        public: bool,
    ) -> None:
        """Subscribe.

        Args:
            node: node that subscribes.
            what: what is read, for messages.
            topic: relative or absolute name.
            type_name: ROS type of the messages, stamped.
            decode: reads the messages; raises MalformedMessage where one is not of the type.
            lock_step: whether no message may be lost.
            public: use only public calls of rclpy.
        """
        self.what = what
        self.topic = node.resolve_topic_name(topic)
        self.problem = 'has not sent anything yet'
        self.missed = 0.0
        self._decode = decode
        # The last message that could be read.
        self._last = b''
        self._inbox: RawSubscription = open_subscription(
            node,
            message_class(type_name),
            topic,
            LOCK_STEP_QOS if lock_step else STATE_QOS,
            public,
        )

    @property
    def stamp(self) -> int:
        """Stamp of the last message that could be read [ns]; 0 before the first."""
        return read_stamp(self._last) if self._last else 0

    @abc.abstractmethod
    def _apply(self, message: Any) -> str:
        """Put a message where it belongs; returns what is wrong with it, empty if good."""

    def poll(self) -> bool:
        """Take the newest message; whether there was one."""
        data = self._inbox.take()
        if data is None:
            return False
        try:
            self.problem = self._apply(self._decode(data))
            self._last = data
        except (MalformedMessage, ValueError) as error:
            # numpy refuses some sizes that fit.
            self.problem = str(error) or type(error).__name__
        return True

    def wait_for(self, stamp: int, timeout: float) -> bool:
        """Take messages until one has this stamp [ns]; False after the time-out [s]."""
        return self._take_until(lambda: self.stamp >= stamp, timeout)

    def wait_for_good(
        self, timeout: float, say: Callable[[str], object] = lambda text: None
    ) -> bool:
        """Take messages until one is good; False after the time-out.

        Args:
            timeout: longest wait [s].
            say: told what is waited for, where it takes long.
        """
        return self._take_until(lambda: not self.problem, timeout, Waiting(say))

    def _take_until(
        self, condition: Callable[[], bool], timeout: float, waiting: Waiting | None = None
    ) -> bool:
        deadline = time.monotonic() + timeout
        while not condition():
            if not self.poll():
                left = deadline - time.monotonic()
                if left <= 0.0:
                    return False
                if waiting is not None:
                    waiting.still(lambda: f'{self.what} on {self.topic!r}: it {self.problem}')
                self._inbox.wait(min(left, 0.05))
        return True

    def close(self) -> None:
        """Unsubscribe."""
        self._inbox.close()


def message_decoder(message: NumbersMessage | DataMessage) -> Callable[[bytes], Any]:
    """Function that reads serialized messages for a device."""
    if isinstance(message, DataMessage):
        return typed_decoder(message.schema)
    return StampedNumbers(message.schema).decode


class DeviceReader(TopicReader):
    """One topic and the devices that it feeds.

    Attributes:
        devices: the devices, with the message that feeds each.
        is_large: whether the messages are too large to be read in the loop thread.
    """

    def __init__(
        self,
        node: Node,
        topic: str,
        devices: list[tuple[Device, NumbersMessage | DataMessage]],
        lock_step: bool,
        public: bool,
        received: Callable[[str, float], None],
    ) -> None:
        """Subscribe.

        Args:
            node: node that subscribes.
            topic: relative or absolute name.
            devices: the devices, with messages of one type.
            lock_step: whether no message may be lost.
            public: use only public calls of rclpy.
            received: told the name of each device that got a usable message, and when [s].
        """
        self.devices = devices
        self.is_large = devices[0][1].is_large
        self.has_own_rate = isinstance(devices[0][1], DataMessage)
        self._received = received
        self._arrivals = {device.name: float('-inf') for device, _ in devices}
        names = ', '.join(device.name for device, _ in devices)
        # A picture would take the loop thread too long: the executor's thread takes it.
        public = public or self.is_large
        message = devices[0][1]
        super().__init__(
            node,
            f'device {names}',
            topic,
            message.schema,
            message_decoder(message),
            lock_step,
            public,
        )

    def ages(self) -> dict[str, float]:
        """Time since each device's last usable message came, steady clock [s]."""
        now = time.monotonic()
        return {name: now - arrival for name, arrival in self._arrivals.items()}

    def _apply(self, message: Any) -> str:
        problem = ''
        now = time.monotonic()
        for device, feed in self.devices:
            if feed.read(device, message):
                self._arrivals[device.name] = now
                self._received(device.name, now)
                device.notify_state_change()
            else:
                problem = f'does not measure it for {device.name}, or has a non-finite value'
        return problem


def open_readers(
    node: Node,
    body: Body,
    names: Collection[str],
    topics: dict[str, str],
    lock_step: bool,
    public: bool,
    received: Callable[[str, float], None],
) -> list[DeviceReader]:
    """Subscribe the topics of the devices that are read; devices with one topic share a reader.

    Args:
        node: node that subscribes.
        body: the robot.
        names: names of the devices.
        topics: their topics; a default where there is none.
        lock_step: whether no message may be lost.
        public: use only public calls of rclpy.
        received: told the name of each device that got a usable message, and when [s].

    Raises:
        MissingChannel: a device of a kind that no message feeds.
        WrongTopicType: a topic that carries something else.
    """
    known_types = dict(node.get_topic_names_and_types())
    groups: dict[tuple[str, str], list[tuple[Device, NumbersMessage | DataMessage]]] = {}
    for device in body.devices:
        if device.name not in names:
            continue
        streams = device_streams(device, topics)
        if not streams:
            topic = topics.get(device.name) or default_topic(device)
            raise MissingChannel(
                f'device {device.name!r}', topic, f'cannot feed a {type(device).__name__}'
            )
        for topic, stream in streams:
            types = known_types.get(node.resolve_topic_name(topic), [])
            message = _choose_message(device, topic, stream, types)
            groups.setdefault((topic, message.schema), []).append((device, message))
    return [
        DeviceReader(node, topic, devices, lock_step, public, received)
        for (topic, _), devices in groups.items()
    ]


def _choose_message(
    device: Device, topic: str, stream: Stream, types: list[str]
) -> NumbersMessage | DataMessage:
    for message in stream.messages:
        if message.schema in types:
            return message
    if types:
        wanted = [message.schema for message in stream.messages]
        raise WrongTopicType(f'device {device.name!r}', topic, types, wanted)
    return stream.messages[0]


class OdometryReader(TopicReader):
    """Puts nav_msgs/Odometry messages into the root link of a body."""

    def __init__(self, node: Node, topic: str, body: Body, lock_step: bool, public: bool) -> None:
        """Subscribe.

        Args:
            node: node that subscribes.
            topic: relative or absolute name.
            body: the robot.
            lock_step: whether no message may be lost.
            public: use only public calls of rclpy.
        """
        self._root = body.root_link
        decode = typed_decoder(ODOMETRY)
        super().__init__(node, 'the root', topic, ODOMETRY, decode, lock_step, public)

    def _apply(self, message: Any) -> str:
        root = self._root
        pose, twist = message.pose.pose, message.twist.twist
        position, turn = _vector(pose.position), pose.orientation
        quaternion = np.array([turn.x, turn.y, turn.z, turn.w])
        length = math.hypot(*quaternion)
        if not (np.isfinite(position).all() and abs(length - 1.0) < 0.1):
            return 'has a pose that is non-finite or no unit quaternion'
        R = pin.Quaternion(quaternion / length).toRotationMatrix()
        root.R = R
        root.p = position
        root.v = R @ np.nan_to_num(_vector(twist.linear))
        root.w = R @ np.nan_to_num(_vector(twist.angular))
        return ''


def _vector(field: Any) -> np.ndarray:
    return np.array([field.x, field.y, field.z])
