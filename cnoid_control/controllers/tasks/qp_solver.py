"""Strict priorities and weights by quadratic programs, limits as hard constraints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from eigenpy import LLT, ComputationInfo

from cnoid_control.controllers.tasks.constraints import (
    BoundConstraint,
    Constraint,
    JointConstraint,
    RowConstraint,
    is_kept_exactly,
    is_scaled,
)
from cnoid_control.controllers.tasks.exceptions import TaskError
from cnoid_control.controllers.tasks.kinematics import TaskKinematics
from cnoid_control.controllers.tasks.quadratic_program import find_solver
from cnoid_control.controllers.tasks.solver import ActiveRows, ControllerResult, Solution, Solver
from cnoid_control.controllers.tasks.task import Task

# Stand-in for no bound: solvers take infinities too, but not in differences.
UNBOUNDED = 1e30

# Constraints with bounds, and where these are among all bounds.
Owners = list[tuple[BoundConstraint, slice | np.ndarray]]


class QpSolver(Solver):
    """Solves one quadratic program a priority, highest priority (lowest number) first.

    In each level the weighted squared residuals of its tasks are minimised under all constraints;
    what the levels above have reached is kept exactly. Rows that a task's selection leaves out
    are free. The velocity of the root is an unknown where the root is free. A level whose best
    velocity keeps all bounds by itself needs no program. Constraints that are no bounds scale the
    result: the smallest of their factors slows the whole motion down.

    Attributes:
        damping: weight of the squared velocities themselves, which decides what no task does.
        rank_tolerance: part of a level's largest direction below which a direction is left to
            the levels below, so that a singular task does not lock them.
    """

    moves_root = True

    def __init__(self, damping: float = 1e-6, rank_tolerance: float = 1e-6) -> None:
        """Set the regularisation."""
        super().__init__()
        self.damping = damping
        self.rank_tolerance = rank_tolerance

    def solve(
        self, kinematics: TaskKinematics, tasks: list[Task], constraints: list[Constraint]
    ) -> Solution:
        """Solve all levels that can be solved."""
        size = kinematics.num_unknowns
        lower, upper, matrix, owners = _collect_bounds(kinematics, constraints)
        scaling = [constraint for constraint in constraints if is_scaled(constraint)]
        kept: Kept | None = None
        velocity: np.ndarray | None = None
        result = ControllerResult.SOLUTION_FOUND
        multipliers: list[np.ndarray] = []
        levels = sorted({task.priority for task in tasks}) or [0]
        free = True
        for level in levels:
            chosen = [task for task in tasks if task.priority == level]
            rows, wanted = _stack(kinematics, chosen)
            damping = self.damping + _lm_damping(chosen)
            across = rows if kept is None else kept.across(rows)
            gram = across @ across.T
            if free:
                # The best velocity of all is the best one within bounds that it keeps.
                tried = _solve_free(rows, across, gram, wanted, damping, kept, velocity)
                free = _keeps(tried, lower, upper, matrix)
            if free:
                velocity = tried
            else:
                hessian = rows.T @ rows
                hessian.reshape(-1)[:: size + 1] += damping
                above = None if kept is None else kept.rows
                answer = _solve_level(
                    hessian, -(rows.T @ wanted), lower, upper, matrix, above, velocity
                )
                if answer is None:
                    if velocity is None:
                        return Solution(ControllerResult.NO_SOLUTION, np.zeros(size))
                    result = ControllerResult.PARTIAL_SOLUTION_FOUND
                    break
                velocity, found = answer
                multipliers.append(found[: len(upper)])
            if level != levels[-1] and len(rows):
                # The sum of the eigenvalues of rows @ rows.T.
                total = float(np.vdot(rows, rows))
                kept = _keep(kept, across, gram, self.rank_tolerance * max(total, 1e-300))
        assert velocity is not None  # There is at least one level.
        factors = [constraint.compute(kinematics, velocity) for constraint in scaling]
        factor = min(factors, default=1.0)
        if factor < 1.0:
            velocity = factor * velocity

        def find_active() -> ActiveRows:
            active: ActiveRows = []
            if multipliers:
                active = _find_active(owners, np.abs(multipliers).max(axis=0), lower, upper)
            if factor < 1.0:
                active.append((scaling[factors.index(factor)], []))
            return active

        return Solution(result, velocity, find_active=find_active)


class Kept(NamedTuple):
    """Directions that the levels so far determine, and what projects on them.

    Attributes:
        rows: linearly independent rows, shape (kept, unknowns).
        dual: (rows rows^T)^-1 rows, so that x - (x @ rows.T) @ dual is across all of them.
    """

    rows: np.ndarray
    dual: np.ndarray

    def across(self, rows: np.ndarray) -> np.ndarray:
        """Rows without their part along the directions."""
        return rows - (rows @ self.rows.T) @ self.dual


def _solve_free(
    rows: np.ndarray,
    across: np.ndarray,
    gram: np.ndarray,
    wanted: np.ndarray,
    damping: float,
    kept: Kept | None,
    velocity: np.ndarray | None,
) -> np.ndarray:
    """Velocity of one level without bounds: |rows v - wanted|^2 + damping |v|^2 is least.

    What the levels above have reached, kept.rows @ velocity, stays: v = fixed + w with
    kept.rows @ w = 0, and w is found from the rows across those.

    Args:
        rows: rows of the level.
        across: the same without their part along what is kept.
        gram: across @ across.T.
        wanted: what the rows are to give.
        damping: weight of the squared velocities.
        kept: what the levels above determine; None for the first.
        velocity: what they have found; likewise.
    """
    fixed = None
    if kept is not None and velocity is not None:
        fixed = (kept.rows @ velocity) @ kept.dual
        wanted = wanted - rows @ fixed
    count, size = rows.shape
    if count == 0:
        return np.zeros(size) if fixed is None else fixed
    if count < size:
        damped = gram.copy()
        damped.reshape(-1)[:: count + 1] += damping
        found = LLT(damped).solve(wanted).reshape(-1) @ across
    else:
        damped = across.T @ across
        damped.reshape(-1)[:: size + 1] += damping
        found = LLT(damped).solve(wanted @ across).reshape(-1)
    return found if fixed is None else fixed + found


def _keeps(velocity: np.ndarray, lower: np.ndarray, upper: np.ndarray, matrix: np.ndarray) -> bool:
    """Whether a velocity is within all bounds: of the unknowns, then of the rows."""
    values = np.concatenate([velocity, matrix @ velocity]) if len(matrix) else velocity
    # Written so that NaN, which compares false with everything, keeps no bound.
    return bool(((lower <= values) & (values <= upper)).all())


def _keep(kept: Kept | None, rows: np.ndarray, gram: np.ndarray, smallest: float) -> Kept:
    """Add the directions of a level to those of the levels above it.

    Args:
        kept: what the levels above determine; None for the first.
        rows: rows of the level across those.
        gram: rows @ rows.T.
        smallest: squared length up to which a direction is left to the levels below.
    """
    factor = LLT(gram)
    # The condition tells the smallest eigenvalue from the largest, which is below the trace.
    independent = factor.rcond() * gram.trace() > len(gram) * smallest
    if independent and factor.info() == ComputationInfo.Success:
        dual = factor.solve(rows).reshape(rows.shape)
    else:
        values, vectors = np.linalg.eigh(gram)
        strong = values > smallest
        rows = dual = (vectors[:, strong] / np.sqrt(values[strong])).T @ rows
    if kept is None:
        return Kept(rows, dual)
    return Kept(np.concatenate([kept.rows, rows]), np.concatenate([kept.dual, dual]))


def _stack(kinematics: TaskKinematics, tasks: list[Task]) -> tuple[np.ndarray, np.ndarray]:
    """Weighted rows and wanted velocities of a level's tasks; rows without weight are left out."""
    rows: list[np.ndarray] = []
    wanted: list[np.ndarray] = []
    for task in tasks:
        jacobian, velocity, scale = task.jacobian(kinematics), task.velocity, task.row_scale
        counted = task.counted_rows
        if counted is not None:
            assert scale is not None  # It is what rows do not count by.
            jacobian, velocity, scale = jacobian[counted], velocity[counted], scale[counted]
        if scale is not None:
            jacobian, velocity = jacobian * scale[:, None], velocity * scale
        rows.append(jacobian)
        wanted.append(velocity)
    if len(rows) == 1:
        return rows[0], wanted[0]
    if not rows:
        return np.zeros((0, kinematics.num_unknowns)), np.zeros(0)
    return np.concatenate(rows), np.concatenate(wanted)


