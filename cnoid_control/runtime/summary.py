"""Run summary: tracking error, tilt, falls."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from cnoid_control.body import StateFlag
from cnoid_control.body.solids import lowest_height
from cnoid_control.exceptions import describe
from cnoid_control.runtime.config import RunConfig
from cnoid_control.runtime.loop import ControlLoop, RunOutcome
from cnoid_control.runtime.managed_controller import ManagedController

JOINT_MODES = StateFlag.JOINT_EFFORT | StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY
FALLEN_TILT = np.radians(60.0)
FALLEN_HEIGHT = 0.5
# A root that starts this near to the ground, as that of a mobile robot, cannot sink [m].
LOW_ROOT = 0.05


class RunMonitor:
    """Statistics over all ticks, from the trace.

    The reference of a joint is its q_target: the command in position mode, what the controller
    writes along in the other modes, and the initial q where it never does.

    Attributes:
        joint_error: largest |q - q_target| in the last block.
        max_joint_error: largest |q - q_target| of a commanded joint so far [rad] or [m].
        max_tilt: largest angle of the root's initially upward direction to the vertical [rad].
        tilt: the same angle in the last block [rad].
        fell: whether the free root has tilted beyond 60 degrees, or sunk below half the height
            that it has when it stands in its first posture.
        start: initial position of the root [m], shape (3,).
    """

    def __init__(self, loop: ControlLoop) -> None:
        """Listen to the trace of a loop that is not open yet.

        Raises:
            ValueError: the loop has no trace.
        """
        if loop.trace is None:
            raise ValueError('a loop without a trace cannot be monitored')
        self._body = body = loop.hardware.body
        self._columns = loop.trace.columns
        self._commanded: np.ndarray | None = None
        self._free = not body.is_fixed_root
        self._up = body.root_link.R[2].copy()
        self.start = body.root_link.p.copy()
        # On uneven ground a root is as high as it is above the ground below it.
        self._terrain = getattr(loop.hardware, 'terrain', None)
        # Not where it is dropped from: how high it is over its lowest point in this posture.
        above = float(self._heights(self.start[None])[0])
        standing = float(self.start[2]) - lowest_height(body)
        self._height = min(above, standing) if standing > LOW_ROOT else above
        self.max_joint_error = 0.0
        self.joint_error = 0.0
        self.max_tilt = 0.0
        self.tilt = 0.0
        self.fell = False
        loop.trace.listeners.append(self.observe)

    def _heights(self, positions: np.ndarray) -> np.ndarray:
        """Heights of positions above the ground [m], shape (n,)."""
        if self._terrain is None:
            return positions[:, 2]
        return positions[:, 2] - self._terrain.height(positions[:, 0], positions[:, 1])

    def _commanded_joints(self) -> np.ndarray:
        # The actuation modes are known once the controllers have been initialized.
        if self._commanded is None:
            modes = [joint.actuation_mode for joint in self._body.joints]
            self._commanded = np.array([bool(mode & JOINT_MODES) for mode in modes], dtype=bool)
        return self._commanded

    def observe(self, rows: np.ndarray) -> None:
        """Take a block of rows into account."""
        error = np.abs(rows[:, self._columns['q']] - rows[:, self._columns['q_target']])
        commanded = self._commanded_joints()
        if commanded.any():
            self.joint_error = float(error[:, commanded].max())
            # Written so that a NaN shows up in the result.
            self.max_joint_error = float(np.maximum(self.max_joint_error, self.joint_error))
        root = rows[:, self._columns['root_q']]
        x, y, z, w = root[:, 3:].T
        vertical = np.stack(
            (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)), axis=1
        )
        tilts = np.arccos(np.clip(vertical @ self._up, -1.0, 1.0))
        self.tilt = float(tilts[-1])
        self.max_tilt = float(np.maximum(self.max_tilt, tilts.max()))
        if self._free:
            lowest = self._heights(root).min()
            sunk = self._height > LOW_ROOT and lowest < FALLEN_HEIGHT * self._height
            self.fell = self.fell or bool(sunk) or not self.max_tilt <= FALLEN_TILT


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
        'limited': loop.limited(),
    }
    if outcome.reason:
        summary['reason'] = outcome.reason
    if outcome.traceback:
        summary['traceback'] = outcome.traceback
    if loop.host.warnings:
        summary['warnings'] = list(loop.host.warnings)
    if outcome.interrupted:
        summary['interrupted'] = True
    if loop.succession is not None and loop.succession.history:
        summary['took_over'] = [asdict(change) for change in loop.succession.history]
    dropped = [str(error) for error in loop.host.errors]
    if dropped and outcome.exit != 'failed':
        summary['errors'] = dropped
    # Controllers that have not returned may be in the middle of anything.
    members = [] if loop.host.is_abandoned else loop.host.members()
    reports = {managed.name: _report(managed) for managed in members}
    reports = {name: report for name, report in reports.items() if report}
    if reports:
        summary['reports'] = _plain(reports)
    return summary


def _report(managed: ManagedController) -> Any:
    try:
        return managed.controller.report()
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
    """The value rounded to what is worth reading; None (null in JSON) where it is not finite."""
    return round(float(value), 9) if math.isfinite(value) else None
