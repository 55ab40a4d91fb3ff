"""The rows of all active tasks, one below the other by priority, in arrays that are kept."""

from __future__ import annotations

import operator
from typing import NamedTuple, TypeGuard

import numpy as np

from cnoid_control.controllers.tasks.body_tasks import BodyScrewTask
from cnoid_control.controllers.tasks.exceptions import TaskError
from cnoid_control.controllers.tasks.kinematics import TaskKinematics
from cnoid_control.controllers.tasks.task import BodyTask, JointTask, Task, state_of_rows
from cnoid_control.controllers.tasks.twist_rows import Place, TwistRows

# So many screw tasks take less time together than one by one.
MANY_SCREWS = 2


class Level(NamedTuple):
    """Tasks of one priority.

    Attributes:
        tasks: the tasks.
        rows: their weighted rows over the unknowns, shape (rows, unknowns).
        wanted: what the rows are to give, shape (rows,).
    """

    tasks: list[Task]
    rows: np.ndarray
    wanted: np.ndarray

    @property
    def lm_damping(self) -> float:
        """Levenberg-Marquardt damping: large while the tasks are far from their targets."""
        damping = 0.0
        for task in self.tasks:
            if task.lm_damping:
                squares = task.velocity * task.velocity
                damping += task.lm_damping * float(task.weight.dot(squares))
        return damping


class _Rows(NamedTuple):
    """Where the rows of a task are that are looked at in each tick, one task at a time."""

    task: Task
    place: np.ndarray
    counted: np.ndarray | None
    scale: np.ndarray | None
    shape: tuple[int, int]