def _lm_damping(tasks: list[Task]) -> float:
    """Levenberg-Marquardt damping of a level: large while its tasks are far from their targets."""
    return sum(
        task.lm_damping * float(task.weight @ (task.velocity * task.velocity))
        for task in tasks
        if task.lm_damping
    )


def _collect_bounds(
    kinematics: TaskKinematics, constraints: list[Constraint]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Owners]:
    """Bounds on the unknowns, then on rows; and which constraint set which."""
    size = kinematics.num_unknowns
    lower, upper = np.empty(size), np.empty(size)
    lower.fill(-UNBOUNDED)
    upper.fill(UNBOUNDED)
    owners: Owners = []
    blocks: list[np.ndarray] = []
    lowers: list[np.ndarray] = []
    uppers: list[np.ndarray] = []
    start = size
    for constraint in constraints:
        if not is_kept_exactly(constraint):
            continue
        if isinstance(constraint, JointConstraint):
            index = constraint.unknowns
            if isinstance(index, slice):
                np.maximum(lower[index], constraint.lower, out=lower[index])
                np.minimum(upper[index], constraint.upper, out=upper[index])
            else:
                lower[index] = np.maximum(lower[index], constraint.lower)
                upper[index] = np.minimum(upper[index], constraint.upper)
            owners.append((constraint, index))
        elif isinstance(constraint, RowConstraint):
            rows = constraint.matrix(kinematics)
            _check_rows(constraint, rows, size)
            blocks.append(rows)
            lowers.append(np.maximum(constraint.lower, -UNBOUNDED))
            uppers.append(np.minimum(constraint.upper, UNBOUNDED))
            owners.append((constraint, slice(start, start + len(rows))))
            start += len(rows)
    # Two constraints may leave nothing between them (braking against a limit that has moved):
    # the nearest velocity to both is then the only one allowed.
    crossed = lower > upper
    if crossed.any():
        lower[crossed] = upper[crossed] = 0.5 * (lower[crossed] + upper[crossed])
    matrix = np.vstack(blocks) if blocks else np.zeros((0, size))
    if blocks:
        lower, upper = np.concatenate([lower, *lowers]), np.concatenate([upper, *uppers])
    return lower, upper, matrix, owners


