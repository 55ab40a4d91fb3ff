"""Give the whole body a given momentum."""

from __future__ import annotations

import numpy as np

from cnoid_control.controllers.tasks.kinematics import TaskKinematics
from cnoid_control.controllers.tasks.target import Target
from cnoid_control.controllers.tasks.task import GenericTask


class MomentumTask(GenericTask):
    """The target is linear [kg m/s] and angular [kg m^2/s] momentum, world axes, shape (6,).

    The angular part is about the centre of mass. Rows are divided by the body's mass, so that
    weights compare with those of velocity tasks.
    """

    def __init__(self, name: str) -> None:
        """Make a task that asks for rest."""
        super().__init__(name, 6)
        self.target = Target(name, 6)

    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """Ask for the momentum of the target."""
        output = self.target.step(dt)
        self.velocity = self._selection * output / kinematics.body.mass
        self.error = self._selection * (self.target.input - output)

    def jacobian(self, kinematics: TaskKinematics) -> np.ndarray:
        """Momentum per velocity and per mass, shape (6, unknowns)."""
        return kinematics.select(kinematics.momentum_matrix()) / kinematics.body.mass
