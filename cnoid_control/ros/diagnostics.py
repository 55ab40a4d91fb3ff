"""Status for /diagnostics, and numbers on a topic to plot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
PERIOD = 1.0
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def make_status(
    name: str, level: bytes, message: str, values: Mapping[str, object]
) -> DiagnosticStatus:
    """One status; numbers are shown with six digits."""
    return DiagnosticStatus(
        name=name,
        level=level,
        message=message,
        values=[KeyValue(key=key, value=_text(value)) for key, value in values.items()],
    )


class Diagnostics:
    """Publishes, once a second of the steady clock, what `collect` finds.

    The names of the statuses are prefixed by the node's name. The statistics go to
    `~/statistics/names` (latched, when they change) and `~/statistics/values`, where control_msgs
    is installed.
    """

    def __init__(
        self,
        node: Node,
        collect: Callable[[], Sequence[DiagnosticStatus]],
        statistics: Callable[[], Mapping[str, float]],
        hardware_id: str = '',
    ) -> None:
        """Begin to publish.

        Args:
            node: node whose diagnostics they are.
            collect: gives the present statuses; called in the node's executor.
            statistics: gives numbers by name; empty for none at present.
            hardware_id: the robot they are about.
        """
        self._node = node
        self._collect = collect
        self._statistics = statistics
        self._hardware_id = hardware_id
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 1)
        self._names: list[str] = []
        self._key_publisher: Any = None
        try:
            from control_msgs.msg import Float64Values, Keys
        except ImportError as error:
            node.get_logger().info(f'~/statistics is not published: {error}')
        else:
            self._keys, self._values = Keys, Float64Values
            self._key_publisher = node.create_publisher(Keys, '~/statistics/names', LATCHED)
            self._value_publisher = node.create_publisher(Float64Values, '~/statistics/values', 1)
        # When simulated time stands still, that is worth knowing.
        self._timer = node.create_timer(
            PERIOD, self.publish, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def publish(self) -> None:
        """Publish the present statuses and statistics."""
        stamp = self._node.get_clock().now().to_msg()
        message: Any = DiagnosticArray()
        message.header.stamp = stamp
        prefix = self._node.get_fully_qualified_name().strip('/')
        for status in self._collect():
            status.name = f'{prefix}: {status.name}'
            status.hardware_id = self._hardware_id
            message.status.append(status)
        self._publisher.publish(message)
        numbers = self._statistics()
        if self._key_publisher is None or not numbers:
            return
        if self._names != list(numbers):
            self._names = list(numbers)
            keys: Any = self._keys(keys=self._names)
            keys.header.stamp = stamp
            self._key_publisher.publish(keys)
        values: Any = self._values(values=[float(value) for value in numbers.values()])
        values.header.stamp = stamp
        self._value_publisher.publish(values)


def _text(value: object) -> str:
    return f'{value:.6g}' if isinstance(value, float) else str(value)
