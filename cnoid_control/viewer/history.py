"""The last seconds of frames, as what plots show."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from cnoid_control.body import Body
from cnoid_control.viewer.frame import Frame
from cnoid_control.viewer.moments import tasks_of

# Frames that are kept: a minute at 30 of them per second.
LENGTH = 1800


@dataclass
class Curves:
    """What a plot shows.

    Attributes:
        title: what it is, with its unit.
        x: time of each point [s].
        y: values by the name of the curve, NaN where there are none; each as long as `x`.
    """

    title: str
    x: np.ndarray
    y: dict[str, np.ndarray] = field(default_factory=dict)


class History:
    """Keeps what plots need of the last frames.

    A frame that is earlier than the one before begins a new history.
    """

    def __init__(self, body: Body, length: int = LENGTH) -> None:
        """Keep frames of a robot, `length` of them at most."""
        self._body = body
        self._rows: deque[Frame] = deque(maxlen=length)

    def add(self, frame: Frame) -> None:
        """Keep a frame; one of the same moment again is left out."""
        if self._rows and frame.time == self._rows[-1].time:
            return
        if self._rows and frame.time < self._rows[-1].time:
            self._rows.clear()
        # Pictures and points would fill the memory.
        self._rows.append(
            Frame(
                time=frame.time,
                q=frame.q.copy(),
                u=frame.u.copy(),
                q_target=frame.q_target.copy(),
                compute=frame.compute.copy(),
                period=frame.period.copy(),
                log={name: value.copy() for name, value in frame.log.items() if is_number(value)},
            )
        )

    def log_names(self) -> list[str]:
        """Names of what controllers have logged, in the newest frame."""
        return sorted(self._rows[-1].log) if self._rows else []

    def tracking(self, joint: int, window: float) -> Curves:
        """Displacement of a joint and what was commanded."""
        rows = self._last(window)
        unit = self._unit(joint, 'rad', 'm')
        curves = self._curves(f'{self._name(joint)} [{unit}]', rows)
        curves.y['measured'] = _column(rows, 'q', joint)
        curves.y['target'] = _column(rows, 'q_target', joint)
        return curves

    def effort(self, joint: int, window: float) -> Curves:
        """Effort of a joint and its limits."""
        rows = self._last(window)
        unit = self._unit(joint, 'N m', 'N')
        curves = self._curves(f'{self._name(joint)} [{unit}]', rows)
        curves.y['effort'] = _column(rows, 'u', joint)
        for name, bound in (('limit', self._body.u_upper), ('-limit', self._body.u_lower)):
            if np.isfinite(bound[joint]):
                curves.y[name] = np.full(len(rows), bound[joint])
        return curves

    def loop_time(self, window: float) -> Curves:
        """Time that a tick takes, and the time between two ticks."""
        rows = self._last(window)
        curves = self._curves('loop [ms]', rows)
        curves.y['tick, mean'] = 1e3 * _column(rows, 'compute', 0)
        curves.y['tick, longest'] = 1e3 * _column(rows, 'compute', 1)
        curves.y['period, mean'] = 1e3 * _column(rows, 'period', 0)
        curves.y['period, longest'] = 1e3 * _column(rows, 'period', 1)
        return curves

    def task_errors(self, window: float) -> Curves:
        """Norm of the error of each task."""
        rows = self._last(window)
        curves = self._curves('task errors (norm)', rows)
        found = [tasks_of(row.log) for row in rows]
        for name in sorted({name for tasks in found for name in tasks}):
            curves.y[name] = np.array(
                [
                    np.linalg.norm(tasks[name].error)
                    if name in tasks and tasks[name].error.size
                    else np.nan
                    for tasks in found
                ]
            )
        return curves

    def logged(self, name: str, window: float, most: int = 8) -> Curves:
        """Something that a controller logs; of a vector, the first elements."""
        rows = self._last(window)
        curves = self._curves(name, rows)
        sizes = [row.log[name].size for row in rows if name in row.log]
        size = min(max(sizes, default=0), most)
        for index in range(size):
            label = name if size == 1 else f'{index}'
            curves.y[label] = np.array(
                [
                    row.log[name].ravel()[index]
                    if name in row.log and row.log[name].size > index
                    else np.nan
                    for row in rows
                ]
            )
        return curves

    def _last(self, window: float) -> list[Frame]:
        """Frames of the last seconds."""
        if not self._rows:
            return []
        begin = self._rows[-1].time - window
        return [row for row in self._rows if row.time >= begin]

    @staticmethod
    def _curves(title: str, rows: list[Frame]) -> Curves:
        return Curves(title, np.array([row.time for row in rows]))

    def _name(self, joint: int) -> str:
        return self._body.joints[joint].joint_name

    def _unit(self, joint: int, turning: str, sliding: str) -> str:
        return sliding if self._body.joints[joint].joint_type.value == 'prismatic' else turning


def is_number(value: np.ndarray) -> bool:
    """Whether something that was logged is made of numbers: it may be a text."""
    return value.dtype.kind in 'fiub'


def _column(rows: list[Frame], name: str, index: int) -> np.ndarray:
    values = [getattr(row, name) for row in rows]
    return np.array([value[index] if value.size > index else np.nan for value in values])
