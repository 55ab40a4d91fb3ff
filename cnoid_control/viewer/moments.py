"""Tasks and the estimated base in what controllers log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

# Names that controllers log these under: `<task>.error`, `<task>.target`, ...
PARTS = ('error', 'target', 'frame', 'weight', 'active')
BASE = 'base_estimate'


@dataclass
class TaskMoment:
    """One task in this moment; what is not logged is empty.

    Attributes:
        error: its error as the task defines it.
        target: its target in world axes: a pose of shape (4, 4) or a position of shape (3,).
        frame: what is moved there, likewise.
        weight: its weight, one value per row.
        active: whether it is served.
    """

    error: np.ndarray = field(default_factory=lambda: np.zeros(0))
    target: np.ndarray = field(default_factory=lambda: np.zeros(0))
    frame: np.ndarray = field(default_factory=lambda: np.zeros(0))
    weight: np.ndarray = field(default_factory=lambda: np.zeros(0))
    active: bool = True


def tasks_of(log: Mapping[str, np.ndarray]) -> dict[str, TaskMoment]:
    """Tasks by 'controller/task', from the log of a frame."""
    tasks: dict[str, TaskMoment] = {}
    for key, value in log.items():
        name, dot, part = key.rpartition('.')
        if not dot or part not in PARTS or '/' not in name:
            continue
        task = tasks.setdefault(name, TaskMoment())
        if part == 'active':
            task.active = bool(value[0])
        else:
            setattr(task, part, value.reshape(4, 4) if value.size == 16 else value)
    return tasks


def base_estimate(log: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """Pose of the root as an estimator has it, shape (4, 4); None where none is logged."""
    for key, value in log.items():
        if key.rpartition('/')[2] == BASE and value.size == 16:
            return value.reshape(4, 4)
    return None
