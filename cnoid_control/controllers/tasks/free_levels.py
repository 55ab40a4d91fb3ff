"""What strict levels find where no bound holds them, from the products of their rows alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from eigenpy import LLT, ComputationInfo

from cnoid_control.controllers.tasks.stack import Level, TaskStack

# Largest weight of an unknown in terms of the smallest: beyond it digits are lost.
LARGEST_SPREAD = 1e7
# Damping in terms of the smallest eigenvalue up to which two terms of a series give what is lost
# to it: the next one is its cube, a part of 1e-9 at most of what is asked for.
SMALL_DAMPING = 1e-3
# There is one object of each value: a comparison of values takes longer than a factorisation.
SUCCESS = ComputationInfo.Success


class _Block(NamedTuple):
    """A level above the last in the system of all rows above it.

    Attributes:
        level: the level.
        own: its rows.
        block: products of its rows with each other; those across the levels above later.
        right: products with the rows below, and what is missing.
        below: what of the system the levels below have; None where there are none.
        factor: factorises the block; one that is kept takes a quarter of the time of a new one.
        identity: of the size of the block.
    """

    level: Level
    own: slice
    block: np.ndarray
    right: np.ndarray
    below: np.ndarray | None
    factor: LLT
    identity: np.ndarray


class FreeLevels:
    """Velocity of the last level under those above it, no bound regarded.

    With K the rows above the last level, H its own rows and D the diagonal of its joint rows and
    its damping, the velocity minimises |H v - h|^2 + (v - u)^T D (v - u) where K v = k. It is
    v = u + D^-1 R^T z with R = [K; H]: one system of as many unknowns as R has rows. What K is to
    give, k, follows from K K^T level by level, without any velocity of these levels.
    """

    def __init__(self, stack: TaskStack) -> None:
        """Work on the rows of a stack."""
        self._stack = stack
        count, kept = stack.num_dense, stack.num_kept
        self._rows = stack.rows[:count]
        self._kept_rows = stack.rows[:kept]
        self._num_kept = kept
        self._joint_rows = stack.rows[count:]
        self._wanted = stack.wanted[:count]
        self._joint_wanted = stack.wanted[count:]
        self._has_joint_rows = len(self._joint_rows) > 0
        # Where the last level's own rows are on the diagonal of R D^-1 R^T.
        self._own = slice(kept * (count + 1), None, count + 1)
        # Levels above the last with their rows, those below, and an identity of their size.
        self._system = np.zeros((kept, kept + 1))
        self._blocks: list[_Block] = []
        start = 0
        for level in stack.levels[:-1]:
            size = len(level.rows)
            own, start = slice(start, start + size), start + size
            if size:
                block, right = self._system[own, own], self._system[own, start:]
                below = self._system[start:, start:] if start < kept else None
                self._blocks.append(
                    _Block(level, own, block, right, below, LLT(size), np.eye(size))
                )
        self._factor = LLT(count)
        self._damping = -1.0
        # D^-1 for the damping of now; None where it cannot be used.
        self._inverse: np.ndarray | None = None
        # With as many rows as unknowns the system in v itself is smaller.
        self._is_small = count <= stack.rows.shape[1]

    def solve(self, damping: float, rank_tolerance: float) -> np.ndarray | None:
        """Velocity of the last level.

        Args:
            damping: weight of the squared velocities themselves.
            rank_tolerance: part of a level's largest direction below which its rows count as
                dependent.

        Returns:
            None where rows above the last level depend on each other, or nothing weighs a
            velocity: it has to be found another way then.
        """
        if not self._is_small:
            return None
        levels = self._stack.levels
        inverse, rows = self._weigh(damping + levels[-1].lm_damping), self._rows
        if inverse is None:
            return None
        given = self._wanted
        if self._blocks:
            given = given.copy()
            if not self._reach(given, damping, rank_tolerance):
                return None
        velocity = np.zeros(rows.shape[1])
        if self._has_joint_rows:
            velocity = self._joint_wanted.dot(self._joint_rows)
            velocity *= inverse
        if not len(rows):
            return velocity
        scaled = rows * inverse
        system = scaled.dot(rows.T)
        system.reshape(-1)[self._own] += 1.0
        factor = self._factor
        factor.compute(system)
        multipliers = factor.solve(given - rows.dot(velocity)).reshape(-1)
        velocity += multipliers.dot(scaled)
        # Weights that differ by orders of magnitude take digits away: a second step from what is
        # missing gives them back, and what the levels above have reached is kept to the last one.
        missing = given - rows.dot(velocity)
        missing[self._num_kept :] -= multipliers[self._num_kept :]
        velocity += factor.solve(missing).reshape(-1).dot(scaled)
        return velocity

    def _weigh(self, damping: float) -> np.ndarray | None:
        """D^-1 for a damping; None where there is none."""
        if damping != self._damping:
            self._damping = damping
            weights = self._stack.joint_weights + damping
            smallest = weights.min()
            usable = smallest > 0.0 and weights.max() <= LARGEST_SPREAD * smallest
            self._inverse = 1.0 / weights if usable else None
        return self._inverse

    def _reach(self, given: np.ndarray, damping: float, rank_tolerance: float) -> bool:
        """Turn what the rows above the last level are to give into what they reach.

        Args:
            given: changed in place, in its first elements.
            damping: as for `solve`.
            rank_tolerance: likewise.

        Returns:
            Whether they do not depend on each other.
        """
        count = self._num_kept
        # The products of the rows, and beside them what is missing at the velocity so far.
        system = self._system
        gram = system[:, :count]
        gram[:] = self._kept_rows.dot(self._kept_rows.T)
        system[:, count] = given[:count]
        squares = gram.diagonal().tolist()
        is_first = True
        for level, own, block, right, below, factor, identity in self._blocks:
            size = len(block)
            factor.compute(block)
            # The condition tells the smallest eigenvalue from the largest, below the trace.
            trace = squares[own] if is_first else block.diagonal().tolist()
            if factor.info() is not SUCCESS:
                return False
            # Not above the smallest eigenvalue but for the error of the estimate.
            least = factor.rcond() * sum(trace) / size
            if not least > rank_tolerance * sum(squares[own]):
                return False
            own_damping = damping + level.lm_damping
            solution = factor.solve(right).reshape(right.shape)
            missing = right[:, -1]
            if own_damping <= SMALL_DAMPING * least:
                lost = factor.solve(missing - own_damping * solution[:, -1]).reshape(-1)
            else:
                factor.compute(block + own_damping * identity)
                lost = factor.solve(missing).reshape(-1)
            lost *= own_damping
            given[own] -= lost
            if below is not None:
                below -= right[:, :-1].T.dot(solution)
                below[:, -1] += lost.dot(solution)[:-1]
            is_first = False
        return True
