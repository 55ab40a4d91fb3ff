"""Serialized messages to and from rclpy; the only module that uses its private parts."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, Protocol

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions

from cnoid_control.ros.rcl import UNCOUNTED, RclSubscription

# What rclpy raises when the context goes away under a call.
CONTEXT_ERRORS: tuple[type[Exception], ...] = (InvalidHandle,)
try:
    from rclpy.impl.implementation_singleton import rclpy_implementation as impl

    CONTEXT_ERRORS = (InvalidHandle, impl.RCLError)
except (ImportError, AttributeError):
    impl = None


class RawSubscription(Protocol):
    """Raw messages of one topic, for one thread.

    Attributes:
        lost: messages that the publisher counted and that did not come, as far as is known.
        restarts: messages that do not go on with the publisher's count, as far as is known.
        sent_at: when the last message was sent, by its publisher's clock [ns]; 0 where unknown.
    """

    lost: int
    restarts: int
    sent_at: int

    def take(self) -> bytes | None:
        """Oldest message that was not taken yet, at once; None where there is none."""

    def wait(self, timeout: float) -> None:
        """Sleep until there is a message, `wake` is called, or the time-out [s] is over."""

    def wake(self) -> None:
        """End a wait from another thread."""

    def close(self) -> None:
        """Unsubscribe; may be called more than once."""


class DirectSubscription:
    """Takes from the subscription by rcl's own functions, and is woken by the middleware."""

    def __init__(self, node: Node, kind: type, topic: str, qos: QoSProfile) -> None:
        """Subscribe.

        Raises:
            AttributeError: rclpy or the middleware does not have what is needed.
        """
        self.lost = 0
        self.restarts = 0
        self.sent_at = 0
        # The executor may take a message before the subscription is hidden from it.
        self._early: deque[bytes] = deque(maxlen=qos.depth or 1)
        self._subscription = _subscribe(node, kind, topic, self._receive_early, qos)
        try:
            node._subscriptions.remove(self._subscription)
            if node.executor is not None:
                node.executor.wake()
            self._handle: Any = self._subscription.handle
            self._rcl = RclSubscription(self._handle.pointer)
        except (AttributeError, TypeError, OSError) as error:
            if self._subscription not in node._subscriptions:
                # The node destroys what is in its list.
                node._subscriptions.append(self._subscription)
            node.destroy_subscription(self._subscription)
            raise AttributeError(f'rclpy without raw access: {error}') from error
        if self._early:
            self._rcl.wake()
        self._sequence = 0
        self._node: Any = node
        # From now on it lives until it is closed, whatever becomes of the node.
        self._handle.__enter__()
        self._open = True

    def _receive_early(self, data: bytes) -> None:
        self._early.append(data)
        if hasattr(self, '_rcl'):
            self._rcl.wake()

    def take(self) -> bytes | None:
        """Oldest message that was not taken yet, at once; None where there is none."""
        if self._early:
            return self._early.popleft()
        data = self._rcl.take()
        if data is None:
            return None
        info = self._rcl.info
        # The publisher counts its messages; a new publisher begins to count anew.
        sequence = info.publication_sequence_number
        if sequence != self._sequence + 1:
            if sequence == UNCOUNTED or not sequence:
                sequence = 0
            elif 0 < self._sequence < sequence:
                self.lost += sequence - self._sequence - 1
            elif self._sequence:
                self.restarts += 1
        self._sequence = sequence
        self.sent_at = info.source_timestamp
        return data

    def wait(self, timeout: float) -> None:
        """Sleep until there is a message, `wake` is called, or the time-out [s] is over."""
        if not self._early:
            self._rcl.wait(timeout)

    def wake(self) -> None:
        """End a wait from another thread."""
        self._rcl.wake()

    def close(self) -> None:
        """Unsubscribe; may be called more than once."""
        if not self._open:
            return
        self._open = False
        self._rcl.close()
        self._handle.__exit__(None, None, None)
        # The node destroys what is in its list, and the subscription's events with it.
        self._node._subscriptions.append(self._subscription)
        self._node.destroy_subscription(self._subscription)


