"""Strict priorities and weights by quadratic programs, limits as hard constraints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from eigenpy import LLT, ComputationInfo

from cnoid_control.controllers.tasks.bounds import Bounds, BoundStack
from cnoid_control.controllers.tasks.constraints import Constraint
from cnoid_control.controllers.tasks.free_levels import FreeLevels
from cnoid_control.controllers.tasks.held_level import HeldLevel
from cnoid_control.controllers.tasks.kinematics import TaskKinematics
from cnoid_control.controllers.tasks.quadratic_program import find_solver
from cnoid_control.controllers.tasks.solver import ActiveRows, ControllerResult, Solution, Solver
from cnoid_control.controllers.tasks.stack import Level, TaskStack
from cnoid_control.controllers.tasks.task import Task

# Multipliers above it are those of bounds that hold the motion.
LEANING = 1e-9
# More than there are levels: no bound held the motion at the last tick.
NONE_HELD = 1 << 30


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
        self._stack: TaskStack | None = None
        self._free_levels: FreeLevels | None = None
        self._held: HeldLevel | None = None
        self._bounds: BoundStack | None = None
        # First level whose motion bounds held at the last tick.
        self._first_held = NONE_HELD

    def solve(
        self, kinematics: TaskKinematics, tasks: list[Task], constraints: list[Constraint]
    ) -> Solution:
        """Solve all levels that can be solved."""
        stack = self._stack
        if stack is None or not stack.fits(kinematics, tasks):
            stack = self._stack = TaskStack(kinematics, tasks)
            self._free_levels = FreeLevels(stack)
            self._held = HeldLevel(kinematics.num_unknowns)
        stack.refresh()
        if self._bounds is None or not self._bounds.fits(kinematics, constraints):
            self._bounds = BoundStack(kinematics, constraints)
        bounds, scaling = self._bounds.collect(), self._bounds.scaling
        levels, held = stack.levels, self._held
        assert held is not None  # It is made with the stack.
        kept: Kept | None = None
        velocity = self._solve_freely(levels, bounds)
        free = len(levels)
        if velocity is None:
            free, steps = self._solve_free_levels(levels, bounds)
            velocity, kept = steps[free - 1] if free else (None, None)
        multipliers: list[np.ndarray] = []
        result = ControllerResult.SOLUTION_FOUND
        # Where bounds hold the motion now, they will most likely hold it in the next tick.
        self._first_held = NONE_HELD
        for place in range(free, len(levels)):
            level = levels[place]
            answer = None
            if place == 0:
                answer = held.solve(level, self.damping + level.lm_damping, bounds)
            if answer is None:
                answer = _solve_level(
                    *self._program(level),
                    bounds.lower,
                    bounds.upper,
                    bounds.matrix,
                    None if kept is None else kept.rows,
                    velocity,
                )
                if place == 0 and answer is not None:
                    held.remember(answer[1])
            if answer is None:
                if velocity is None:
                    return Solution(
                        ControllerResult.NO_SOLUTION, np.zeros(kinematics.num_unknowns)
                    )
                result = ControllerResult.PARTIAL_SOLUTION_FOUND
                break
            velocity, found = answer
            multipliers.append(found[: len(bounds.upper)])
            if float(multipliers[-1].dot(multipliers[-1])) > LEANING * LEANING:
                self._first_held = min(self._first_held, place)
            if place + 1 < len(levels) and len(level.rows):
                across = level.rows if kept is None else kept.across(level.rows)
                gram = across.dot(across.T)
                kept = _keep(kept, across, gram, self._smallest(level.rows))
        assert velocity is not None  # There is at least one level.
        factors = [constraint.compute(kinematics, velocity) for constraint in scaling]
        factor = min(factors, default=1.0)
        if factor < 1.0:
            velocity = factor * velocity

        def find_active() -> ActiveRows:
            active: ActiveRows = []
            if multipliers:
                active = _find_active(bounds, np.abs(multipliers).max(axis=0))
            if factor < 1.0:
                active.append((scaling[factors.index(factor)], []))
            return active

        return Solution(result, velocity, find_active=find_active)

    def _solve_freely(self, levels: list[Level], bounds: Bounds) -> np.ndarray | None:
        """Velocity of all levels without bounds; None where it breaks one, or is not found."""
        if self._first_held < len(levels):
            return None
        assert self._free_levels is not None  # It is made with the stack.
        velocity = self._free_levels.solve(self.damping, self.rank_tolerance)
        if velocity is None:
            return None
        return velocity if bounds.keep(velocity) else None

    def _solve_free_levels(self, levels: list[Level], bounds: Bounds) -> tuple[int, list[Step]]:
        """Solve the levels whose best velocity is within all bounds by itself.

        A velocity that serves several levels as well as they can be served without bounds, and
        keeps the bounds, is the best one within them too.

        Returns:
            How many levels that are, and for each the velocity and what it determines.
        """
        steps: list[Step] = []
        velocity: np.ndarray | None = None
        kept: Kept | None = None
        for level in levels[: self._first_held]:
            rows = level.rows
            across = rows if kept is None else kept.across(rows)
            # One of the two products is enough for the last level.
            small, last = len(rows) < rows.shape[1], len(steps) + 1 == len(levels)
            gram = across.dot(across.T) if small or not last else None
            damping = self.damping + level.lm_damping
            velocity = _solve_free(level, across, gram, damping, kept, velocity)
            if not last and len(rows):
                assert gram is not None  # Only the last level may be without.
                kept = _keep(kept, across, gram, self._smallest(rows))
            steps.append((velocity, kept))
        if velocity is None or bounds.keep(velocity):
            return len(steps), steps
        for place, (found, _) in enumerate(steps):
            if not bounds.keep(found):
                return place, steps
        return len(steps), steps

    def _program(self, level: Level) -> tuple[np.ndarray, np.ndarray]:
        """Hessian and gradient of a level."""
        rows = level.rows
        hessian = np.dot(rows.T, rows)
        hessian.reshape(-1)[:: len(hessian) + 1] += self.damping + level.lm_damping
        return hessian, -level.wanted.dot(rows)

    def _smallest(self, rows: np.ndarray) -> float:
        """Squared length up to which a direction of rows is left to the levels below."""
        # The sum of the eigenvalues of rows @ rows.T.
        return self.rank_tolerance * max(float(np.vdot(rows, rows)), 1e-300)


class Kept(NamedTuple):
    """Directions that the levels so far determine, and what projects on them.

    Attributes:
        rows: linearly independent rows, shape (kept, unknowns).
        dual: (rows rows^T)^-1 rows, so that x - (x @ rows.T) @ dual is across all of them.
        is_whole: whether no direction of a level was left to the levels below.
    """

    rows: np.ndarray
    dual: np.ndarray
    is_whole: bool

    def across(self, rows: np.ndarray) -> np.ndarray:
        """Rows without their part along the directions."""
        return rows - rows.dot(self.rows.T).dot(self.dual)


# Velocity of a level, and what the levels down to it determine; None where nothing does.
Step = tuple[np.ndarray, Kept | None]


def _solve_free(
    level: Level,
    across: np.ndarray,
    gram: np.ndarray | None,
    damping: float,
    kept: Kept | None,
    velocity: np.ndarray | None,
) -> np.ndarray:
    """Velocity of one level without bounds: |rows v - wanted|^2 + damping |v|^2 is least.

    What the levels above have reached, kept.rows @ velocity, stays: v = fixed + w with
    kept.rows @ w = 0, and w is found from the rows across those.

    Args:
        level: the level.
        across: its rows without their part along what is kept.
        gram: across @ across.T; not needed where there are as many rows as unknowns.
        damping: weight of the squared velocities.
        kept: what the levels above determine; None for the first.
        velocity: what they have found; likewise.
    """
    rows, wanted = level.rows, level.wanted
    fixed = None
    if kept is not None and velocity is not None:
        # What whole levels find is made of their rows.
        fixed = velocity if kept.is_whole else kept.rows.dot(velocity).dot(kept.dual)
        wanted = wanted - rows.dot(fixed)
    count, size = rows.shape
    if count == 0:
        return np.zeros(size) if fixed is None else fixed
    if count < size:
        assert gram is not None
        damped = gram.copy()
        damped.reshape(-1)[:: count + 1] += damping
        found = LLT(damped).solve(wanted).reshape(-1).dot(across)
    else:
        damped = np.dot(across.T, across)
        damped.reshape(-1)[:: size + 1] += damping
        found = LLT(damped).solve(wanted.dot(across)).reshape(-1)
    return found if fixed is None else fixed + found


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
    independent = factor.rcond() * float(np.vdot(rows, rows)) > len(gram) * smallest
    whole = independent and factor.info() == ComputationInfo.Success
    if whole:
        dual = factor.solve(rows).reshape(rows.shape)
    else:
        values, vectors = np.linalg.eigh(gram)
        strong = values > smallest
        rows = dual = (vectors[:, strong] / np.sqrt(values[strong])).T @ rows
    if kept is None:
        return Kept(rows, dual, whole)
    return Kept(
        np.concatenate([kept.rows, rows]),
        np.concatenate([kept.dual, dual]),
        whole and kept.is_whole,
    )


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


def _find_active(bounds: Bounds, multipliers: np.ndarray) -> ActiveRows:
    """Constraints whose bounds the solution leans on, with their rows."""
    leaning = multipliers > LEANING
    if not leaning.any():
        return []
    lower, upper = bounds.lower, bounds.upper
    active: ActiveRows = []
    for constraint, index in bounds.owners:
        # Several constraints may bound one unknown: only the tightest holds it.
        own = (constraint.lower >= lower[index]) | (constraint.upper <= upper[index])
        rows = np.flatnonzero(leaning[index] & own)
        if rows.size:
            active.append((constraint, rows.tolist()))
    return active
