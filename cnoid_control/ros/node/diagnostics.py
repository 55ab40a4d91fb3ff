"""Diagnostics of the control node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

from cnoid_control.ros.node.session import ControlSession
from cnoid_control.runtime.safety.safe_state import SafeState

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


# Shares of late and lost ticks from which on the loop is in doubt, or not usable.
DOUBTFUL, UNUSABLE = 0.005, 0.05


class NodeDiagnostics:
    """Statuses of the loop, of the robot's messages, of the limits and of the controllers."""

    def __init__(self, session: Callable[[], ControlSession | None]) -> None:
        """Look at the session that the node has at the time of asking."""
        self._session = session
        self._before = (0, 0)
        self._limited = 0

    def statistics(self) -> dict[str, float]:
        """Numbers of the loop; empty while it does not run."""
        session = self._session()
        if session is None or not session.is_active:
            return {}
        return {**session.statistics.summary(), 'state_age': session.hardware.state_age}

    def collect(self) -> list[DiagnosticStatus]:
        """The present statuses."""
        session = self._session()
        if session is None:
            return [make_status('loop', OK, 'not configured', {})]
        if not session.is_active:
            return [make_status('loop', OK, 'not active', {})]
        return [
            self._loop(session),
            self._robot(session),
            self._limits(session),
            self._controllers(session),
            *([self._dry_run(session)] if session.is_dry_run else []),
        ]

    def _loop(self, session: ControlSession) -> DiagnosticStatus:
        statistics = session.statistics
        numbers = statistics.summary()
        ticks, bad = self._before
        self._before = (statistics.ticks, statistics.late + statistics.lost)
        share = (self._before[1] - bad) / max(self._before[0] - ticks, 1)
        level, message = OK, f'{numbers["rate"]:.1f} Hz'
        if statistics.ticks <= ticks:
            level, message = WARN, 'no ticks'
        elif share > DOUBTFUL:
            level = ERROR if share > UNUSABLE else WARN
            message += f', {100 * share:.1f} % of the ticks late or lost'
        values: dict[str, object] = {
            'rate [Hz]': numbers['rate'],
            'wanted rate [Hz]': 1.0 / statistics.period,
            'jitter [ms]': 1e3 * numbers['jitter'],
            'longest period [ms]': 1e3 * numbers['period_max'],
            'duration, median [ms]': 1e3 * numbers['duration_median'],
            'duration, 99 % [ms]': 1e3 * numbers['duration_p99'],
            'duration, longest [ms]': 1e3 * numbers['duration_max'],
            'ticks': statistics.ticks,
            'late ticks': statistics.late,
            'lost states': statistics.lost,
        }
        return make_status('loop', level, message, values)

    def _robot(self, session: ControlSession) -> DiagnosticStatus:
        hardware = session.hardware
        values: dict[str, object] = {'age of the joint states [ms]': 1e3 * hardware.state_age}
        values['rate of the joint states [Hz]'] = hardware.source.rate.measured
        for name, age in hardware.device_ages.items():
            values[f'age of {name} [ms]'] = 1e3 * age
        values.update({f'joint states, {key}': n for key, n in hardware.source.counts.items()})
        for publisher in hardware.command_publishers:
            values[f'receivers of {publisher.topic}'] = publisher.reader_count
        problem = hardware.source.problem
        if problem:
            return make_status('robot', ERROR, f'joint states: {problem}', values)
        if hardware.state_age > hardware.state_timeout:
            return make_status('robot', ERROR, 'no joint states', values)
        return make_status('robot', OK, 'joint states arrive', values)

    def _dry_run(self, session: ControlSession) -> DiagnosticStatus:
        """What would have been sent last, by topic and joint."""
        values: dict[str, object] = {
            f'{publisher.topic} {joint}': float(value)
            for publisher in session.hardware.command_publishers
            for joint, value in zip(publisher.joints, publisher.values(), strict=True)
        }
        return make_status('dry run', WARN, 'nothing is sent to the robot', values)

    def _limits(self, session: ControlSession) -> DiagnosticStatus:
        report = session.limiter.report()
        values: dict[str, object] = {
            f'{kind} {joint}': count
            for kind, joints in report.items()
            for joint, count in joints.items()
        }
        values['scale'] = session.limiter.scale
        total = sum(sum(joints.values()) for joints in report.values())
        new, self._limited = total - self._limited, total
        if new > 0:
            return make_status('limits', WARN, f'{new} commands were limited lately', values)
        before = f'; {total} were since the start' if total else ''
        return make_status('limits', OK, f'no command was limited lately{before}', values)

    def _controllers(self, session: ControlSession) -> DiagnosticStatus:
        values: dict[str, object] = {
            f'{member.name} {key}': value
            for managed in session.loop.host.controllers
            for member in managed.with_children()
            for key, value in member.controller.report().items()
        }
        names = ', '.join(managed.name for managed in session.loop.host.controllers)
        values = {'controllers': names, **values}
        safe_state = session.safe_state
        values['state'] = _word(safe_state)
        if safe_state.is_engaged:
            level = WARN if safe_state.is_pause else OK if safe_state.is_finished else ERROR
            return make_status('controller', level, f'safe state: {safe_state.reason}', values)
        return make_status('controller', OK, f'{names} runs', values)


def _word(safe_state: SafeState) -> str:
    """State of the loop in a word, for programs that show it."""
    if safe_state.is_estop:
        return 'e-stop'
    if not safe_state.is_engaged:
        return 'running'
    if safe_state.is_pause:
        return 'paused'
    return 'finished' if safe_state.is_finished else 'safe state'
