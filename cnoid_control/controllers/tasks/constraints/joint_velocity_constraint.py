"""Keep joints below given speeds."""

from __future__ import annotations

import numpy as np

from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks.constraints.constraint import JointConstraint
from cnoid_control.controllers.tasks.exceptions import WrongTarget
from cnoid_control.controllers.tasks.kinematics import TaskKinematics


class JointVelocityConstraint(JointConstraint):
    """|dq| <= max_velocity for each joint of a group.

    The maximum is 0 until it is set, so that a forgotten limit freezes the robot visibly.
    """

    def __init__(self, name: str, joint_group: JointGroup) -> None:
        """Make a constraint that allows no motion yet."""
        super().__init__(name, joint_group)
        self._max_velocity = np.zeros(joint_group.dofs)

    @property
    def max_velocity(self) -> np.ndarray:
        """Largest speed of each joint [rad/s] or [m/s]; a negative one counts as 0."""
        return self._max_velocity

    @max_velocity.setter
    def max_velocity(self, value: float | np.ndarray) -> None:
        array = np.array(np.broadcast_to(np.asarray(value, dtype=float), (self.joint_group.dofs,)))
        if np.isnan(array).any():
            raise WrongTarget(f'{self.name}.max_velocity', value, 'numbers')
        self._max_velocity = array
        self._set_bounds()

    def on_enable(self, kinematics: TaskKinematics) -> None:
        """Find the joints and their maxima."""
        super().on_enable(kinematics)
        self._set_bounds()

    def _set_bounds(self) -> None:
        self.upper = np.maximum(self._max_velocity[self.rows], 0.0)
        self.lower = -self.upper

    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """The bounds are the maxima, both ways, whatever the state."""
        del kinematics, dt
