"""Devices read from topics."""

from __future__ import annotations

import abc
import math
import time
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from cnoid_control.body import Body
from cnoid_control.body.devices import (
    AccelerationSensor,
    Camera,
    ForceSensor,
    Imu,
    RangeCamera,
    RangeSensor,
    RateGyroSensor,
)
from cnoid_control.body.devices.base import Device
from cnoid_control.ros.exceptions import MissingChannel, WrongTopicType
from cnoid_control.ros.message_types import message_class
from cnoid_control.ros.raw_dds import RawSubscription, open_subscription
from cnoid_control.ros.robot.sensor_decoders import (
    ImageDecoder,
    ImuDecoder,
    LaserScanDecoder,
    PointCloudDecoder,
    RangeDecoder,
    SensorDecoder,
    WrenchDecoder,
)

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
    """Base of the readers: `_apply` puts the decoder's values where they belong.

    Attributes:
        what: what is read, for messages.
        topic: full name of the topic.
        stamp: stamp of the last good message [ns].
        problem: what was wrong with the last message; empty when it was good.
    """

    def __init__(
        self,
        node: Node,
        what: str,
        topic: str,
        decoder: SensorDecoder,
        lock_step: bool,
        public: bool,
    ) -> None:
        """Subscribe.

        Args:
            node: node that subscribes.
            what: what is read, for messages.
            topic: relative or absolute name.
            decoder: reads the messages.
            lock_step: whether no message may be lost.
            public: use only public calls of rclpy.
        """
        self.what = what
        self.topic = node.resolve_topic_name(topic)
        self.stamp = 0
        self.problem = 'has not sent anything yet'
        self.decoder = decoder
        self._inbox: RawSubscription = open_subscription(
            node,
            message_class(decoder.type_name),
            topic,
            LOCK_STEP_QOS if lock_step else STATE_QOS,
            public,
        )

    @abc.abstractmethod
    def _apply(self) -> str:
        """Put the decoder's values where they belong; what is wrong with them, empty if good."""

    def poll(self) -> bool:
        """Take the newest message; whether there was one."""
        data = self._inbox.take()
        if data is None:
            return False
        if self.decoder.decode(data):
            self.problem = self._apply()
            self.stamp = self.decoder.stamp
        else:
            self.problem = self.decoder.problem
        return True

    def wait_for(self, stamp: int, timeout: float) -> bool:
        """Take messages until one has this stamp [ns]; False after the time-out [s]."""
        return self._take_until(lambda: self.stamp >= stamp, timeout)

    def wait_for_good(self, timeout: float) -> bool:
        """Take messages until one is good; False after the time-out [s]."""
        return self._take_until(lambda: not self.problem, timeout)

    def _take_until(self, condition: Callable[[], bool], timeout: float) -> bool:
        deadline = time.monotonic() + timeout
        while not condition():
            if not self.poll():
                left = deadline - time.monotonic()
                if left <= 0.0:
                    return False
                self._inbox.wait(min(left, 0.05))
        return True

    def close(self) -> None:
        """Unsubscribe."""
        self._inbox.close()


Apply = Callable[[Any, Any], bool]


class DeviceFeed(NamedTuple):
    """How one kind of message feeds one kind of device.

    Attributes:
        decoder: class that reads the message.
        apply: copies the decoder's values into the device; False where the message lacks them.
        is_large: whether the messages are too large to be read in the loop thread.
    """

    decoder: type[SensorDecoder]
    apply: Apply
    is_large: bool = False


def _imu(device: Imu, decoder: ImuDecoder) -> bool:
    return _gyro(device, decoder) and _acceleration(device, decoder)


def _gyro(device: Imu | RateGyroSensor, decoder: ImuDecoder) -> bool:
    device.w[:] = decoder.angular_velocity
    return decoder.has_angular_velocity and math.isfinite(device.w.dot(device.w))


def _acceleration(device: Imu | AccelerationSensor, decoder: ImuDecoder) -> bool:
    device.dv[:] = decoder.linear_acceleration
    return decoder.has_linear_acceleration and math.isfinite(device.dv.dot(device.dv))


def _force(device: ForceSensor, decoder: WrenchDecoder) -> bool:
    device.F[:] = decoder.numbers
    return math.isfinite(device.F.dot(device.F))


def _camera(device: Camera, decoder: ImageDecoder) -> bool:
    device.image = decoder.image
    return True


def _points(device: RangeCamera, decoder: PointCloudDecoder) -> bool:
    device.points = decoder.points
    return True


def _scan(device: RangeSensor, decoder: LaserScanDecoder) -> bool:
    ranges = decoder.ranges.astype(float)
    # Outside of the scanner's own range there is nothing that it could have hit.
    ranges[~(ranges <= decoder.range_max)] = np.inf
    device.range_data = ranges
    return True


def _range(device: RangeSensor, decoder: RangeDecoder) -> bool:
    distance = decoder.range
    device.range_data = np.array([distance if distance <= decoder.max_range else np.inf])
    return True


