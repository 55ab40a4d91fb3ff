"""What pose tasks ask for, many tasks at a time: numpy takes as long for one as for ten."""

from __future__ import annotations

import abc
import math
import operator
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import pinocchio as pin

from cnoid_control.controllers.tasks.body_tasks import (
    BodyPositionTask,
    BodyScrewTask,
    state_of_poses,
)
from cnoid_control.controllers.tasks.kinematics import TaskKinematics
from cnoid_control.controllers.tasks.target import PoseTarget
from cnoid_control.controllers.tasks.task import Task

# Methods that are called for a task; one of its own may have been put on an object.
METHODS = frozenset({'compute', 'update', 'compute_body_velocity'})
PACKAGE = f'{__package__}.'
# Takes the elements of a rotation, row by row, to its axis times the sine of its angle.
AXIS = np.zeros((9, 3))
AXIS[[7, 2, 3], [0, 1, 2]] = 0.5
AXIS[[5, 6, 1], [0, 1, 2]] = -0.5
# Likewise to the cosine but for a half.
TRACE = 0.5 * np.eye(3).reshape(9)
ONES = np.ones(3)
# Cosine below which the sine does not tell the axis well.
LARGE_TURN = -0.9
# Makes 0 / 0 a 0, and changes no other quotient.
TINY = 1e-300

log3, log6 = pin.log3, pin.log6
PoseT = TypeVar('PoseT', bound=BodyPositionTask)


class PoseErrors:
    """Computes tasks: those of poses in the world together, the others one by one.

    Which these are is found once, and again when `fits` says no. What is found is the same: a task
    with code of somebody else's may set targets of those behind it, so that none of these is
    computed before it.
    """

    def __init__(self, kinematics: TaskKinematics, tasks: list[Task]) -> None:
        """Sort the tasks."""
        self._kinematics = kinematics
        self._tasks = tasks
        self._seen = state_of_poses()
        self._given = [_given(kinematics, task) for task in tasks]
        self._groups: list[_Group] = []
        # What is computed, in this order.
        self._parts: list[_Group | Task] = []
        first = 0
        for place, task in enumerate(tasks):
            if _is_foreign(task):
                self._add(first, place)
                self._parts.append(task)
                first = place + 1
        self._add(first, len(tasks))

    def _add(self, first: int, end: int) -> None:
        """Line up tasks that do nothing to each other, by their places."""
        tasks, kinds = self._tasks[first:end], [given[0] for given in self._given[first:end]]
        for group in (_Places, _Screws):
            members: list[Any] = [
                task for task, kind in zip(tasks, kinds, strict=True) if kind is group.task_type
            ]
            if len(members) >= group.least:
                self._groups.append(group(self._kinematics, members))
                self._parts.append(self._groups[-1])
                places = [place for place, task in enumerate(tasks) if task not in members]
                tasks, kinds = [tasks[one] for one in places], [kinds[one] for one in places]
        self._parts += tasks

    def fits(self, tasks: list[Task]) -> bool:
        """Whether these tasks are those given, and but for their gains as they were."""
        if tasks is not self._tasks:
            return False
        state = state_of_poses()
        if state is not self._seen:
            for task, given in zip(tasks, self._given, strict=True):
                if not all(map(operator.is_, given, _given(self._kinematics, task))):
                    return False
            for group in self._groups:
                group.read_gains()
            self._seen = state
        return True

    def compute(self, dt: float) -> None:
        """Refresh what all tasks ask for; errors as for `Task.compute`."""
        for part in self._parts:
            part.compute(self._kinematics, dt)


def _is_foreign(task: Task) -> bool:
    """Whether a task has code that is not this package's."""
    parts = (task, task.target, task.shaper)
    known = all(part is None or type(part).__module__.startswith(PACKAGE) for part in parts)
    return not known or bool(METHODS & vars(task).keys())


def _given(kinematics: TaskKinematics, task: Task) -> tuple[object, ...]:
    """Class of a task that can be computed with others, or None, and what it depends on."""
    if (
        type(task) in (BodyPositionTask, BodyScrewTask)
        and isinstance(task, BodyPositionTask)
        and task.shaper is None
        and task.activation >= 1.0
        and task.reference is None
        and not task.restart
        and isinstance(task.gain, (int, float))
        and type(task.target) is PoseTarget
        and kinematics.is_live(task.link)
        and not METHODS & vars(task).keys()
    ):
        return type(task), task.link, task.target, task.selection, task.feedforward
    return None, None, None, None, None


