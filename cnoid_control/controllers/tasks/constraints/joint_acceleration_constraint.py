"""Keep joints from changing their speed too fast."""

from __future__ import annotations

import numpy as np

from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks.constraints.constraint import JointConstraint
from cnoid_control.controllers.tasks.exceptions import WrongTarget
from cnoid_control.controllers.tasks.kinematics import TaskKinematics


class JointAccelerationConstraint(JointConstraint):
    """|dq - previous dq| <= max_acceleration dt for each joint of a group.

    The `sum` solver has one factor for all joints and can only slow down; there the bounds are
    widened to contain rest, and the constraint limits speeding up only.
    """

    def __init__(self, name: str, joint_group: JointGroup) -> None:
        """Make a constraint that allows no motion yet."""
        super().__init__(name, joint_group)
        self._max_acceleration = np.zeros(joint_group.dofs)

    @property
    def max_acceleration(self) -> np.ndarray:
        """Largest acceleration of each joint [rad/s^2] or [m/s^2]."""
        return self._max_acceleration

    @max_acceleration.setter
    def max_acceleration(self, value: float | np.ndarray) -> None:
        array = np.array(np.broadcast_to(np.asarray(value, dtype=float), (self.joint_group.dofs,)))
        if np.isnan(array).any() or (array < 0.0).any():
            raise WrongTarget(f'{self.name}.max_acceleration', value, 'numbers >= 0')
        self._max_acceleration = array

    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """Bounds around the last command."""
        assert self.controller is not None  # Constraints are updated by their controller only.
        last = self.controller.velocity[self.unknowns]
        change = self._max_acceleration[self.rows] * dt
        self.upper = last + change
        self.lower = last - change

    def factor(self, kinematics: TaskKinematics, velocity: np.ndarray) -> float:
        """Factor of the bounds widened to contain rest."""
        self.upper = np.maximum(self.upper, 0.0)
        self.lower = np.minimum(self.lower, 0.0)
        return super().factor(kinematics, velocity)
