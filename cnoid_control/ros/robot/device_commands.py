"""Outputs of devices on topics: lights, and what else a controller switches."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Collection

import numpy as np
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64MultiArray

from cnoid_control.body import Body
from cnoid_control.body.devices.base import Device
from cnoid_control.messages.device_commands import (
    command_topic,
    command_values,
    encode_device_command,
)
from cnoid_control.ros.exceptions import RobotError
from cnoid_control.ros.raw_dds import RawPublisher
from cnoid_control.ros.robot.dry_run import SilentPublisher

# The last command is there for a driver that comes later.
QOS = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
)
# How long a driver is waited for before somebody is told that there is none [s].
DRIVER_TIMEOUT = 5.0
DRIVER_POLL = 0.02
CLOSE_TIMEOUT = 2.0


class DeviceCommands:
    """Publishes every device that a controller has changed on `<device>/command`.

    Topics are advertised when they are needed, in a thread of their own: the loop's thread hands
    over bytes and goes on.
    """

    def __init__(
        self, node: Node, body: Body, warn: Callable[[str], None], dry_run: bool = False
    ) -> None:
        """Listen to the devices of the robot's body.

        Args:
            node: node that publishes.
            body: the robot.
            warn: takes a sentence about a device that nobody listens for.
            dry_run: whether nothing is sent.
        """
        self._dry_run = dry_run
        self._node = node
        self._body = body
        self._warn = warn
        self._sent = [command_values(device) for device in body.devices]
        # A sensor that can only be switched is seldom switched and often measures.
        self._only_on = [device.command_fields == ('on',) for device in body.devices]
        self._publishers: dict[str, RawPublisher | SilentPublisher] = {}
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[tuple[Device, bytes] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._disconnect = [device.state_changed.connect(self._note) for device in body.devices]

    def demand(self, names: Collection[str], timeout: float) -> None:
        """Make sure that somebody receives the commands of these devices, and send their state.

        Raises:
            RobotError: nobody does within the time-out [s]; the message names the device.
        """
        deadline = time.monotonic() + timeout
        for device in self._body.devices:
            if device.name in names and device.name not in self._publishers:
                publisher = self._publisher(device)
                if not self._wait_for_driver(publisher, deadline):
                    raise RobotError(
                        f'device {device.name!r}: nobody subscribes {publisher.topic!r} within '
                        f'{timeout:g} s, so that no command of a controller would reach it'
                    )
                publisher.send(encode_device_command(device))

    def _note(self, device: Device) -> None:
        """Send a device if a controller has changed it; a measurement changes nothing here."""
        index = device.index
        if self._only_on[index] and device.on == self._sent[index][0]:
            return
        values = command_values(device)
        if not np.array_equal(values, self._sent[index]):
            self._sent[index] = values
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name='device commands', daemon=True
                )
                self._thread.start()
            self._queue.put((device, encode_device_command(device)))

    def _run(self) -> None:
        while (entry := self._queue.get()) is not None:
            device, data = entry
            is_new = device.name not in self._publishers
            publisher = self._publisher(device)
            if is_new and not self._wait_for_driver(publisher, time.monotonic() + DRIVER_TIMEOUT):
                self._warn(
                    f'device {device.name!r} was changed, but nobody subscribes '
                    f'{publisher.topic!r}'
                )
            publisher.send(data)

    def _publisher(self, device: Device) -> RawPublisher | SilentPublisher:
        with self._lock:
            if device.name not in self._publishers:
                topic = command_topic(device)
                self._publishers[device.name] = (
                    SilentPublisher(self._node, topic)
                    if self._dry_run
                    else RawPublisher(self._node, Float64MultiArray, topic, QOS)
                )
            return self._publishers[device.name]

    def _wait_for_driver(self, publisher: RawPublisher | SilentPublisher, deadline: float) -> bool:
        while not publisher.reader_count:
            if time.monotonic() > deadline or not self._node.context.ok():
                return False
            time.sleep(DRIVER_POLL)
        return True

    def close(self) -> None:
        """Send what is left and stop advertising."""
        for disconnect in self._disconnect:
            disconnect()
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(CLOSE_TIMEOUT + DRIVER_TIMEOUT)
        for publisher in self._publishers.values():
            if publisher.reader_count:
                publisher.flush(CLOSE_TIMEOUT)
            publisher.close()
        self._publishers.clear()
