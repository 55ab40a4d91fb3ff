"""A publisher that sends nothing, in the place of one that commands a robot."""

from __future__ import annotations

from rclpy.node import Node


class SilentPublisher:
    """Has the calls of a RawPublisher; nothing is advertised, so nothing can be sent."""

    def __init__(self, node: Node, topic: str) -> None:
        """Stand for a publisher of this topic."""
        self.topic = node.resolve_topic_name(topic)
        self._node = node

    @property
    def reader_count(self) -> int:
        """Number of subscriptions that a publisher would reach."""
        return int(self._node.count_subscribers(self.topic))

    def send(self, data: bytes) -> bool:
        """Send nothing; False when the context is gone."""
        return bool(self._node.context.ok())

    def flush(self, timeout: float) -> bool:
        """Nothing is on its way."""
        return True

    def close(self) -> None:
        """Nothing is advertised."""
