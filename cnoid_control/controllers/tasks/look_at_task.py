"""Turn an axis of a link towards a point."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from cnoid_control.body import Link
from cnoid_control.controllers.tasks.kinematics import TaskKinematics
from cnoid_control.controllers.tasks.target import Target
from cnoid_control.controllers.tasks.task import GenericTask


class LookAtTask(GenericTask):
    """The target is a point in the world [m], shape (3,), that an axis of a link points at.

    The rows are the two components, across the axis, of the direction to the point seen from the
    link; both are zero when the axis points at it. Rotation about the axis stays free.

    Attributes:
        link: link that looks.
        axis: unit axis that looks, in the link frame, shape (3,).
        gain: [1/s].
    """

    def __init__(
        self, name: str, link: Link, axis: np.ndarray | None = None, gain: float = 1.0
    ) -> None:
        """Make a task; the axis is x where not given."""
        super().__init__(name, 2)
        self.link = link
        self.axis = np.array([1.0, 0.0, 0.0]) if axis is None else np.asarray(axis, dtype=float)
        self.axis = self.axis / np.linalg.norm(self.axis)
        self.gain = gain
        self.target = Target(name, 3)
        # Two unit vectors across the axis and each other.
        helper = np.eye(3)[np.argmin(np.abs(self.axis))]
        first = np.cross(self.axis, helper)
        first /= np.linalg.norm(first)
        self._across = np.stack([first, np.cross(self.axis, first)])

    def on_enable(self, kinematics: TaskKinematics) -> None:
        """Start the way to the target from a point one metre ahead of the axis."""
        goal, was_set = self.target.input, self.target.is_set
        pose = kinematics.placement(self.link)
        self.target.reset(pose.translation + pose.rotation @ self.axis)
        if was_set:
            self.target.set(goal)

    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """Ask for a turn towards the point."""
        pose = kinematics.placement(self.link)
        offset = self.target.step(dt) - pose.translation
        self._distance = max(float(np.linalg.norm(offset)), 1e-6)
        self._direction = offset / self._distance
        seen = pose.rotation.T @ self._direction
        across = self._across @ seen
        if seen @ self.axis < 0.0:
            # Behind: turn at full rate, to either side where the point is right behind.
            length = float(np.linalg.norm(across))
            across = across / length if length > 1e-9 else np.array([1.0, 0.0])
        self.error = -self._selection * across
        self.velocity = self.gain * self.error

    def jacobian(self, kinematics: TaskKinematics) -> np.ndarray:
        """How the two components change with the unknowns, shape (2, unknowns)."""
        jacobian = kinematics.jacobian(self.link)
        rotation = kinematics.placement(self.link).rotation
        direction = self._direction
        turning = np.outer(direction, direction) - np.eye(3)
        rate = turning @ jacobian[:3] / self._distance + pin.skew(direction) @ jacobian[3:]
        return self._across @ rotation.T @ rate