class TaskStack:
    """Rows and wanted velocities of tasks; those without weight are left out.

    Which rows there are is found once, and again when `fits` says no; `refresh` fills them in
    each tick, into the same arrays: those of links in the world's axes all at once, those of
    joints in the last level never again, those of other tasks one by one.

    Attributes:
        levels: the tasks by priority, highest first; one without rows where there are no tasks.
        rows: rows of all levels, shape (rows, unknowns).
        wanted: what they are to give, shape (rows,).
        num_kept: number of rows above the last level.
        num_dense: number of rows in front of those of the last level's joint tasks, which have
            one element each.
        joint_weights: sum of the weights of these on each unknown, shape (unknowns,).
    """

    def __init__(self, kinematics: TaskKinematics, tasks: list[Task]) -> None:
        """Find the rows that count."""
        self._kinematics = kinematics
        self._tasks = list(tasks)
        self._seen = state_of_rows()
        self._given = [_given(task) for task in tasks]
        last = max((task.priority for task in tasks), default=0)
        # Joint tasks of the last level at its end; screw tasks one below the other.
        ordered = sorted(
            tasks,
            key=lambda task: (
                task.priority,
                task.priority == last and _is_constant(task),
                _is_screw(task),
            ),
        )
        has_screws = sum(map(_is_screw, tasks)) >= MANY_SCREWS
        self._ordered = ordered
        starts = np.cumsum([0, *(task.size for task in ordered)]).tolist()
        self._num_asked = starts[-1]
        scale = np.concatenate(
            [np.zeros(0)]
            + [np.ones(t.size) if t.row_scale is None else t.row_scale for t in ordered]
        )
        counted = np.flatnonzero(scale)
        self._counted = None if len(counted) == len(scale) else counted
        scale = scale[counted]
        self._scale = None if (scale == 1.0).all() else scale
        size = kinematics.num_unknowns
        self.rows = np.zeros((len(counted), size))
        self.wanted = np.zeros(len(counted))
        ends = np.searchsorted(counted, starts).tolist()
        self._others: list[_Rows] = []
        points: list[Place] = []
        screws: list[tuple[BodyScrewTask, Place]] = []
        for i, task in enumerate(ordered):
            place = slice(ends[i], ends[i + 1])
            rows, own = self.rows[place], counted[place] - starts[i]
            if _is_constant(task) and task.priority == last:
                rows[:] = scale[place, None] * task.jacobian(kinematics)[own]
            elif _is_point(task) and kinematics.has_point_rows(task.link):
                points.append(Place(task.link, place, own, scale[place]))
            elif has_screws and _is_screw(task) and kinematics.has_point_rows(task.link):
                screws.append((task, Place(task.link, place, own, scale[place])))
            else:
                is_scaled = bool((scale[place] != 1.0).any())
                self._others.append(
                    _Rows(
                        task,
                        rows,
                        None if len(own) == task.size else own,
                        scale[place, None] if is_scaled else None,
                        (task.size, size),
                    )
                )
        self._twists: TwistRows | None = None
        if points or screws:
            self._twists = TwistRows(kinematics, points, screws, self.rows)
        self.levels: list[Level] = []
        for priority in sorted({task.priority for task in tasks}) or [0]:
            members = [i for i, task in enumerate(ordered) if task.priority == priority]
            begin, end = (members[0], members[-1] + 1) if members else (0, 0)
            place = slice(ends[begin], ends[end])
            self.levels.append(Level(ordered[begin:end], self.rows[place], self.wanted[place]))
        self.num_kept = len(self.rows) - len(self.levels[-1].rows)
        dense = [i for i, t in enumerate(ordered) if t.priority != last or not _is_constant(t)]
        self.num_dense = ends[dense[-1] + 1] if dense else 0
        self.joint_weights = np.square(self.rows[self.num_dense :]).sum(axis=0)

    def fits(self, kinematics: TaskKinematics, tasks: list[Task]) -> bool:
        """Whether these tasks have the same rows, weights and priorities as those given."""
        if kinematics is not self._kinematics or tasks != self._tasks:
            return False
        # Whether any task has changed at all is seen at once.
        state = state_of_rows()
        if state is not self._seen:
            if not all(map(_is_same, self._given, map(_given, tasks))):
                return False
            self._seen = state
        return True

    def refresh(self) -> None:
        """Take the rows and velocities of now.

        Raises:
            TaskError: the rows of a task have another shape.
        """
        kinematics = self._kinematics
        if self._twists is not None:
            self._twists.refresh()
        for task, place, counted, scale, shape in self._others:
            jacobian = task.jacobian(kinematics)
            if jacobian.shape != shape:
                raise TaskError(
                    f'task {task.name!r}: a Jacobian of shape {shape} expected, got '
                    f'{jacobian.shape}'
                )
            if counted is not None:
                jacobian = jacobian.take(counted, 0)
            if scale is None:
                place[:] = jacobian
            else:
                np.multiply(jacobian, scale, out=place)
        if not self._num_asked:
            return
        asked = [task.velocity for task in self._ordered]
        if self._counted is not None:
            # Nothing to clip: it is the quickest way to take elements into an array that is there.
            np.concatenate(asked).take(self._counted, None, self.wanted, 'clip')
        else:
            np.concatenate(asked, out=self.wanted)
        if self._scale is not None:
            self.wanted *= self._scale


def _given(task: Task) -> tuple[object, ...]:
    """What the place and the kind of a task's rows depend on."""
    return (task.priority, task.size, task.row_scale, task.counted_rows, *_frames(task))


def _is_same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether nothing has changed; arrays, whose values may change, count by identity."""
    return one[:2] == other[:2] and all(map(operator.is_, one[2:], other[2:]))


def _frames(task: Task) -> tuple[object, ...]:
    if not isinstance(task, BodyTask):
        return ()
    own = vars(task)
    return (task.link, task.reference, own.get('jacobian'), own.get('update'))


def _is_constant(task: Task) -> bool:
    """Whether the rows do not change with the state: those of joint tasks."""
    return type(task).jacobian is JointTask.jacobian and 'jacobian' not in vars(task)


def _is_point(task: Task) -> TypeGuard[BodyTask]:
    """Whether the rows are the velocity of a link's origin in the world's axes."""
    return (
        isinstance(task, BodyTask)
        and type(task).jacobian is BodyTask.jacobian
        and 'jacobian' not in vars(task)
        and task.reference is None
    )


def _is_screw(task: Task) -> TypeGuard[BodyScrewTask]:
    """Whether the rows are those of the twist from a pose."""
    return (
        isinstance(task, BodyScrewTask)
        and type(task).jacobian is BodyScrewTask.jacobian
        and type(task).update is BodyScrewTask.update
        and not {'jacobian', 'update'} & vars(task).keys()
    )
