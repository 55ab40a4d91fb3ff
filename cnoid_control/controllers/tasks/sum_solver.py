"""Add up what the tasks ask for, and slow the whole down until all constraints hold."""

from __future__ import annotations

import numpy as np

from cnoid_control.body.kinematic_tree import ROOT_NV
from cnoid_control.controllers.tasks.constraints import Constraint
from cnoid_control.controllers.tasks.kinematics import TaskKinematics
from cnoid_control.controllers.tasks.solver import ActiveRows, ControllerResult, Solution
from cnoid_control.controllers.tasks.task import BodyTask, JointTask, Task


class SumSolver:
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

    moves_root = False

    def __init__(self, threshold: float = 0.02, damping: float = 0.05) -> None:
        """Set the handling of singularities."""
        self.threshold = threshold
        self.damping = damping

    def solve(
        self, kinematics: TaskKinematics, tasks: list[Task], constraints: list[Constraint]
    ) -> Solution:
        """Always finds a solution."""
        desired = self.desired(kinematics, tasks)
        factor, tightest = 1.0, None
        for constraint in constraints:
            raw = constraint.factor(kinematics, desired)
            constraint.scaling_factor = min(max(raw, 0.0), 1.0)
            if constraint.scaling_factor < factor:
                factor, tightest = constraint.scaling_factor, constraint
        velocity = factor * desired

        def find_active() -> ActiveRows:
            if tightest is None:
                return []
            values = tightest.values(kinematics, velocity)
            bounds = np.where(values > 0.0, tightest.upper, tightest.lower)
            moving = tightest.values(kinematics, desired) != 0.0
            return [(tightest, np.flatnonzero(moving & (abs(values - bounds) < 1e-9)).tolist())]

        return Solution(ControllerResult.SOLUTION_FOUND, velocity, desired, factor, find_active)

    def desired(self, kinematics: TaskKinematics, tasks: list[Task]) -> np.ndarray:
        """Sum of what the tasks ask for."""
        total = np.zeros(kinematics.num_unknowns)
        for task in tasks:
            if isinstance(task, JointTask):
                total += task.jacobian(kinematics).T @ task.velocity
            elif isinstance(task, BodyTask):
                total += self._body_velocity(kinematics, task)
            else:
                total += self.pseudo_inverse(task.jacobian(kinematics)) @ task.velocity
        return total

    def _body_velocity(self, kinematics: TaskKinematics, task: BodyTask) -> np.ndarray:
        jacobian = kinematics.full_jacobian(task.link)[:, ROOT_NV:]
        path = np.flatnonzero(jacobian.any(axis=0))
        velocity = np.zeros(jacobian.shape[1] + ROOT_NV)
        velocity[ROOT_NV + path] = (
            self.pseudo_inverse(jacobian[:, path]) @ task.last_velocity_in_world
        )
        return velocity[kinematics.columns]

    def pseudo_inverse(self, matrix: np.ndarray) -> np.ndarray:
        """Damped pseudo-inverse; the exact one where no singular value is below the threshold."""
        if matrix.size == 0:
            return matrix.T
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        near = values < self.threshold
        ratio = np.divide(values, self.threshold, out=np.ones_like(values), where=near)
        damping = np.where(near, self.damping**2 * (1.0 - ratio**2), 0.0)
        # Values that are zero but for rounding stand for directions that do not exist.
        exists = values > 1e-10 * max(values[0], 1e-300)
        inverse = np.divide(values, values**2 + damping, out=np.zeros_like(values), where=exists)
        return (right.T * inverse) @ left.T
