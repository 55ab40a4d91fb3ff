"""Targets that move by themselves: circles and ways through points."""

from __future__ import annotations

import abc
import bisect
import math

import numpy as np
from numpy.typing import NDArray

from cnoid_control.controllers.tasks.exceptions import TaskError
from cnoid_control.controllers.tasks.interpolators import polynomial
from cnoid_control.controllers.tasks.parameters import MotionParameters
from cnoid_control.controllers.tasks.target import PoseTarget
from cnoid_control.controllers.tasks.task import Task


class TargetMotion(abc.ABC):
    """Moves the target of a task, starting where the task started."""

    def __init__(self, task: Task, size: int) -> None:
        """Move `size` elements of the target: of a pose, its position."""
        self.task = task
        self.size = size
        self._start: NDArray[np.float64] | None = None

    @abc.abstractmethod
    def offset(self, time: float) -> NDArray[np.float64]:
        """Offset from the start at a time since then [s], shape (size,)."""

    def step(self, time: float) -> None:
        """Put the target where it should be at a time since the start [s]."""
        target = self.task.target
        start = self._start
        if isinstance(target, PoseTarget):
            if start is None:
                start = self._start = target.input[:3, 3].copy()
            target.move_to(start + self.offset(time))
        else:
            if start is None:
                start = self._start = np.array(target.input)
            target.set(start + self.offset(time))


class CircleMotion(TargetMotion):
    """Round and round a circle that passes through the start; the first round speeds up slowly."""

    def __init__(self, task: Task, parameters: MotionParameters) -> None:
        """Find two axes of the circle."""
        super().__init__(task, 3)
        normal = np.array(parameters.normal, dtype=float)
        if normal.shape != (3,) or not np.linalg.norm(normal) > 0.0:
            raise TaskError(f'{task.name}.motion.normal: an axis expected, got {normal.tolist()}')
        normal /= np.linalg.norm(normal)
        first = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
        self._first = first / np.linalg.norm(first)
        self._second = np.cross(normal, self._first)
        self._radius = parameters.radius
        self._period = parameters.period

    def offset(self, time: float) -> NDArray[np.float64]:
        """Offset on the circle."""
        # Speed grows linearly during the first round, which takes twice the time of the others.
        rounds = time / self._period
        rounds = 0.25 * rounds**2 if rounds < 2.0 else rounds - 1.0
        angle = 2.0 * math.pi * rounds
        return self._radius * (
            (math.cos(angle) - 1.0) * self._first + math.sin(angle) * self._second
        )


class WaypointMotion(TargetMotion):
    """From the start through offsets at given times, at rest at each."""

    def __init__(self, task: Task, parameters: MotionParameters) -> None:
        """Check that there is one offset a time."""
        size = 3 if isinstance(task.target, PoseTarget) else task.target.size
        super().__init__(task, size)
        self._times = [0.0, *parameters.times]
        values = np.array(parameters.offsets, dtype=float)
        if values.size != size * len(parameters.times) or not (np.diff(self._times) > 0.0).all():
            raise TaskError(
                f'{task.name}.motion: growing times and {size} offsets a time expected, got '
                f'times {parameters.times} and {values.size} offsets'
            )
        self._offsets = np.vstack([np.zeros(size), values.reshape(-1, size)])
        self._ways = np.diff(self._offsets, axis=0)
        self._repeat = parameters.repeat

    def offset(self, time: float) -> NDArray[np.float64]:
        """Offset between two waypoints, with zero velocity and acceleration at both."""
        last = self._times[-1]
        if self._repeat and last > 0.0:
            time = time % last
        after = bisect.bisect_right(self._times, time)
        if after == len(self._times):
            return self._offsets[-1]
        start, stop = self._times[after - 1], self._times[after]
        blend = polynomial((time - start) / (stop - start), 5)
        return self._offsets[after - 1] + blend * self._ways[after - 1]


def make_motion(task: Task, parameters: MotionParameters) -> TargetMotion | None:
    """Motion of the type named; None for none."""
    if parameters.type == 'circle':
        return CircleMotion(task, parameters)
    if parameters.type == 'waypoints':
        return WaypointMotion(task, parameters)
    return None
