"""The bounds of all constraints that are kept exactly, in arrays that are kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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

# Stand-in for no bound: solvers take infinities too, but not in differences.
UNBOUNDED = 1e30

# What of a constraint decides how it is kept, where it was put on the object itself.
METHODS = ('values', 'compute', 'compute_scaling_factor')

# Constraints with bounds, and where these are among all bounds.
Owners = list[tuple[BoundConstraint, slice | np.ndarray]]


class Bounds(NamedTuple):
    """Bounds on the unknowns, then on rows of them; and which constraint set which.

    Attributes:
        lower, upper: shape (unknowns + rows,).
        matrix: the rows, shape (rows, unknowns).
        owners: constraints, and where theirs are among all bounds.
        unknowns: the lower, then the upper bounds of the unknowns alone, shape (2, unknowns).
    """

    lower: np.ndarray
    upper: np.ndarray
    matrix: np.ndarray
    owners: Owners
    unknowns: np.ndarray

    def keep(self, velocity: np.ndarray) -> bool:
        """Whether a velocity is within all of them."""
        lower, upper, matrix, _, _ = self
        values = np.concatenate([velocity, matrix.dot(velocity)]) if len(matrix) else velocity
        # Written so that NaN, which compares false with everything, keeps no bound.
        return np.count_nonzero((lower <= values) & (values <= upper)) == len(values)


class BoundStack:
    """Bounds of constraints; which there are is found once, and again when `fits` says no.

    Attributes:
        scaling: the constraints that say something by their factors that their bounds do not say.
    """

    def __init__(self, kinematics: TaskKinematics, constraints: list[Constraint]) -> None:
        """Sort the constraints by how they are kept."""
        self._kinematics = kinematics
        self._constraints = list(constraints)
        self._own = [(vars(constraint), _own_methods(constraint)) for constraint in constraints]
        self.scaling = [constraint for constraint in constraints if is_scaled(constraint)]
        size = kinematics.num_unknowns
        self._both = np.empty((2, size))
        self._lower, self._upper = self._both
        self._no_rows = np.zeros((0, size))
        kept = [constraint for constraint in constraints if is_kept_exactly(constraint)]
        self._joints = [
            (
                constraint,
                constraint.unknowns,
                self._lower[constraint.unknowns],
                self._upper[constraint.unknowns],
            )
            for constraint in kept
            if isinstance(constraint, JointConstraint)
        ]
        self._rows = [constraint for constraint in kept if isinstance(constraint, RowConstraint)]

    def fits(self, kinematics: TaskKinematics, constraints: list[Constraint]) -> bool:
        """Whether these constraints are those given, kept in the same way."""
        if kinematics is not self._kinematics or constraints != self._constraints:
            return False
        for own, (values, compute, factor) in self._own:
            get = own.get
            if (
                get('values') is not values
                or get('compute') is not compute
                or get('compute_scaling_factor') is not factor
            ):
                return False
        return all(constraint.unknowns is index for constraint, index, _, _ in self._joints)

    def collect(self) -> Bounds:
        """Bounds of now; the next call changes them."""
        lower, upper, size = self._lower, self._upper, self._kinematics.num_unknowns
        lower.fill(-UNBOUNDED)
        upper.fill(UNBOUNDED)
        owners: Owners = []
        for constraint, index, lower_part, upper_part in self._joints:
            if isinstance(index, slice):
                np.maximum(lower_part, constraint.lower, out=lower_part)
                np.minimum(upper_part, constraint.upper, out=upper_part)
            else:
                lower[index] = np.maximum(lower[index], constraint.lower)
                upper[index] = np.minimum(upper[index], constraint.upper)
            owners.append((constraint, index))
        # Two constraints may leave nothing between them (braking against a limit that has moved):
        # the nearest velocity to both is then the only one allowed.
        crossed = lower > upper
        if np.count_nonzero(crossed):
            lower[crossed] = upper[crossed] = 0.5 * (lower[crossed] + upper[crossed])
        if not self._rows:
            return Bounds(lower, upper, self._no_rows, owners, self._both)
        blocks, lowers, uppers, start = [], [lower], [upper], size
        for row_constraint in self._rows:
            rows = row_constraint.matrix(self._kinematics)
            _check_rows(row_constraint, rows, size)
            blocks.append(rows)
            lowers.append(np.maximum(row_constraint.lower, -UNBOUNDED))
            uppers.append(np.minimum(row_constraint.upper, UNBOUNDED))
            owners.append((row_constraint, slice(start, start + len(rows))))
            start += len(rows)
        return Bounds(
            np.concatenate(lowers),
            np.concatenate(uppers),
            np.concatenate(blocks),
            owners,
            self._both,
        )


def _own_methods(constraint: Constraint) -> tuple[object, ...]:
    return tuple(vars(constraint).get(name) for name in METHODS)


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
