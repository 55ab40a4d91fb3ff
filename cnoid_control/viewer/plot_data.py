"""What a plot shows of a recorded run: curves that keep every peak, however long the run is."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.devices import ForceSensor
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.log import LogError, RunLog

# Points per curve: longer runs are drawn as the least and the largest value of so many spans.
MAX_POINTS = 3000
# Ticks that are read at once.
BLOCK = 8192


@dataclass
class RunData:
    """Curves of one log.

    Attributes:
        log: the log.
        body: the robot, with its limits.
        times: times of the curves [s], shape (points,).
        joints: by name `q`, `q_target`, `error`, `u`, `effort`; shape (points, joints).
        root: `position` (x, y, z from the start), `rpy`, `velocity` (vx, vy in the axes of the
            heading, yaw rate); shape (points, 3).
        forces: force of each force sensor, with times of its own.
        tasks: norm of each task's error, likewise.
        fields: other numbers that controllers logged, likewise.
        events: what happened, with its times [s].
    """

    log: RunLog
    body: Body
    times: np.ndarray
    joints: dict[str, np.ndarray]
    root: dict[str, np.ndarray]
    forces: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    tasks: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    fields: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    events: list[tuple[float, str]] = field(default_factory=list)

    @property
    def label(self) -> str:
        """What the log is called in a legend."""
        return self.log.path.stem


def read_run(log: RunLog, begin: float | None = None, end: float | None = None) -> RunData:
    """Curves of a log between two times [s]; of all of it where they are None.

    Raises:
        CnoidControlError: there is nothing between them.
        LogError: the log is damaged.
    """
    first = 0 if begin is None else int(np.searchsorted(log.times, begin - 1e-9))
    last = log.ticks if end is None else int(np.searchsorted(log.times, end + 1e-9, 'right'))
    if first >= last:
        raise CnoidControlError(
            f'{log.path}: has no tick from {begin} to {end} s; it goes from {log.times[0]:g} to '
            f'{log.times[-1]:g} s'
        )
    body = log.body()
    edges = _edges(last - first) + first
    parts: list[dict[str, np.ndarray]] = []
    start = _Start(log)
    for group in _groups(edges):
        ticks = np.arange(group[0], group[-1])
        values = _derived(log.rows(ticks), start, body.num_joints)
        parts.append({name: _envelope(v, group - group[0]) for name, v in values.items()})
    curves = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    times = _envelope_times(log.times, edges)
    span = (log.times[first] - 1e-9, log.times[last - 1] + 1e-9)
    data = RunData(
        log,
        body,
        times,
        {name: curves[name] for name in JOINT_CURVES if name in curves},
        {name: curves[name] for name in ROOT_CURVES},
        events=[(time, what) for time, what in log.events() if span[0] <= time <= span[1]],
    )
    for sensor in body.devices_of(ForceSensor):
        series = log.device(sensor)
        if series is not None:
            _keep(data.forces, sensor.name, series.times, series.values[:, :3], span)
    _read_fields(data, span)
    return data


JOINT_CURVES = ('q', 'q_target', 'error', 'u', 'effort')
ROOT_CURVES = ('position', 'rpy', 'velocity')


class _Start:
    """Where the root was at first: positions are counted from there."""

    def __init__(self, log: RunLog) -> None:
        self.position = log.rows(np.array([0]))['root'][0, :3] * np.array([1.0, 1.0, 0.0])


def _derived(rows: dict[str, np.ndarray], start: _Start, joints: int) -> dict[str, np.ndarray]:
    q, target = rows['q'][:, :joints], rows['q_target'][:, :joints]
    found = {'q': q, 'q_target': target, 'error': q - target, 'u': rows['u'][:, :joints]}
    if 'effort' in rows:
        found['effort'] = rows['effort'][:, :joints]
    rpy = _rpy(rows['root'][:, 3:])
    motion = rows['root_motion']
    cosine, sine = np.cos(rpy[:, 2]), np.sin(rpy[:, 2])
    found['position'] = rows['root'][:, :3] - start.position
    found['rpy'] = np.degrees(rpy)
    found['velocity'] = np.stack(
        [
            cosine * motion[:, 0] + sine * motion[:, 1],
            -sine * motion[:, 0] + cosine * motion[:, 1],
            motion[:, 5],
        ],
        axis=1,
    )
    return found


def _rpy(quaternions: np.ndarray) -> np.ndarray:
    """Roll, pitch and yaw of quaternions x y z w [rad], shape (n, 3)."""
    x, y, z, w = quaternions.T
    roll = np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    pitch = np.arcsin(np.clip(2.0 * (w * y - z * x), -1.0, 1.0))
    yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    return np.stack([roll, pitch, yaw], axis=1)


def _edges(count: int) -> np.ndarray:
    """Where the spans of a curve begin, and its end."""
    if count <= MAX_POINTS:
        return np.arange(count + 1)
    return np.linspace(0, count, MAX_POINTS // 2 + 1).astype(int)


def _groups(edges: np.ndarray) -> list[np.ndarray]:
    """Edges of spans that are read at once, each group with the end of its last span."""
    longest = max(1, int(np.diff(edges).max()))
    size = max(1, BLOCK // longest)
    return [edges[i : i + size + 1] for i in range(0, len(edges) - 1, size)]


def _envelope(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Least and largest value of each span one after the other; all of them in spans of one."""
    if len(edges) - 1 == len(values):
        return values
    least = np.minimum.reduceat(values, edges[:-1])
    largest = np.maximum.reduceat(values, edges[:-1])
    # Whichever comes first in the span is drawn first.
    rising = values[edges[:-1]] <= values[edges[1:] - 1]
    pairs = np.stack([np.where(rising, least, largest), np.where(rising, largest, least)], axis=1)
    return pairs.reshape(-1, *values.shape[1:])


def _envelope_times(times: np.ndarray, edges: np.ndarray) -> np.ndarray:
    if len(edges) == 1 or np.diff(edges).max() <= 1:
        return times[edges[0] : edges[-1]]
    return np.stack([times[edges[:-1]], times[edges[1:] - 1]], axis=1).ravel()


def _keep(
    found: dict[str, tuple[np.ndarray, np.ndarray]],
    name: str,
    times: np.ndarray,
    values: np.ndarray,
    span: tuple[float, float],
) -> None:
    inside = (times >= span[0]) & (times <= span[1])
    times, values = times[inside], values[inside]
    if len(times) > 1:
        edges = _edges(len(times))
        found[name] = _envelope_times(times, edges), _envelope(values, edges)


def _read_fields(data: RunData, span: tuple[float, float]) -> None:
    """Errors of tasks, and what else controllers logged and that changes."""
    for topic in data.log.fields():
        name = topic.partition('/')[2]
        if name.endswith(('.target', '.frame', '.weight', '.active')) or name == 'base_estimate':
            continue
        try:
            series = data.log.series(topic)
        except LogError:
            # Its size changes from message to message: no curve.
            continue
        if not series.values.size or not np.isfinite(series.values).any():
            continue
        if name.endswith('.error'):
            norm = np.linalg.norm(series.values, axis=1, keepdims=True)
            _keep(data.tasks, name.removesuffix('.error'), series.times, norm, span)
        elif series.values.shape[1] <= 6 and np.nanmax(np.ptp(series.values, axis=0)) > 0.0:
            _keep(data.fields, topic, series.times, series.values, span)
