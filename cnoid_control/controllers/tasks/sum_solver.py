"""Add up what the tasks ask for, and slow the whole down until all constraints hold."""

from __future__ import annotations

import numpy as np

from cnoid_control.controllers.tasks.body_tasks import BodyScrewTask
from cnoid_control.controllers.tasks.constraints import BoundConstraint, Constraint
from cnoid_control.controllers.tasks.kinematics import (
    DAMPING,
    THRESHOLD,
    TaskKinematics,
    pseudo_inverse,
)
from cnoid_control.controllers.tasks.solver import ActiveRows, ControllerResult, Solution, Solver
from cnoid_control.controllers.tasks.task import BodyTask, JointTask, Task

# Rows of tasks that are inverted over all joints between the world and their link.
LINK_ROWS = (BodyTask.jacobian, BodyScrewTask.jacobian)


class SumSolver(Solver):
    """dq = factor * (sum of joint tasks + sum of J^+ v of body and generic tasks).

    Conflicts between tasks are not resolved, they add up. Each body task uses the pseudo-inverse
    over all joints between the world and its link; the part of joints that are not controlled is
    dropped. One factor for all joints keeps the direction of the motion. Priorities and weights
    mean nothing here.

    Near a singularity the pseudo-inverse is damped: a singular value s below `threshold` counts
    as s / (s^2 + d^2), d growing from 0 at the threshold to `damping` at s = 0.

    Attributes:
        threshold: singular value below which damping sets in; 0 for none.
        damping: largest damping.
    """

    uses_weights = False

    def __init__(self, threshold: float = THRESHOLD, damping: float = DAMPING) -> None:
        """Set the handling of singularities."""
        super().__init__()
        self.threshold = threshold
        self.damping = damping

    def solve(
        self, kinematics: TaskKinematics, tasks: list[Task], constraints: list[Constraint]
    ) -> Solution:
        """Always finds a solution."""
        desired = self.desired(kinematics, tasks)
        factor, tightest = 1.0, None
        for constraint in constraints:
            allowed = constraint.compute(kinematics, desired)
            if allowed < factor:
                factor, tightest = allowed, constraint
        velocity = factor * desired

        def find_active() -> ActiveRows:
            if tightest is None:
                return []
            if not isinstance(tightest, BoundConstraint):
                return [(tightest, [])]
            values = tightest.values(kinematics, velocity)
            bounds = np.where(values > 0.0, tightest.upper, tightest.lower)
            moving = tightest.values(kinematics, desired) != 0.0
            return [(tightest, np.flatnonzero(moving & (abs(values - bounds) < 1e-9)).tolist())]

        return Solution(ControllerResult.SOLUTION_FOUND, velocity, desired, factor, find_active)

    def desired(self, kinematics: TaskKinematics, tasks: list[Task]) -> np.ndarray:
        """Sum of what the tasks ask for."""
        total = np.zeros(kinematics.num_unknowns)
        for task in tasks:
            # Rows of a task's own are inverted over the unknowns, whatever it derives from.
            rows = type(task).jacobian
            if rows is JointTask.jacobian:
                total += task.jacobian(kinematics).T @ task.velocity
            elif isinstance(task, BodyTask) and rows in LINK_ROWS:
                total += self._body_velocity(kinematics, task)
            else:
                total += self.pseudo_inverse(task.jacobian(kinematics)) @ task.velocity
        return total

    def _body_velocity(self, kinematics: TaskKinematics, task: BodyTask) -> np.ndarray:
        jacobian = kinematics.get_body_jacobian(task.link)
        inverse = jacobian.inverse(self.threshold, self.damping)
        mapping = kinematics.unknowns.selection_matrix_from(inverse.joints)
        return mapping @ (inverse.linear_transform @ task.last_velocity_in_world)

    def pseudo_inverse(self, matrix: np.ndarray) -> np.ndarray:
        """Damped pseudo-inverse of any matrix."""
        return pseudo_inverse(matrix, self.threshold, self.damping)
