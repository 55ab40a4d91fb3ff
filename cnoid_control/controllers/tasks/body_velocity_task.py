"""Move a link at a given velocity."""

from __future__ import annotations

import numpy as np

from cnoid_control.body import Link
from cnoid_control.controllers.tasks.kinematics import TaskKinematics
from cnoid_control.controllers.tasks.target import Target
from cnoid_control.controllers.tasks.task import BodyTask


class BodyVelocityTask(BodyTask):
    """The target is linear [m/s] and angular [rad/s] velocity, axes of the reference.

    Only the axes of the reference count: it is the velocity of the link's own origin, and the
    motion of the reference itself is not added.
    """

    def __init__(self, name: str, link: Link, reference: Link | None = None) -> None:
        """Make a task that asks for rest."""
        super().__init__(name, link, reference)
        self.target = Target(name, 6)

    def compute_velocity(self, kinematics: TaskKinematics, dt: float) -> np.ndarray:
        """Velocity of the target."""
        output = self.target.step(dt)
        self.error = self._selection * (self.target.input - output)
        return output
