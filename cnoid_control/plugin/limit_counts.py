"""Counts of what was limited in a run."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


class LimitCounts(dict[str, np.ndarray]):
    """How often each joint was limited, by kind of limit, shape (num_joints,) each.

    The last gate counts every effort that reaches its limit, whoever has clamped it. What a
    controller counts besides is left out where the gate counts the same.

    Attributes:
        seen_at_gate: joints whose efforts at the model's limits are at those of the gate or
            beyond, shape (num_joints,).
    """

    def __init__(self, kinds: Iterable[str], seen_at_gate: np.ndarray) -> None:
        """Begin with nothing counted."""
        super().__init__({kind: np.zeros(seen_at_gate.size, dtype=int) for kind in kinds})
        self.seen_at_gate = seen_at_gate

    def add(self, kind: str, joints: np.ndarray) -> None:
        """Count joints whose command a controller itself has limited in this tick.

        Args:
            kind: kind of limit.
            joints: ids of the joints.
        """
        if kind == 'effort':
            joints = joints[~self.seen_at_gate[joints]]
        self[kind][joints] += 1
