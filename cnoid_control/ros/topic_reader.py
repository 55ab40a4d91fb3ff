"""A topic that is polled by the loop: the newest message, decoded and put where it belongs."""

from __future__ import annotations

import abc
import time
from collections.abc import Callable

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from cnoid_control.ros.fast_path import Inbox, open_inbox
from cnoid_control.ros.message_types import message_class
from cnoid_control.ros.sensor_decoders import SensorDecoder

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
        self._inbox: Inbox = open_inbox(
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
