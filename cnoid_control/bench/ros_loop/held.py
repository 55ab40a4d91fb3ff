"""What the nodes of the benchmark are told on their command lines."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np


class Held(NamedTuple):
    """A posture and the gains that hold it.

    Attributes:
        names: the joints.
        reference: their positions [rad], shape (joints,).
        kp: position gain [N m/rad].
        kd: velocity gain [N m s/rad].
    """

    names: list[str]
    reference: np.ndarray
    kp: float
    kd: float

    def efforts(self, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """Efforts that hold it [N m]."""
        return self.kp * (self.reference - q) - self.kd * dq


def begin(words: list[str]) -> Held:
    """Take the scheduling that is asked for, and read the rest.

    Args:
        words: real-time priority, 0 for none, kp, kd, `joint=reference` of each.
    """
    priority = int(words[0])
    if priority > 0:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    pairs = [word.rsplit('=', 1) for word in words[3:]]
    reference = np.array([float(value) for _, value in pairs])
    return Held([name for name, _ in pairs], reference, float(words[1]), float(words[2]))
