"""Keep a link inside a box."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from cnoid_control.body import Link
from cnoid_control.controllers.tasks.constraints.constraint import RowConstraint
from cnoid_control.controllers.tasks.exceptions import WrongTarget
from cnoid_control.controllers.tasks.kinematics import TaskKinematics


class WorkspaceConstraint(RowConstraint):
    """The origin of a link stays between two corners of a box, axes of the world.

    It approaches a side by no more than a part of what is left in each tick; from outside it may
    only come back in.

    Attributes:
        link: link that is limited.
        corner_min, corner_max: corners of the box in the world [m], shape (3,); may be infinite.
        gain: part of the way to a side that may be done in one tick, in ]0, 1].
    """

    family: ClassVar[str] = 'body'

    def __init__(
        self,
        name: str,
        link: Link,
        corner_min: np.ndarray,
        corner_max: np.ndarray,
        gain: float = 0.5,
    ) -> None:
        """Make a constraint to a box."""
        super().__init__(name)
        self.link = link
        self.corner_min = np.array(corner_min, dtype=float)
        self.corner_max = np.array(corner_max, dtype=float)
        if self.corner_min.shape != (3,) or not np.all(self.corner_min <= self.corner_max):
            raise WrongTarget(
                f'{name}.corner_min', (corner_min, corner_max), 'two corners, min <= max'
            )
        self.gain = gain

    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """Bounds from the distances to all sides."""
        p = kinematics.placement(self.link).translation
        self.upper = self.gain * np.maximum(self.corner_max - p, 0.0) / dt
        self.lower = -self.gain * np.maximum(p - self.corner_min, 0.0) / dt

    def matrix(self, kinematics: TaskKinematics) -> np.ndarray:
        """Jacobian of the link's origin, world axes."""
        return kinematics.jacobian(self.link)[:3]

    def row_names(self) -> list[str]:
        """Link and axis."""
        return [f'{self.link.name}.{axis}' for axis in 'xyz']