def _check_rows(constraint: RowConstraint, rows: np.ndarray, size: int) -> None:
    """Refuse rows and bounds that do not fit, or of which no motion can be said to keep them."""
    bounds = (constraint.lower, constraint.upper)
    shapes = [rows.shape, *(bound.shape for bound in bounds)]
    if shapes != [(len(rows), size), (len(rows),), (len(rows),)]:
        raise TaskError(
            f'constraint {constraint.name!r}: a matrix of {size} columns with one lower and one '
            f'upper bound a row expected, got shapes {shapes}'
        )
    # Sums are quicker than a look at every element, and hold a NaN if an element does.
    if np.isnan(rows.sum()) or np.isnan(bounds[0].sum()) or np.isnan(bounds[1].sum()):
        raise TaskError(f'constraint {constraint.name!r}: its rows or bounds are not numbers')


def _solve_level(
    hessian: np.ndarray,
    gradient: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    matrix: np.ndarray,
    kept: np.ndarray | None,
    velocity: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Velocities and multipliers of one level; None where there are none."""
    equalities = 0
    if kept is not None and velocity is not None:
        reached = kept @ velocity
        equalities = len(reached)
        matrix = np.vstack([matrix, kept])
        lower = np.concatenate([lower, reached])
        upper = np.concatenate([upper, reached])
    return find_solver()(hessian, gradient, matrix, lower, upper, equalities)


def _find_active(
    owners: Owners,
    multipliers: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
) -> ActiveRows:
    """Constraints whose bounds the solution leans on, with their rows."""
    leaning = multipliers > 1e-9
    if not leaning.any():
        return []
    active: ActiveRows = []
    for constraint, index in owners:
        # Several constraints may bound one unknown: only the tightest holds it.
        own = (constraint.lower >= lower[index]) | (constraint.upper <= upper[index])
        rows = np.flatnonzero(leaning[index] & own)
        if rows.size:
            active.append((constraint, rows.tolist()))
    return active
