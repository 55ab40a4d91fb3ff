"""Where joints are commanded to be at one instant, and how they move there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class MotionState(NamedTuple):
    """Position [rad] or [m], velocity and acceleration of the joints, each of shape (n,)."""

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray

    @classmethod
    def at_rest(cls, position: np.ndarray) -> MotionState:
        """Joints that stand still."""
        return cls(position.copy(), np.zeros(position.size), np.zeros(position.size))
