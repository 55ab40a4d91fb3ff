"""What a run came to, as plain data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cnoid_control.exceptions import describe
from cnoid_control.runtime.config import RunConfig
from cnoid_control.runtime.hosted_controller import HostedController
from cnoid_control.runtime.loop import ControlLoop, RunOutcome
from cnoid_control.runtime.run_monitor import RunMonitor


def summarize(
    config: RunConfig, loop: ControlLoop, monitor: RunMonitor, outcome: RunOutcome
) -> dict[str, Any]:
    """Summary of a run; only values that JSON can express."""
    duration = outcome.ticks * loop.hardware.time_step
    factor = duration / outcome.wall_time if outcome.wall_time > 0.0 else 0.0
    summary: dict[str, Any] = {
        'config': config.name,
        'controller': config.controller_name,
        'hardware': loop.hardware.name,
        'exit': outcome.exit,
        'ticks': outcome.ticks,
        'duration': round(duration, 9),
        'real_time_factor': round(factor, 3),
        'overruns': outcome.overruns,
        'fell': monitor.fell,
        'root_position': [_number(value) for value in loop.hardware.body.root_link.p],
        'max_tilt_deg': _number(math.degrees(monitor.max_tilt)),
        'max_joint_error': _number(monitor.max_joint_error),
        'limited': loop.limiter.report() if loop.limiter is not None else {},
    }
    if outcome.reason:
        summary['reason'] = outcome.reason
    if outcome.interrupted:
        summary['interrupted'] = True
    dropped = [str(error) for error in loop.host.errors]
    if dropped and outcome.exit != 'failed':
        summary['errors'] = dropped
    reports = {hosted.name: _report(hosted) for hosted in loop.host.members()}
    reports = {name: report for name, report in reports.items() if report}
    if reports:
        summary['reports'] = _plain(reports)
    return summary


def _report(hosted: HostedController) -> Any:
    try:
        return hosted.controller.report()
    except Exception as error:
        # A run that went well must not end without a summary.
        return {'error': f'report() raised {describe(error)}'}


def _plain(value: Any) -> Any:
    """What JSON can express of a report: numbers, texts, lists and maps; else its text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.floating, float)):
        return _number(float(value))
    if isinstance(value, (np.integer, np.bool_)):
        return value.item()
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def _number(value: float) -> float | None:
    """The value rounded to what is worth reading; None (null in JSON) where it is no number."""
    return round(float(value), 9) if math.isfinite(value) else None
