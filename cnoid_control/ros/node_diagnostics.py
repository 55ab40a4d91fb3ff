"""What the control node tells of itself on /diagnostics."""

from __future__ import annotations

from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticStatus

from cnoid_control.ros.control_session import ControlSession
from cnoid_control.ros.diagnostics import ERROR, OK, WARN, make_status

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
        return {**session.monitor.statistics.summary(), 'state_age': session.hardware.state_age}

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
        ]

    def _loop(self, session: ControlSession) -> DiagnosticStatus:
        statistics = session.monitor.statistics
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
        for name, age in hardware.device_ages.items():
            values[f'age of {name} [ms]'] = 1e3 * age
        values.update({f'joint states, {key}': n for key, n in hardware.source.counts.items()})
        for channel in hardware.channels:
            values[f'receivers of {channel.topic}'] = channel.reader_count
        problem = hardware.source.problem
        if problem:
            return make_status('robot', ERROR, f'joint states: {problem}', values)
        if hardware.state_age > hardware.state_timeout:
            return make_status('robot', ERROR, 'no joint states', values)
        return make_status('robot', OK, 'joint states arrive', values)

    def _limits(self, session: ControlSession) -> DiagnosticStatus:
        report = session.limiter.report()
        values: dict[str, object] = {
            f'{kind} {joint}': count
            for kind, joints in report.items()
            for joint, count in joints.items()
        }
        total = sum(sum(joints.values()) for joints in report.values())
        new, self._limited = total - self._limited, total
        if new > 0:
            return make_status('limits', WARN, f'{new} commands were limited', values)
        return make_status('limits', OK, 'no command was limited', values)

    def _controllers(self, session: ControlSession) -> DiagnosticStatus:
        values: dict[str, object] = {
            f'{member.name} {key}': value
            for hosted in session.loop.host.controllers
            for member in hosted.family()
            for key, value in member.controller.report().items()
        }
        names = ', '.join(hosted.name for hosted in session.loop.host.controllers)
        values = {'controllers': names, **values}
        if session.safe_state.is_engaged:
            reason = session.safe_state.reason
            return make_status('controller', ERROR, f'safe state: {reason}', values)
        return make_status('controller', OK, f'{names} runs', values)
