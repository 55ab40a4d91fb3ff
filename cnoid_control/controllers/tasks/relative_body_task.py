"""Bring a link to a given pose relative to another, moving link."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from cnoid_control.controllers.tasks.body_position_task import BodyPositionTask
from cnoid_control.controllers.tasks.kinematics import TaskKinematics, rotate_back


class RelativeBodyTask(BodyPositionTask):
    """A pose task in which the reference moves too: both links give way.

    The rows are the velocity of the link as an observer on the reference sees it.
    """

    def jacobian(self, kinematics: TaskKinematics) -> np.ndarray:
        """Velocity of the link relative to the reference, axes of the reference."""
        if self.reference is None:
            return super().jacobian(kinematics)
        reference = kinematics.placement(self.reference)
        arm = kinematics.placement(self.link).translation - reference.translation
        carried = kinematics.jacobian(self.reference)
        relative = kinematics.jacobian(self.link) - carried
        relative[:3] += pin.skew(arm) @ carried[3:]
        return rotate_back(reference.rotation, relative)
