"""Centre-of-mass and momentum tasks."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from cnoid_control.controllers.tasks.kinematics import TaskKinematics
from cnoid_control.controllers.tasks.strict import put
from cnoid_control.controllers.tasks.target import Target
from cnoid_control.controllers.tasks.task import GenericTask


class ComTask(GenericTask):
    """The target is the centre of mass of the whole body in the world [m], shape (3,).

    Attributes:
        gain: [1/s].
        feedforward: velocity added to the feedback, world axes [m/s], shape (3,).
    """

    def __init__(self, name: str, gain: float = 1.0) -> None:
        """Make a task that holds."""
        super().__init__(name, 3)
        self.gain = gain
        self.feedforward = np.zeros(3)
        self.target = Target(name, 3)

    def position(self, kinematics: TaskKinematics) -> np.ndarray:
        """Centre of mass in the world [m], shape (3,)."""
        return pin.centerOfMass(kinematics.body.model, kinematics.body.data, pin.POSITION, False)

    def on_enable(self, kinematics: TaskKinematics) -> None:
        """Start the way to the target from where the centre of mass is."""
        goal, was_set = self.target.input, self.target.is_set
        self.target.reset(self.position(kinematics))
        if was_set:
            self.target.set(goal)

    def places(self, kinematics: TaskKinematics) -> tuple[np.ndarray, np.ndarray] | None:
        """The target and the centre of mass."""
        return self.target.output, self.position(kinematics)

    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """Ask for a velocity towards the target."""
        error = self._selection * (self.target.step(dt) - self.position(kinematics))
        put(self, 'error', error)
        put(self, 'velocity', self.gain * error + self._selection * self.feedforward)

    def jacobian(self, kinematics: TaskKinematics) -> np.ndarray:
        """Jacobian of the centre of mass, world axes, shape (3, unknowns)."""
        return kinematics.select(kinematics.com_jacobian())


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
