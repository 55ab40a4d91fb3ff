"""Devices of the body, read from their topics."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from rclpy.node import Node

from cnoid_control.body import Body, Device
from cnoid_control.ros.device_topics import DeviceFeed, default_topic, feeds_of
from cnoid_control.ros.exceptions import MissingChannel, WrongTopicType
from cnoid_control.ros.topic_reader import TopicReader


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
