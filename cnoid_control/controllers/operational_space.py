"""Velocity-based operational space control with two priority levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cnoid_control.controllers.tasks.constraints import (
    JointAccelerationConstraint,
    JointPositionConstraint,
    JointVelocityConstraint,
)
from cnoid_control.controllers.tasks.controller import TasksController
from cnoid_control.controllers.tasks.exceptions import TaskError
from cnoid_control.controllers.tasks.parameters import TasksParameters
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
        _check_levels(config.parameters)
        return super().configure(config)

    def initialize(self, io: ControllerIO) -> bool:
        """Add the limits of the joints to what the configuration states."""
        if not super().initialize(io):
            return False
        add_joint_limits(self.tasks, io.parameters.max_acceleration)
        return True

    def update_parameters(self, old: Any, new: Any) -> None:
        """Follow the acceleration besides what tasks follow."""
        _check_levels(new)
        super().update_parameters(old, new)
        set_max_acceleration(self.tasks, new.max_acceleration)


def _check_levels(parameters: OperationalSpaceParameters) -> None:
    for name, task in parameters.tasks.items():
        if task.priority not in LEVELS:
            raise TaskError(f'{name}.priority: level 1 or 2 expected, got {task.priority}')


def add_joint_limits(tasks: TaskSolver, max_acceleration: float) -> None:
    """Keep all controlled joints to the model's speeds and ranges, and to an acceleration."""
    group = tasks.joint_group
    speed = JointVelocityConstraint('joint speed', group)
    speed.max_velocity = np.array([joint.dq_upper for joint in group.joints])
    tasks.add_constraint(speed)
    tasks.add_constraint(JointAccelerationConstraint('joint acceleration', group))
    tasks.add_constraint(JointPositionConstraint('joint range', group))
    set_max_acceleration(tasks, max_acceleration)


def set_max_acceleration(tasks: TaskSolver, max_acceleration: float) -> None:
    """Change the acceleration [rad/s^2] of the constraints of `add_joint_limits`."""
    acceleration = tasks.constraints['joint acceleration']
    assert isinstance(acceleration, JointAccelerationConstraint)
    acceleration.max_acceleration = np.asarray(max_acceleration)
    position_range = tasks.constraints['joint range']
    assert isinstance(position_range, JointPositionConstraint)
    position_range.max_deceleration = max_acceleration
