"""The rows of all active tasks, one below the other by priority, in arrays that are kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cnoid_control.controllers.tasks.exceptions import TaskError
from cnoid_control.controllers.tasks.kinematics import TaskKinematics
from cnoid_control.controllers.tasks.task import JointTask, Task


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
        return sum(
            task.lm_damping * float(task.weight @ (task.velocity * task.velocity))
            for task in self.tasks
            if task.lm_damping
        )


class TaskStack:
    """Rows and wanted velocities of tasks; those without weight are left out.

    Which rows there are is found once, and again when `fits` says no; `refresh` fills them in
    each tick, into the same arrays.

    Attributes:
        levels: the tasks by priority, highest first; one without rows where there are no tasks.
    """

    def __init__(self, kinematics: TaskKinematics, tasks: list[Task]) -> None:
        """Find the rows that count."""
        self._kinematics = kinematics
        self._given = [
            (task, task.priority, task.row_scale, task.counted_rows, task.size) for task in tasks
        ]
        size = kinematics.num_unknowns
        ordered = sorted(tasks, key=lambda task: task.priority)
        starts = np.cumsum([0, *(task.size for task in ordered)]).tolist()
        self._all_rows = np.zeros((starts[-1], size))
        self._asked = np.zeros(starts[-1])
        # The rows of joint tasks do not change with the state.
        self._places = [
            (
                task,
                self._all_rows[start:end],
                self._asked[start:end],
                type(task).jacobian is JointTask.jacobian and 'jacobian' not in vars(task),
            )
            for task, start, end in zip(ordered, starts[:-1], starts[1:], strict=True)
        ]
        for task, rows, _, is_constant in self._places:
            if is_constant:
                rows[:] = task.jacobian(kinematics)
        scales = [
            np.ones(task.size) if task.row_scale is None else task.row_scale for task in ordered
        ]
        scale = np.concatenate([np.zeros(0), *scales])
        counted = np.flatnonzero(scale)
        self._counted = None if len(counted) == len(scale) else counted
        scale = scale[counted]
        self._scale = None if (scale == 1.0).all() else scale
        if self._counted is None and self._scale is None:
            self._rows, self._wanted = self._all_rows, self._asked
        else:
            self._rows, self._wanted = np.zeros((len(counted), size)), np.zeros(len(counted))
        self.levels: list[Level] = []
        for priority in sorted({task.priority for task in tasks}) or [0]:
            members = [i for i, task in enumerate(ordered) if task.priority == priority]
            first, last = (members[0], members[-1] + 1) if members else (0, 0)
            place = slice(*np.searchsorted(counted, [starts[first], starts[last]]).tolist())
            self.levels.append(Level(ordered[first:last], self._rows[place], self._wanted[place]))

    def fits(self, kinematics: TaskKinematics, tasks: list[Task]) -> bool:
        """Whether these tasks have the same rows, weights and priorities as those given."""
        if kinematics is not self._kinematics or len(tasks) != len(self._given):
            return False
        for task, (known, priority, scale, counted, size) in zip(tasks, self._given, strict=True):
            if (
                task is not known
                or task.priority != priority
                or task.row_scale is not scale
                or task.counted_rows is not counted
                or task.size != size
            ):
                return False
        return True

    def refresh(self) -> None:
        """Take the rows and velocities of now.

        Raises:
            TaskError: the rows of a task have another shape.
        """
        kinematics = self._kinematics
        for task, rows, asked, is_constant in self._places:
            if not is_constant:
                jacobian = task.jacobian(kinematics)
                if jacobian.shape != rows.shape:
                    raise TaskError(
                        f'task {task.name!r}: a Jacobian of shape {rows.shape} expected, got '
                        f'{jacobian.shape}'
                    )
                rows[:] = jacobian
            asked[:] = task.velocity
        if self._counted is not None:
            # Nothing to clip: it is the quickest way to take rows into an array that is there.
            self._all_rows.take(self._counted, 0, self._rows, 'clip')
            self._asked.take(self._counted, 0, self._wanted, 'clip')
            if self._scale is not None:
                self._rows *= self._scale[:, None]
                self._wanted *= self._scale
        elif self._scale is not None:
            np.multiply(self._all_rows, self._scale[:, None], out=self._rows)
            np.multiply(self._asked, self._scale, out=self._wanted)
