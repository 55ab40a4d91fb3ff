"""Looks at the commands on the wire, with no help from those who send them."""

from __future__ import annotations

import numpy as np
from rclpy.node import Node

from cnoid_control.ros.topic_times import TopicTimes


class WireCheck(TopicTimes):
    """Subscribes the commands of a forward controller.

    Attributes:
        bad: commands so far that had not one finite number within the limit for each joint.
        zeros: when the first was sent that had no effort at all, since `forget`; 0 for never.
    """

    def __init__(self, node: Node, topic: str, joints: int, limit: float) -> None:
        """Subscribe.

        Args:
            node: node to subscribe with.
            topic: topic of std_msgs/Float64MultiArray messages.
            joints: number of values that a command must have.
            limit: largest magnitude of a value.
        """
        from std_msgs.msg import Float64MultiArray

        super().__init__(node, Float64MultiArray, topic)
        self.bad = 0
        self.zeros = 0.0
        self._joints = joints
        self._limit = limit

    @property
    def count(self) -> int:
        """Commands so far."""
        return len(self.times)

    def forget(self) -> None:
        """Wait for zeros anew."""
        self.zeros = 0.0

    def _look(self, data: bytes, sent: float) -> None:
        size = 8 * self._joints
        # Behind the preamble: an empty layout (two counts), then the number of values.
        if len(data) < size + 4 or int.from_bytes(data[12:16], 'little') != self._joints:
            self.bad += 1
            return
        values = np.frombuffer(data, '<f8', self._joints, len(data) - size)
        if not (np.abs(values) <= self._limit).all():
            self.bad += 1
        if not values.any() and not self.zeros:
            self.zeros = sent
