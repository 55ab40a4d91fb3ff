"""Tasks and constraints: motion said by what should be reached and what must not be exceeded."""

from cnoid_control.controllers.tasks.body_position_task import BodyPositionTask
from cnoid_control.controllers.tasks.body_screw_task import BodyScrewTask
from cnoid_control.controllers.tasks.body_velocity_task import BodyVelocityTask
from cnoid_control.controllers.tasks.com_task import ComTask
from cnoid_control.controllers.tasks.configuration import Configuration
from cnoid_control.controllers.tasks.constraints import (
    BodyVelocityConstraint,
    Constraint,
    JointAccelerationConstraint,
    JointPositionConstraint,
    JointVelocityConstraint,
    SelfCollisionConstraint,
    WorkspaceConstraint,
)
from cnoid_control.controllers.tasks.joint_position_task import (
    DampingTask,
    JointPositionTask,
    PostureTask,
)
from cnoid_control.controllers.tasks.joint_velocity_task import JointVelocityTask
from cnoid_control.controllers.tasks.look_at_task import LookAtTask
from cnoid_control.controllers.tasks.momentum_task import MomentumTask
from cnoid_control.controllers.tasks.relative_body_task import RelativeBodyTask
from cnoid_control.controllers.tasks.solvers import ControllerResult
from cnoid_control.controllers.tasks.task import BodyTask, GenericTask, JointTask, Task
from cnoid_control.controllers.tasks.task_controller import TaskController

__all__ = [
    'BodyPositionTask',
    'BodyScrewTask',
    'BodyTask',
    'BodyVelocityConstraint',
    'BodyVelocityTask',
    'ComTask',
    'Configuration',
    'Constraint',
    'ControllerResult',
    'DampingTask',
    'GenericTask',
    'JointAccelerationConstraint',
    'JointPositionConstraint',
    'JointPositionTask',
    'JointTask',
    'JointVelocityConstraint',
    'JointVelocityTask',
    'LookAtTask',
    'MomentumTask',
    'PostureTask',
    'RelativeBodyTask',
    'SelfCollisionConstraint',
    'Task',
    'TaskController',
    'WorkspaceConstraint',
]
