"""Bring a link to a given pose along a screw."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from cnoid_control.controllers.tasks.body_position_task import BodyPositionTask
from cnoid_control.controllers.tasks.kinematics import TaskKinematics


class BodyScrewTask(BodyPositionTask):
    """A pose task whose error is the twist log(T^-1 T*), in the link's own axes.

    Position and orientation arrive together on one screw motion. The rows, the selection and the
    weights are in the axes of the link, not of the reference.
    """

    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """Ask for a velocity along the screw to the target."""
        goal = self.target.step(dt)
        if self.reference is not None:
            goal = kinematics.placement(self.reference) * goal
        pose = kinematics.placement(self.link)
        offset = pose.actInv(goal)
        error = pin.log6(offset).vector
        self.error = error if self.row_scale is None else self._selection * error
        self.velocity = self.gain * self.error
        self._log_jacobian = pin.Jlog6(offset.inverse())
        self._axes = pose.rotation

    def jacobian(self, kinematics: TaskKinematics) -> np.ndarray:
        """How the twist from the target changes with the unknowns, link axes."""
        return self._log_jacobian @ kinematics.local_jacobian(self.link)
