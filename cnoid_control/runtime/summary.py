"""What a run came to, as plain data."""

from __future__ import annotations

import math
from typing import Any

from cnoid_control.runtime.config import RunConfig
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
    reports = {
        hosted.name: report
        for hosted in loop.host.members()
        if (report := hosted.controller.report())
    }
    if reports:
        summary['reports'] = reports
    return summary


def _number(value: float) -> float | None:
    """The value rounded to what is worth reading; None (null in JSON) where it is no number."""
    return round(float(value), 9) if math.isfinite(value) else None
