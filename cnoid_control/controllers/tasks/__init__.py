"""Tasks and constraints: motion said by what should be reached and what must not be exceeded."""

from cnoid_control.controllers.tasks.body_tasks import (
    BodyPositionTask,
    BodyScrewTask,
    BodyVelocityTask,
    LookAtTask,
    RelativeBodyTask,
)
from cnoid_control.controllers.tasks.collision import SelfCollisionConstraint
from cnoid_control.controllers.tasks.com_tasks import ComTask, MomentumTask
from cnoid_control.controllers.tasks.constraints import (
    BodyVelocityConstraint,
    Constraint,
    JointAccelerationConstraint,
    JointPositionConstraint,
    JointVelocityConstraint,
    WorkspaceConstraint,
)
from cnoid_control.controllers.tasks.joint_tasks import (
    DampingTask,
    JointPositionTask,
    JointVelocityTask,
    PostureTask,
)
from cnoid_control.controllers.tasks.solver import ControllerResult
from cnoid_control.controllers.tasks.task import BodyTask, GenericTask, JointTask, Task
from cnoid_control.controllers.tasks.task_solver import Configuration, TaskSolver

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
    'TaskSolver',
    'WorkspaceConstraint',
]