class CallbackSubscription:
    """Subscription that the node's executor serves: public calls of rclpy only."""

    def __init__(self, node: Node, kind: type, topic: str, qos: QoSProfile) -> None:
        """Subscribe; the node must be served by an executor in another thread."""
        self.lost = 0
        self.restarts = 0
        self.sent_at = 0
        self._messages: deque[bytes] = deque(maxlen=qos.depth or 1)
        self._event = threading.Event()
        self._node: Node | None = node
        self._subscription = _subscribe(node, kind, topic, self._receive, qos)

    def _receive(self, data: bytes) -> None:
        self.lost += len(self._messages) == self._messages.maxlen
        self._messages.append(data)
        self._event.set()

    def take(self) -> bytes | None:
        """Oldest message that was not taken yet, at once; None where there is none."""
        try:
            return self._messages.popleft()
        except IndexError:
            return None

    def wait(self, timeout: float) -> None:
        """Sleep until there is a message, `wake` is called, or the time-out [s] is over."""
        if not self._messages:
            self._event.wait(timeout)
        self._event.clear()

    def wake(self) -> None:
        """End a wait from another thread."""
        self._event.set()

    def close(self) -> None:
        """Unsubscribe; may be called more than once."""
        if self._node is not None:
            self._node.destroy_subscription(self._subscription)
            self._node = None


class RawPublisher:
    """Raw messages to one topic."""

    def __init__(self, node: Node, kind: type, topic: str, qos: QoSProfile) -> None:
        """Advertise; the messages are not bound to a lifecycle state."""
        self._publisher = Node.create_publisher(
            node,
            kind,
            topic,
            qos,
            qos_overriding_options=QoSOverridingOptions.with_default_policies(),
        )
        self._node: Node | None = node
        # The handle takes anything for the bytes of a message: only encoders write to it.
        self._send = getattr(self._publisher.handle, 'publish_raw', self._publisher.publish)

    @property
    def topic(self) -> str:
        """Full name of the topic."""
        return str(self._publisher.topic_name)

    @property
    def reader_count(self) -> int:
        """Number of subscriptions that it reaches."""
        return int(self._publisher.get_subscription_count())

    def send(self, data: bytes) -> bool:
        """Publish the bytes of a message; False when the context is gone."""
        try:
            self._send(data)
        except CONTEXT_ERRORS:
            return False
        return True

    def flush(self, timeout: float) -> bool:
        """Wait until all readers have what was sent; False after the time-out [s]."""
        from rclpy.duration import Duration

        try:
            return bool(self._publisher.wait_for_all_acked(Duration(seconds=timeout)))
        except CONTEXT_ERRORS:
            return False

    def close(self) -> None:
        """Stop advertising; may be called more than once."""
        if self._node is not None:
            self._node.destroy_publisher(self._publisher)
            self._node = None


def open_subscription(
    node: Node, kind: type, topic: str, qos: QoSProfile, public: bool = False
) -> DirectSubscription | CallbackSubscription:
    """Subscribe a topic for the calling side's own thread.

    Args:
        node: node that subscribes.
        kind: message class.
        topic: relative or absolute name.
        qos: quality of service; `qos_overrides` parameters may change it.
        public: use nothing but public calls of rclpy, even where more is there.
    """
    if not public:
        try:
            return DirectSubscription(node, kind, topic, qos)
        except AttributeError as error:
            node.get_logger().info(f'{topic}: {error}; public calls are used instead', once=True)
    return CallbackSubscription(node, kind, topic, qos)


def _subscribe(node: Node, kind: type, topic: str, callback: Any, qos: QoSProfile) -> Any:
    return node.create_subscription(
        kind,
        topic,
        callback,
        qos,
        raw=True,
        qos_overriding_options=QoSOverridingOptions.with_default_policies(),
        # An event of the subscription in an executor's wait set makes every message wake that
        # executor, also where another thread takes the messages.
        event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
    )
