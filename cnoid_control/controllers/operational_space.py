"""Velocity-based operational space control with two priority levels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cnoid_control.controllers.tasks.config import TasksParameters
from cnoid_control.controllers.tasks.constraints import (
    JointAccelerationConstraint,
    JointPositionConstraint,
    JointVelocityConstraint,
)
from cnoid_control.controllers.tasks.controller import TasksController
from cnoid_control.controllers.tasks.exceptions import TaskError
from cnoid_control.controllers.tasks.task_solver import TaskSolver
from cnoid_control.parameters import parameter
from cnoid_control.plugin.controller_io import ControllerConfig, ControllerIO

LEVELS = (1, 2)


@dataclass
class OperationalSpaceParameters(TasksParameters):
    """Options of the operational space controller: those of tasks, and one more."""

    max_acceleration: float = parameter(
        50.0, 'largest acceleration of a joint', unit='rad/s^2', minimum=1e-6
    )


class OperationalSpaceController(TasksController):
    """Tasks of level 1 are served first, those of level 2 in what these leave free.

    Joints keep to their velocity limits, tightened by their acceleration around the last
    command, and to their ranges. What is commanded is a position one tick of the velocity found
    ahead: of the last command, or with `state: measured` of the measured position as in Klamp't,
    which lags where a command takes more than a tick to act.
    """

    Parameters = OperationalSpaceParameters

    def configure(self, config: ControllerConfig) -> bool:
        """Check the levels besides everything else."""
        for name, task in config.parameters.tasks.items():
            if task.priority not in LEVELS:
                raise TaskError(f'{name}.priority: level 1 or 2 expected, got {task.priority}')
        return super().configure(config)

    def initialize(self, io: ControllerIO) -> bool:
        """Add the limits of the joints to what the configuration states."""
        if not super().initialize(io):
            return False
        add_joint_limits(self.tasks, io.parameters.max_acceleration)
        return True


def add_joint_limits(tasks: TaskSolver, max_acceleration: float) -> None:
    """Keep all controlled joints to the model's speeds and ranges, and to an acceleration."""
    group = tasks.joint_group
    speed = JointVelocityConstraint('joint speed', group)
    speed.max_velocity = np.array([joint.dq_upper for joint in group.joints])
    acceleration = JointAccelerationConstraint('joint acceleration', group)
    acceleration.max_acceleration = max_acceleration
    tasks.add_constraint(speed)
    tasks.add_constraint(acceleration)
    tasks.add_constraint(
        JointPositionConstraint('joint range', group, max_deceleration=max_acceleration)
    )
