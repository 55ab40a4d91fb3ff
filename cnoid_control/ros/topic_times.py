"""When the messages of a topic were sent, for somebody who looks on from outside."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from cnoid_control.ros.fast_path import open_inbox

EVERY_MESSAGE = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
    history=HistoryPolicy.KEEP_LAST,
    depth=2000,
)


class TopicTimes:
    """Notes when each message was sent, by its publisher's clock.

    That clock is the one on the wall of the machine that all of them run on. So it does not matter
    when this process gets round to a message.

    Attributes:
        times: when each message was sent, in that order [s].
    """

    def __init__(self, node: Node, kind: type, topic: str) -> None:
        """Subscribe.

        Args:
            node: node to subscribe with.
            kind: message class.
            topic: name of the topic.
        """
        self.times: list[float] = []
        self._inbox = open_inbox(node, kind, topic, EVERY_MESSAGE)
        self._is_open = True

    def poll(self) -> None:
        """Take what has come; now and then, from one thread."""
        while self._is_open and (data := self._inbox.take()) is not None:
            sent = 1e-9 * self._inbox.sent_at
            self._look(data, sent)
            # Messages of several publishers come one publisher after the other.
            insort(self.times, sent)

    def _look(self, data: bytes, sent: float) -> None:
        """Look at a message that was sent then [s]."""

    def first_after(self, moment: float) -> float:
        """When the first message from a moment on was sent; infinite for never [s]."""
        place = bisect_left(self.times, moment)
        return self.times[place] if place < len(self.times) else math.inf

    def last_before(self, moment: float) -> float:
        """When the last message before a moment was sent; minus infinite for never [s]."""
        place = bisect_left(self.times, moment)
        return self.times[place - 1] if place else -math.inf

    def count_between(self, begin: float, end: float) -> int:
        """Number of messages that were sent after the one moment, up to the other."""
        return max(0, bisect_right(self.times, end) - bisect_right(self.times, begin))

    def close(self) -> None:
        """Unsubscribe; may be called more than once, in the thread that polls or after it."""
        self._is_open = False
        self._inbox.close()
