"""A level whose motion the same bounds hold tick after tick."""

from __future__ import annotations

import numpy as np
from eigenpy import LLT, ComputationInfo

from cnoid_control.controllers.tasks.bounds import Bounds
from cnoid_control.controllers.tasks.stack import Level

# With fewer unknowns a program is solved in less time than it takes to do without.
MANY = 20
# After so many repetitions bounds that come and go are not mistaken for steady ones.
STEADY = 3
SUCCESS = ComputationInfo.Success


class HeldLevel:
    """Least squares of the first level with some unknowns on their bounds and all others free.

    These are the unknowns that the same bounds held in the last ticks. What is found is the
    solution of the quadratic program if it keeps all bounds, and no unknown on its bound would be
    better off inside: these are the conditions of optimality, and both are looked at.
    """

    def __init__(self, size: int) -> None:
        """Know of no bounds yet, on a number of unknowns."""
        self._size = size
        self._factor = LLT(size)
        self._held = b''
        # How often they have been the same again, and whether that is often enough.
        self._repeats = 0
        self._is_steady = False

    def remember(self, multipliers: np.ndarray) -> None:
        """Look whether the bounds that hold a solution of the program are those of the last.

        Args:
            multipliers: of the bounds of the unknowns, then of rows.
        """
        if self._size < MANY:
            return
        signs = np.sign(multipliers)
        last, self._held = self._held, signs.tobytes()
        self._repeats = self._repeats + 1 if self._held == last else 0
        # Rows are left to the program.
        if self._repeats >= STEADY and not signs[self._size :].any():
            own = signs[: self._size]
            self._places, self._free = np.flatnonzero(own), np.flatnonzero(own == 0.0)
            self._signs = own.take(self._places)
            # Of their bounds among the lower, then the upper ones.
            self._bounds = self._places + self._size * (self._signs > 0.0)
            self._is_steady = len(self._places) > 0 and len(self._free) > 0
            count = len(self._free)
            self._system = np.empty((count, count))
            self._diagonal = self._system.reshape(-1)[:: count + 1]

    def solve(
        self, level: Level, damping: float, bounds: Bounds
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Velocity and multipliers; None where other bounds may hold it.

        Args:
            level: the level.
            damping: weight of the squared velocities.
            bounds: bounds of now.
        """
        if not self._is_steady:
            return None
        rows, wanted, places, free = level.rows, level.wanted, self._places, self._free
        values = bounds.unknowns.take(self._bounds)
        own, others = rows.take(free, 1), rows.take(places, 1)
        system, factor = self._system, self._factor
        np.dot(own.T, own, system)
        self._diagonal += damping
        factor.compute(system)
        missing = wanted - others.dot(values)
        found = factor.solve(missing.dot(own)).reshape(-1)
        velocity = np.empty(self._size)
        velocity[free], velocity[places] = found, values
        # Where the held ones would go without their bounds.
        pushes = (missing - own.dot(found)).dot(others) - damping * values
        if (
            factor.info() is not SUCCESS
            or not min((pushes * self._signs).tolist()) >= 0.0
            or not bounds.keep(velocity)
        ):
            self._is_steady, self._repeats = False, 0
            return None
        multipliers = np.zeros(len(bounds.upper))
        multipliers[places] = pushes
        return velocity, multipliers
