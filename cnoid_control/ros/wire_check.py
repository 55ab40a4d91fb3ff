"""Looks at the commands on the wire, with no help from those who send them."""

from __future__ import annotations

import threading
import time

import numpy as np
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from cnoid_control.ros.fast_path import open_inbox

EVERY_MESSAGE = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
    history=HistoryPolicy.KEEP_LAST,
    depth=200,
)


class WireCheck:
    """Subscribes the commands of a forward controller in a thread of its own.

    Attributes:
        count: commands so far.
        bad: those that had not one finite number within the limit for each joint.
        last: when the last one was sent, by the clock on the wall [s].
        zeros: when the first was sent that had no effort at all, since `forget`; 0 for never.
    """

    def __init__(self, node: Node, topic: str, joints: int, limit: float) -> None:
        """Subscribe and begin to look.

        Args:
            node: node to subscribe with.
            topic: topic of std_msgs/Float64MultiArray messages.
            joints: number of values that a command must have.
            limit: largest magnitude of a value.
        """
        from std_msgs.msg import Float64MultiArray

        self.count = 0
        self.bad = 0
        self.last = 0.0
        self.zeros = 0.0
        self._inbox = open_inbox(node, Float64MultiArray, topic, EVERY_MESSAGE)
        self._joints = joints
        self._limit = limit
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name='wire check', daemon=True)
        self._thread.start()

    def forget(self) -> None:
        """Wait for zeros anew."""
        self.zeros = 0.0

    def _watch(self) -> None:
        while not self._stop.is_set():
            self._inbox.wait(0.1)
            while (data := self._inbox.take()) is not None:
                self._look(data)

    def _look(self, data: bytes) -> None:
        self.count += 1
        # When it was sent does not depend on how busy this process is.
        self.last = 1e-9 * self._inbox.sent_at or time.time()
        size = 8 * self._joints
        # Behind the preamble: an empty layout (two counts), then the number of values.
        if len(data) < size + 4 or int.from_bytes(data[12:16], 'little') != self._joints:
            self.bad += 1
            return
        values = np.frombuffer(data, '<f8', self._joints, len(data) - size)
        if not (np.abs(values) <= self._limit).all():
            self.bad += 1
        if not values.any() and not self.zeros:
            self.zeros = self.last

    def close(self) -> None:
        """Look no more; may be called more than once."""
        self._stop.set()
        self._thread.join()
        self._inbox.close()
