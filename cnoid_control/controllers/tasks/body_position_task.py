"""Bring a link to a given pose."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from cnoid_control.body import Link
from cnoid_control.controllers.tasks.kinematics import TaskKinematics, rotate_back
from cnoid_control.controllers.tasks.target import PoseTarget
from cnoid_control.controllers.tasks.task import BodyTask


class BodyPositionTask(BodyTask):
    """The target is a pose of the link in the frame of the reference.

    The origin goes straight and the orientation turns about one axis: velocity = gain error +
    feedforward, error = [p* - p, log(R* R^T)] in the axes of the reference. Until a target is
    set, it holds the pose that it was enabled in.

    Attributes:
        gain: [1/s].
        feedforward: whether the velocity of the target's own motion is added.
    """

    def __init__(
        self, name: str, link: Link, reference: Link | None = None, gain: float = 1.0
    ) -> None:
        """Make a task that holds."""
        super().__init__(name, link, reference)
        self.gain = gain
        self.feedforward = True
        self.target = PoseTarget(name)

    def pose(self, kinematics: TaskKinematics) -> pin.SE3:
        """Pose of the link in the frame of the reference."""
        pose = kinematics.placement(self.link)
        if self.reference is None:
            return pose
        return kinematics.placement(self.reference).actInv(pose)

    def on_enable(self, kinematics: TaskKinematics) -> None:
        """Start the way to the target from where the link is."""
        goal, was_set = self.target.input, self.target.is_set
        self.target.reset(self.pose(kinematics).homogeneous)
        if was_set:
            self.target.set(goal)

    def compute_velocity(self, kinematics: TaskKinematics, dt: float) -> np.ndarray:
        """Velocity towards the target."""
        goal = self.target.step(dt)
        pose = kinematics.placement(self.link)
        reference = None
        if self.reference is not None:
            placement = kinematics.placement(self.reference)
            goal, reference = placement * goal, placement.rotation
        error = np.empty(6)
        error[:3] = goal.translation - pose.translation
        error[3:] = pin.log3(goal.rotation @ pose.rotation.T)
        error = rotate_back(reference, error)
        self.error = self._selection * error
        velocity = self.gain * error
        return velocity + self.target.velocity if self.feedforward else velocity
