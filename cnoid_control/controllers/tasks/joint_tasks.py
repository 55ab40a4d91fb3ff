"""Joint tasks."""

from __future__ import annotations

import numpy as np

from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks.kinematics import TaskKinematics
from cnoid_control.controllers.tasks.strict import put
from cnoid_control.controllers.tasks.target import Target
from cnoid_control.controllers.tasks.task import JointTask


class JointPositionTask(JointTask):
    """The target is the displacement of each joint of the group [rad] or [m].

    Asks for velocity = gain (target - q) + feedforward. Until a target is set, it holds the
    positions that it was enabled in.

    Attributes:
        gain: [1/s].
        feedforward: velocity added to the feedback [rad/s] or [m/s], shape (size,).
    """

    def __init__(self, name: str, joint_group: JointGroup, gain: float = 1.0) -> None:
        """Make a task that holds."""
        super().__init__(name, joint_group)
        self.gain = gain
        self.feedforward = np.zeros(self.size)
        self.target = Target(name, self.size)

    def on_enable(self, kinematics: TaskKinematics) -> None:
        """Start the way to the target from where the joints are."""
        goal, was_set = self.target.input, self.target.is_set
        self.target.reset(self.positions(kinematics))
        if was_set:
            self.target.set(goal)

    def compute_joint_velocity(self, kinematics: TaskKinematics, dt: float) -> np.ndarray:
        """Velocity towards the target."""
        error = self._selection * (self.target.step(dt) - self.positions(kinematics))
        put(self, 'error', error)
        return self.gain * error + self.feedforward


class PostureTask(JointPositionTask):
    """A joint position task of little weight, for what no other task determines."""

    def __init__(self, name: str, joint_group: JointGroup, gain: float = 1.0) -> None:
        """Make a posture task."""
        super().__init__(name, joint_group, gain)
        self.weight = 1e-3


class DampingTask(JointTask):
    """Keep joints still as far as no other task moves them; it has no target."""

    wants_velocity = True

    def __init__(self, name: str, joint_group: JointGroup) -> None:
        """Make a damping task of little weight."""
        super().__init__(name, joint_group)
        self.weight = 1e-3

    def compute_joint_velocity(self, kinematics: TaskKinematics, dt: float) -> np.ndarray:
        """Rest, whatever the state."""
        del kinematics, dt
        return np.zeros(self.size)


class JointVelocityTask(JointTask):
    """The target is the velocity of each joint of the group [rad/s] or [m/s]."""

    wants_velocity = True

    def __init__(self, name: str, joint_group: JointGroup) -> None:
        """Make a task that asks for rest."""
        super().__init__(name, joint_group)
        self.target = Target(name, self.size)

    def compute_joint_velocity(self, kinematics: TaskKinematics, dt: float) -> np.ndarray:
        """Velocity of the target."""
        output = self.target.step(dt)
        self.error = self._selection * (self.target.input - output)
        return output
