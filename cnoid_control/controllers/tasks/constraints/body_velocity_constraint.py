"""Keep a link below given speeds."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from cnoid_control.body import Link
from cnoid_control.controllers.tasks.constraints.constraint import RowConstraint
from cnoid_control.controllers.tasks.exceptions import WrongTarget
from cnoid_control.controllers.tasks.kinematics import TaskKinematics, rotate_back

AXES = ('x', 'y', 'z', 'wx', 'wy', 'wz')


class BodyVelocityConstraint(RowConstraint):
    """|velocity| <= max_velocity for each axis of a link's origin, axes of a reference link.

    The maxima are 0 until they are set, so that a forgotten limit freezes the robot visibly.

    Attributes:
        link: link that is limited.
        reference: link whose axes the maxima are given in; None for the world.
    """

    family: ClassVar[str] = 'body'

    def __init__(self, name: str, link: Link, reference: Link | None = None) -> None:
        """Make a constraint that allows no motion yet."""
        super().__init__(name)
        self.link = link
        self.reference = reference
        self._max_velocity = np.zeros(6)

    @property
    def max_velocity(self) -> np.ndarray:
        """Largest speed along x y z [m/s] and about x y z [rad/s]; infinite for no limit."""
        return self._max_velocity

    @max_velocity.setter
    def max_velocity(self, value: np.ndarray) -> None:
        array = np.array(value, dtype=float)
        if array.shape != (6,) or np.isnan(array).any():
            raise WrongTarget(f'{self.name}.max_velocity', value, '6 numbers')
        self._max_velocity = array

    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """The bounds are the maxima, both ways."""
        self.upper = np.maximum(self._max_velocity, 0.0)
        self.lower = -self.upper

    def matrix(self, kinematics: TaskKinematics) -> np.ndarray:
        """Jacobian of the link's origin, axes of the reference."""
        return rotate_back(kinematics.rotation(self.reference), kinematics.jacobian(self.link))

    def row_names(self) -> list[str]:
        """Link and axis."""
        return [f'{self.link.name}.{axis}' for axis in AXES]