class _Group(abc.ABC, Generic[PoseT]):
    """Tasks of one kind."""

    task_type: ClassVar[type[BodyPositionTask]]
    # So many tasks take less time together than one by one.
    least: ClassVar[int]

    def __init__(self, kinematics: TaskKinematics, tasks: list[PoseT]) -> None:
        """Take over what the tasks are."""
        self._kinematics = kinematics
        self._tasks = tasks
        self._attributes = [vars(task) for task in tasks]
        self._steps = [task.target.step for task in tasks]
        selection = np.array([task.selection for task in tasks])
        self._selection = None if selection.all() else selection
        self.read_gains()

    def read_gains(self) -> None:
        """Take over the gains of the tasks."""
        # As many as there are elements: products of arrays of one shape are the quickest.
        gains = np.array([task.gain for task in self._tasks], dtype=float)
        self._gains = gains.repeat(6).reshape(-1, 6)

    def compute(self, kinematics: TaskKinematics, dt: float) -> None:
        """Refresh `error` and `velocity` of the tasks."""
        errors = self._errors(dt)
        if self._selection is not None:
            errors *= self._selection
        velocities = self._velocities(errors)
        if not math.isfinite(np.vdot(velocities, velocities)):
            # One of them says so.
            for task in self._tasks:
                task.compute(kinematics, dt)
        for attributes, error, velocity in zip(self._attributes, errors, velocities, strict=True):
            attributes['error'] = error
            attributes['velocity'] = velocity

    @abc.abstractmethod
    def _errors(self, dt: float) -> np.ndarray:
        """Errors of the tasks before their selections, shape (tasks, 6)."""

    def _velocities(self, errors: np.ndarray) -> np.ndarray:
        """Velocities to ask for at these errors, shape (tasks, 6)."""
        return errors * self._gains


class _Screws(_Group[BodyScrewTask]):
    """Errors along the screws to the targets."""

    task_type = BodyScrewTask
    least = 2

    def __init__(self, kinematics: TaskKinematics, tasks: list[BodyScrewTask]) -> None:
        """Find the poses of the links, which stay those of now."""
        super().__init__(kinematics, tasks)
        poses = [kinematics.placement(task.link) for task in tasks]
        self._looks = [pose.actInv for pose in poses]
        for attributes, pose in zip(self._attributes, poses, strict=True):
            attributes['_axes'] = pose.rotation

    def _errors(self, dt: float) -> np.ndarray:
        twists = []
        for attributes, step, look in zip(self._attributes, self._steps, self._looks, strict=True):
            goal = step(dt)
            offset = look(goal)
            attributes['_screw'] = goal, offset
            twists.append(log6(offset).vector)
        return np.concatenate(twists).reshape(-1, 6)


class _Places(_Group[BodyPositionTask]):
    """Errors of positions, and of orientations about one axis."""

    task_type = BodyPositionTask
    least = 4

    def __init__(self, kinematics: TaskKinematics, tasks: list[BodyPositionTask]) -> None:
        """Find the links among all poses."""
        super().__init__(kinematics, tasks)
        count, links = len(tasks), [task.link for task in tasks]
        positions, axes = kinematics.position_places(links), kinematics.axes_places(links)
        assert positions is not None  # All of them are live.
        assert axes is not None
        # Of both halves of an error: those of the second one are overwritten by the orientation.
        self._position_places = np.tile(positions.reshape(-1, 3), 2)
        self._axes_places = axes
        self._goals: list[pin.SE3 | None] = [None] * count
        self._positions, self._axes = np.zeros((count, 6)), np.zeros((count, 3, 3))
        self._follows = [task.feedforward for task in tasks]
        self._feedforward = np.zeros((count, 6))
        self._moves = False
        for attributes in self._attributes:
            attributes['_axes'] = None

    def _errors(self, dt: float) -> np.ndarray:
        goals = self._goals
        for i, step in enumerate(self._steps):
            goal = step(dt)
            if goal is not goals[i]:
                self._take(i, goal)
        values = self._kinematics.pose_values
        errors = self._positions - values.take(self._position_places)
        # The columns of the axes are the rows in memory, so that they come transposed.
        turns = np.matmul(self._axes, values.take(self._axes_places))
        elements = turns.reshape(-1, 9)
        axes, cosines = elements.dot(AXIS), elements.dot(TRACE) - 0.5
        sines = np.sqrt((axes * axes).dot(ONES))
        factors = np.arctan2(sines, cosines)
        factors /= sines + TINY
        np.multiply(axes, factors[:, None], out=errors[:, 3:])
        if min(cosines.tolist()) < LARGE_TURN:
            for large in np.flatnonzero(cosines < LARGE_TURN):
                errors[large, 3:] = log3(turns[large])
        return errors

    def _take(self, i: int, goal: pin.SE3) -> None:
        """Take over the target of a task: its velocity changes only with its pose."""
        self._goals[i] = goal
        self._positions[i, :3] = goal.translation
        self._axes[i] = goal.rotation
        target = self._tasks[i].target
        if self._follows[i] and (self._moves or target.is_moving):
            self._moves = True
            self._feedforward[i] = target.velocity

    def _velocities(self, errors: np.ndarray) -> np.ndarray:
        velocities = super()._velocities(errors)
        if self._moves:
            feedforward = self._feedforward
            velocities += feedforward if self._selection is None else feedforward * self._selection
        return velocities
