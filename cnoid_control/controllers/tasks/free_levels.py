"""What strict levels find where no bound holds them, from the products of their rows alone."""

from __future__ import annotations

import numpy as np
from eigenpy import LLT, ComputationInfo

from cnoid_control.controllers.tasks.stack import Level, TaskStack

# Largest weight of an unknown in terms of the smallest: beyond it digits are lost.
LARGEST_SPREAD = 1e7


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
        self._blocks: list[tuple[Level, slice, slice | None, int, np.ndarray]] = []
        start = 0
        for level in stack.levels[:-1]:
            size = len(level.rows)
            own, start = slice(start, start + size), start + size
            below = slice(start, kept) if start < kept else None
            if size:
                self._blocks.append((level, own, below, size, np.eye(size)))
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
            reached = self._reach(damping, rank_tolerance)
            if reached is None:
                return None
            given = given.copy()
            given[: len(reached)] = reached
        velocity = np.zeros(rows.shape[1])
        if self._has_joint_rows:
            velocity = self._joint_wanted.dot(self._joint_rows)
            velocity *= inverse
        if not len(rows):
            return velocity
        scaled = rows * inverse
        system = scaled.dot(rows.T)
        system.reshape(-1)[self._own] += 1.0
        factor = LLT(system)
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

    def _reach(self, damping: float, rank_tolerance: float) -> np.ndarray | None:
        """What the rows above the last level give; None where they depend on each other."""
        gram = self._kept_rows.dot(self._kept_rows.T)
        squares = gram.diagonal().tolist()
        wanted = self._stack.wanted
        # What the rows give at the velocity found so far.
        fixed: np.ndarray | None = None
        reached: list[np.ndarray] = []
        for level, own, below, size, identity in self._blocks:
            block = gram[own, own]
            factor = LLT(block)
            # The condition tells the smallest eigenvalue from the largest, below the trace.
            trace = squares[own] if fixed is None else block.diagonal().tolist()
            smallest = rank_tolerance * sum(squares[own])
            if factor.info() != ComputationInfo.Success:
                return None
            if not factor.rcond() * sum(trace) > size * smallest:
                return None
            own_damping = damping + level.lm_damping
            asked = wanted[own]
            missing = asked if fixed is None else asked - fixed[own]
            lost = LLT(block + own_damping * identity).solve(missing).reshape(-1)
            lost *= own_damping
            reached.append(asked - lost)
            if below is not None:
                across = gram[own, below]
                share = factor.solve(across)
                if fixed is None:
                    fixed = np.zeros(len(gram))
                fixed[below] += (missing - lost).dot(share)
                gram[below, below] -= across.T.dot(share)
        return reached[0] if len(reached) == 1 else np.concatenate(reached)
