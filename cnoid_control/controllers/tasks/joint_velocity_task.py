"""Move joints at given velocities."""

from __future__ import annotations

from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks.kinematics import TaskKinematics
from cnoid_control.controllers.tasks.target import Target
from cnoid_control.controllers.tasks.task import JointTask


class JointVelocityTask(JointTask):
    """The target is the velocity of each joint of the group [rad/s] or [m/s]."""

    wants_velocity = True

    def __init__(self, name: str, joint_group: JointGroup) -> None:
        """Make a task that asks for rest."""
        super().__init__(name, joint_group)
        self.target = Target(name, self.size)

    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """Ask for the selected part of the target."""
        self.velocity = self._selection * self.target.step(dt)
        self.error = self._selection * (self.target.input - self.target.output)
