"""Makes task controllers from what a configuration file states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cnoid_control.body import Body, Link
from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks.body_position_task import BodyPositionTask
from cnoid_control.controllers.tasks.body_screw_task import BodyScrewTask
from cnoid_control.controllers.tasks.body_velocity_task import BodyVelocityTask
from cnoid_control.controllers.tasks.com_task import ComTask
from cnoid_control.controllers.tasks.constraints import (
    BodyVelocityConstraint,
    Constraint,
    JointAccelerationConstraint,
    JointPositionConstraint,
    JointVelocityConstraint,
    SelfCollisionConstraint,
    WorkspaceConstraint,
)
from cnoid_control.controllers.tasks.exceptions import (
    TaskError,
    UnknownGroup,
    UnknownTask,
    UnknownTaskType,
)
from cnoid_control.controllers.tasks.interpolators import make_interpolator
from cnoid_control.controllers.tasks.joint_position_task import (
    DampingTask,
    JointPositionTask,
    PostureTask,
)
from cnoid_control.controllers.tasks.joint_velocity_task import JointVelocityTask
from cnoid_control.controllers.tasks.look_at_task import LookAtTask
from cnoid_control.controllers.tasks.momentum_task import MomentumTask
from cnoid_control.controllers.tasks.relative_body_task import RelativeBodyTask
from cnoid_control.controllers.tasks.solvers import Solver
from cnoid_control.controllers.tasks.target import PoseTarget
from cnoid_control.controllers.tasks.task import Task
from cnoid_control.controllers.tasks.task_controller import TaskController
from cnoid_control.controllers.tasks.task_parameters import (
    ConstraintParameters,
    GroupParameters,
    TaskParameters,
    TasksParameters,
)
from cnoid_control.controllers.tasks.velocity_shaper import VelocityShaper

TASK_TYPES: dict[str, type[Task]] = {
    'joint_velocity': JointVelocityTask,
    'joint_position': JointPositionTask,
    'posture': PostureTask,
    'damping': DampingTask,
    'body_velocity': BodyVelocityTask,
    'body_position': BodyPositionTask,
    'body_screw': BodyScrewTask,
    'relative_body': RelativeBodyTask,
    'com': ComTask,
    'momentum': MomentumTask,
    'look_at': LookAtTask,
}
CONSTRAINT_TYPES: dict[str, type[Constraint]] = {
    'joint_velocity': JointVelocityConstraint,
    'joint_position': JointPositionConstraint,
    'joint_acceleration': JointAccelerationConstraint,
    'body_velocity': BodyVelocityConstraint,
    'workspace': WorkspaceConstraint,
    'self_collision': SelfCollisionConstraint,
}


class TaskFactory:
    """Makes the parts of one controller: it knows the body and the joint groups.

    Attributes:
        body: body that tasks are for.
        groups: joint groups by name; 'all' is always there.
    """

    def __init__(self, body: Body, groups: dict[str, GroupParameters]) -> None:
        """Find the joints of all groups.

        Raises:
            UnknownJoint: a group names a joint that the body does not have.
        """
        self.body = body
        self.groups = {'all': body.joint_group('all')}
        for name, group in groups.items():
            self.groups[name] = JointGroup(name, [body.joint(joint) for joint in group.joints])

    def make_controller(self, parameters: TasksParameters, period: float) -> TaskController:
        """Controller with all tasks and constraints.

        Args:
            parameters: what it consists of.
            period: time between two computations [s].

        Raises:
            TaskError, ModelError: something named does not exist or does not fit.
        """
        group = self.group(parameters.joint_group, 'joint_group')
        controller = TaskController(self.body, group, period, _make_solver(parameters))
        tasks = {name: self.make_task(name, part) for name, part in parameters.tasks.items()}
        for name, part in parameters.tasks.items():
            if part.parent:
                _parent(tasks, part.parent, 'task').add_part(tasks[name])
            else:
                controller.add_task(tasks[name])
        constraints = {
            name: self.make_constraint(name, part) for name, part in parameters.constraints.items()
        }
        for name, limit in parameters.constraints.items():
            if limit.parent:
                _parent(constraints, limit.parent, 'constraint').add_part(constraints[name])
            else:
                controller.add_constraint(constraints[name])
        return controller

    def make_task(self, name: str, parameters: TaskParameters) -> Task:
        """Task of the type named."""
        kind = TASK_TYPES.get(parameters.type)
        if kind is None:
            raise UnknownTaskType('task', parameters.type, TASK_TYPES)
        task: Any
        if kind.family == 'joint':
            task = kind(name, self.group(parameters.joint_group, f'{name}.joint_group'))  # type: ignore[arg-type]
        elif kind is LookAtTask:
            task = LookAtTask(name, self.link(parameters.link, name), np.array(parameters.axis))
        elif kind.family == 'body':
            task = kind(name, self.link(parameters.link, name))  # type: ignore[arg-type]
        else:
            task = kind(name)  # type: ignore[call-arg]
        task.target.interpolator = make_interpolator(parameters.interpolator)
        task.target.reset(task.target.input)
        shaper = VelocityShaper(
            parameters.integral_gain,
            parameters.integral_limit,
            parameters.derivative_gain,
            parameters.max_speed,
            parameters.max_change,
        )
        task.shaper = shaper if shaper.changes_anything else None
        self.apply_task(task, parameters)
        if parameters.target:
            task.target.set(pose_or_vector(task, parameters.target))
        return task

    def apply_task(self, task: Task, parameters: TaskParameters) -> None:
        """Take over what may change while running."""
        if hasattr(task, 'reference'):
            task.reference = self.reference(parameters.reference)
        if hasattr(task, 'gain'):
            task.gain = parameters.gain
        task.weight = np.asarray(parameters.weight, dtype=float)
        task.priority = parameters.priority
        task.lm_damping = parameters.lm_damping
        task.selection = np.array(parameters.selection or np.ones(task.size))
        if parameters.enabled != task.is_enabled:
            task.enable() if parameters.enabled else task.disable()

    def make_constraint(self, name: str, parameters: ConstraintParameters) -> Constraint:
        """Constraint of the type named."""
        makers: dict[type[Constraint], Callable[[], Constraint]] = {
            SelfCollisionConstraint: lambda: SelfCollisionConstraint(
                name, [self._pair(pair, name) for pair in parameters.pairs]
            ),
            WorkspaceConstraint: lambda: WorkspaceConstraint(
                name,
                self.link(parameters.link, name),
                np.array(parameters.corner_min or np.full(3, -np.inf)),
                np.array(parameters.corner_max or np.full(3, np.inf)),
            ),
            BodyVelocityConstraint: lambda: BodyVelocityConstraint(
                name, self.link(parameters.link, name)
            ),
        }
        kind = CONSTRAINT_TYPES.get(parameters.type)
        if kind is None:
            raise UnknownTaskType('constraint', parameters.type, CONSTRAINT_TYPES)
        if kind in makers:
            constraint = makers[kind]()
        else:
            group = self.group(parameters.joint_group, f'{name}.joint_group')
            constraint = kind(name, group)  # type: ignore[call-arg]
        self.apply_constraint(constraint, parameters)
        return constraint

    def apply_constraint(self, constraint: Constraint, parameters: ConstraintParameters) -> None:
        """Take over what may change while running."""
        for name in ('gain', 'margin', 'max_deceleration', 'min_distance'):
            if hasattr(constraint, name):
                setattr(constraint, name, getattr(parameters, name))
        if hasattr(constraint, 'reference'):
            constraint.reference = self.reference(parameters.reference)
        maximum = parameters.maximum
        given = not isinstance(maximum, list) or bool(maximum)
        if isinstance(constraint, JointVelocityConstraint):
            limits = [joint.dq_upper for joint in constraint.joint_group.joints]
            constraint.max_velocity = np.asarray(maximum if given else limits, dtype=float)
        elif given and isinstance(constraint, BodyVelocityConstraint):
            constraint.max_velocity = np.broadcast_to(np.asarray(maximum, dtype=float), (6,))
        elif given and isinstance(constraint, JointAccelerationConstraint):
            constraint.max_acceleration = np.asarray(maximum, dtype=float)
        if parameters.enabled != constraint.is_enabled:
            constraint.enable() if parameters.enabled else constraint.disable()

    def group(self, name: str, key: str) -> JointGroup:
        """Joint group by name.

        Raises:
            UnknownGroup: there is none; the message names those that exist.
        """
        if name not in self.groups:
            raise UnknownGroup(key, name, self.groups)
        return self.groups[name]

    def link(self, name: str, key: str) -> Link:
        """Link by name; the error says whose link it should be."""
        if not name:
            raise TaskError(f'{key}.link is missing')
        return self.body.link(name)

    def reference(self, name: str) -> Link | None:
        """Link whose axes count; None for the world."""
        return None if name in ('', 'world') else self.body.link(name)

    def _pair(self, text: str, key: str) -> tuple[Link, Link]:
        names = text.split()
        if len(names) != 2:
            raise TaskError(f'{key}.pairs: two link names with a space expected, got {text!r}')
        return self.body.link(names[0]), self.body.link(names[1])


def pose_or_vector(task: Task, values: list[float]) -> np.ndarray:
    """Target of a task from the numbers of a file: x y z roll pitch yaw for poses."""
    import pinocchio as pin

    if not isinstance(task.target, PoseTarget):
        return np.array(values)
    if len(values) != 6:
        raise TaskError(f'{task.name}.target: x y z roll pitch yaw expected, got {values}')
    pose = np.eye(4)
    pose[:3, :3] = pin.rpy.rpyToMatrix(*values[3:])
    pose[:3, 3] = values[:3]
    return pose


def _make_solver(parameters: TasksParameters) -> Solver:
    # Each solver has imports of its own; only the one in use is loaded.
    if parameters.solver == 'sum':
        from cnoid_control.controllers.tasks.solvers.sum_solver import SumSolver

        return SumSolver()
    from cnoid_control.controllers.tasks.solvers.qp_solver import QpSolver

    return QpSolver(damping=parameters.damping)


def _parent(elements: dict[str, Any], name: str, kind: str) -> Any:
    if name not in elements:
        raise UnknownTask(kind, name, elements)
    return elements[name]
