"""Quadratic programs by the solver that is installed: daqp, which is the fastest, or proxsuite."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from cnoid_control.exceptions import CnoidControlError

# daqp's marks.
EQUALITY = 5
OPTIMAL = 1
# How exactly proxsuite keeps bounds and finds the best point, and in how many steps.
EXACTNESS = 1e-10
STEPS = 1000

# Hessian, gradient, matrix, lower and upper bounds, number of equalities; solution and
# multipliers, or None.
Solve = Callable[
    [np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, int],
    tuple[np.ndarray, np.ndarray] | None,
]


@lru_cache(maxsize=1)
def find_solver() -> Solve:
    """What solves min x'Hx/2 + g'x, lower <= (x, Mx) <= upper.

    The last rows of M, as many as the last argument says, are equalities: their bounds are the
    same. The multipliers are those of the unknowns' bounds, then those of the rows: positive at an
    upper bound, negative at a lower one.

    Raises:
        CnoidControlError: no solver is installed.
    """
    try:
        import daqp
    except ImportError:
        return _by_proxsuite()

    def solve(
        hessian: np.ndarray,
        gradient: np.ndarray,
        matrix: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        equalities: int,
    ) -> tuple[np.ndarray, np.ndarray] | None:
        sense = None
        if equalities:
            sense = np.zeros(len(upper), dtype=np.int32)
            sense[-equalities:] = EQUALITY
        found, _, flag, info = daqp.solve(hessian, gradient, matrix, upper, lower, sense)
        # The square is not finite if an element is not; it is quicker than a look at each.
        if flag != OPTIMAL or not math.isfinite(found.dot(found)):
            return None
        return found, np.asarray(info['lam'])

    return solve


def _by_proxsuite() -> Solve:
    try:
        from proxsuite import proxqp
    except ImportError as error:
        raise CnoidControlError(
            'strict priorities and bounds need a solver of quadratic programs: pip install daqp, '
            'or proxsuite, which ROS 2 has as a package'
        ) from error

    def solve(
        hessian: np.ndarray,
        gradient: np.ndarray,
        matrix: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        equalities: int,
    ) -> tuple[np.ndarray, np.ndarray] | None:
        size, rows = len(gradient), len(matrix) - equalities
        program = proxqp.dense.QP(size, equalities, rows, True)
        program.settings.eps_abs, program.settings.eps_rel = EXACTNESS, 0.0
        program.settings.max_iter = STEPS
        end = size + rows
        program.init(
            hessian,
            gradient,
            matrix[rows:] if equalities else None,
            lower[end:] if equalities else None,
            matrix[:rows] if rows else None,
            lower[size:end] if rows else None,
            upper[size:end] if rows else None,
            lower[:size],
            upper[:size],
        )
        program.solve()
        results = program.results
        found = np.array(results.x)
        if results.info.status.name != 'PROXQP_SOLVED' or not np.isfinite(found).all():
            return None
        of_bounds = np.asarray(results.z)
        multipliers = np.concatenate([of_bounds[rows:], of_bounds[:rows], np.asarray(results.y)])
        return found, multipliers

    return solve