# The first feed of a device is the one that is used where the topic's type is not known.
FEEDS: dict[type[Device], tuple[DeviceFeed, ...]] = {
    Imu: (DeviceFeed(ImuDecoder, _imu),),
    RateGyroSensor: (DeviceFeed(ImuDecoder, _gyro),),
    AccelerationSensor: (DeviceFeed(ImuDecoder, _acceleration),),
    ForceSensor: (DeviceFeed(WrenchDecoder, _force),),
    RangeCamera: (
        DeviceFeed(PointCloudDecoder, _points, is_large=True),
        DeviceFeed(ImageDecoder, _camera, is_large=True),
    ),
    Camera: (DeviceFeed(ImageDecoder, _camera, is_large=True),),
    RangeSensor: (
        DeviceFeed(LaserScanDecoder, _scan),
        DeviceFeed(RangeDecoder, _range),
    ),
}


def feeds_of(device: Device) -> tuple[DeviceFeed, ...]:
    """The messages that can feed a device; empty for a device that measures nothing."""
    for kind in type(device).__mro__:
        if kind in FEEDS:
            return FEEDS[kind]
    return ()


def default_topic(device: Device) -> str:
    """Relative topic of a device that the configuration does not give one."""
    if isinstance(device, (Imu, RateGyroSensor, AccelerationSensor)):
        return 'imu_sensor_broadcaster/imu'
    if isinstance(device, ForceSensor):
        return f'{device.name}_broadcaster/wrench'
    if isinstance(device, RangeSensor):
        return f'{device.name}/scan'
    if isinstance(device, RangeCamera):
        return f'{device.name}/points'
    return f'{device.name}/image'


class DeviceReader(TopicReader):
    """One topic and the devices that it feeds.

    Attributes:
        devices: the devices, with what fills them.
    """

    def __init__(
        self,
        node: Node,
        topic: str,
        devices: list[tuple[Device, DeviceFeed]],
        lock_step: bool,
        public: bool,
        received: Callable[[str], None],
    ) -> None:
        """Subscribe.

        Args:
            node: node that subscribes.
            topic: relative or absolute name.
            devices: the devices; their feeds have the same decoder.
            lock_step: whether no message may be lost.
            public: use only public calls of rclpy.
            received: told the name of each device that got a usable message.
        """
        self.devices = devices
        self.is_large = devices[0][1].is_large
        self._received = received
        self._arrivals = {device.name: float('-inf') for device, _ in devices}
        names = ', '.join(device.name for device, _ in devices)
        # A picture would take the loop thread too long: the executor's thread takes it.
        public = public or self.is_large
        decoder = devices[0][1].decoder()
        super().__init__(node, f'device {names}', topic, decoder, lock_step, public)

    def ages(self) -> dict[str, float]:
        """Time since each device's last usable message came, steady clock [s]."""
        now = time.monotonic()
        return {name: now - arrival for name, arrival in self._arrivals.items()}

    def _apply(self) -> str:
        problem = ''
        now = time.monotonic()
        decoder = self.decoder
        for device, feed in self.devices:
            if feed.apply(device, decoder):
                self._arrivals[device.name] = now
                self._received(device.name)
                device.notify_state_change()
            else:
                problem = f'does not measure it for {device.name}, or not a number'
        return problem


def open_readers(
    node: Node,
    body: Body,
    names: Collection[str],
    topics: dict[str, str],
    lock_step: bool,
    public: bool,
    received: Callable[[str], None],
) -> list[DeviceReader]:
    """Subscribe the topics of the devices that are read; devices with one topic share a reader.

    Args:
        node: node that subscribes.
        body: the robot.
        names: names of the devices.
        topics: their topics; a default where there is none.
        lock_step: whether no message may be lost.
        public: use only public calls of rclpy.
        received: told the name of each device that got a usable message.

    Raises:
        MissingChannel: a device of a kind that no message feeds.
        WrongTopicType: a topic that carries something else.
    """
    known_types = dict(node.get_topic_names_and_types())
    groups: dict[tuple[str, type], list[tuple[Device, DeviceFeed]]] = {}
    for device in body.devices:
        if device.name not in names:
            continue
        topic = topics.get(device.name) or default_topic(device)
        feed = _choose_feed(device, topic, known_types.get(node.resolve_topic_name(topic), []))
        groups.setdefault((topic, feed.decoder), []).append((device, feed))
    return [
        DeviceReader(node, topic, devices, lock_step, public, received)
        for (topic, _), devices in groups.items()
    ]


def _choose_feed(device: Device, topic: str, types: list[str]) -> DeviceFeed:
    feeds = feeds_of(device)
    if not feeds:
        raise MissingChannel(
            f'device {device.name!r}', topic, f'cannot feed a {type(device).__name__}'
        )
    for feed in feeds:
        if feed.decoder.type_name in types:
            return feed
    if types:
        wanted = [feed.decoder.type_name for feed in feeds]
        raise WrongTopicType(f'device {device.name!r}', topic, types, wanted)
    return feeds[0]
