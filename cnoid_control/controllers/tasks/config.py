"""Tasks and constraints from a configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from cnoid_control.body import Body, Link
from cnoid_control.body.joint_group import JointGroup
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
from cnoid_control.controllers.tasks.element import Element
from cnoid_control.controllers.tasks.exceptions import TaskError, unknown_task
from cnoid_control.controllers.tasks.interpolators import make_interpolator
from cnoid_control.controllers.tasks.joint_tasks import (
    DampingTask,
    JointPositionTask,
    JointVelocityTask,
    PostureTask,
)
from cnoid_control.controllers.tasks.option_checks import (
    WITH_GAIN,
    check_constraint,
    check_options_used,
    check_task,
    constraint_options,
)
from cnoid_control.controllers.tasks.parameters import (
    ConfigurationParameters,
    ConstraintParameters,
    GroupParameters,
    TaskParameters,
    TasksParameters,
)
from cnoid_control.controllers.tasks.solver import Solver
from cnoid_control.controllers.tasks.target import PoseTarget
from cnoid_control.controllers.tasks.task import BodyTask, Task, VelocityShaper
from cnoid_control.controllers.tasks.task_solver import Configuration, TaskSolver
from cnoid_control.exceptions import choices
from cnoid_control.plugin.exceptions import ControllerLoadError
from cnoid_control.plugin.options import change_options, check_options
from cnoid_control.plugin.registry import PluginKind

SHAPER_OPTIONS = tuple(item.name for item in fields(VelocityShaper))
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
TASKS = PluginKind('task type', Task, 'cnoid_control.tasks', TASK_TYPES)
CONSTRAINTS = PluginKind(
    'constraint type', Constraint, 'cnoid_control.constraints', CONSTRAINT_TYPES
)
# Each solver has imports of its own; only the one in use is loaded.
SOLVERS = PluginKind(
    'solver',
    Solver,
    'cnoid_control.solvers',
    {
        'sum': 'cnoid_control.controllers.tasks.sum_solver:SumSolver',
        'qp': 'cnoid_control.controllers.tasks.qp_solver:QpSolver',
    },
)


class TaskFactory:
    """Makes the parts of one controller: it knows the body and the joint groups.

    Attributes:
        body: body that tasks are for.
        folder: folder that a relative `file.py:Class` starts from.
        groups: joint groups by name: those of the body, 'all' among them, and of the options.
    """

    def __init__(
        self, body: Body, groups: dict[str, GroupParameters], folder: Path | None = None
    ) -> None:
        """Find the joints of all groups.

        Raises:
            UnknownJoint: a group names a joint that the body does not have.
        """
        self.body = body
        self.folder = folder or Path()
        self.groups = dict(body.joint_groups)
        for name, group in groups.items():
            self.groups[name] = JointGroup(name, [body.joint(joint) for joint in group.joints])

    def make_controller(self, parameters: TasksParameters, period: float) -> TaskSolver:
        """Controller with all tasks and constraints.

        Args:
            parameters: what it consists of.
            period: time between two computations [s].

        Raises:
            TaskError, ModelError: something named does not exist or does not fit.
            ParameterError: an option is wrong, or would have no effect.
        """
        group = self.group(parameters.joint_group, 'joint_group')
        solver = self.make_solver(parameters)
        check_options_used(parameters, solver)
        controller = TaskSolver(self.body, group, period, solver)
        tasks = {name: self.make_task(name, part) for name, part in parameters.tasks.items()}
        for name, part in parameters.tasks.items():
            check_task(f'tasks.{name}', tasks[name], solver, part)
            if part.parent:
                _parent(tasks, part.parent, 'task').add_part(tasks[name])
            else:
                controller.add_task(tasks[name])
        constraints = {
            name: self.make_constraint(name, part) for name, part in parameters.constraints.items()
        }
        for name, limit in parameters.constraints.items():
            check_constraint(f'constraints.{name}', constraints[name], limit)
            if limit.parent:
                _parent(constraints, limit.parent, 'constraint').add_part(constraints[name])
            else:
                controller.add_constraint(constraints[name])
        for name, bundle in parameters.configurations.items():
            controller.add_configuration(_make_configuration(name, bundle, controller))
        return controller

    def make_solver(self, parameters: TasksParameters) -> Solver:
        """Solver of the name given, with its options."""
        kind = self._find(SOLVERS, parameters.solver, 'solver')
        options = {'damping': parameters.damping} if parameters.solver == 'qp' else {}
        solver: Solver = _made('solver', kind, **options)
        solver.parameters = check_options(
            'solver_options', kind, parameters.solver_options, self.folder
        )
        return solver

    def _find(self, kind: PluginKind, name: str, key: str) -> type[Any]:
        try:
            return kind.find(name, self.folder)
        except ControllerLoadError as error:
            raise TaskError(f'{key}: {error}') from error

    def make_task(self, name: str, parameters: TaskParameters) -> Task:
        """Task of the type named."""
        kind = self._find(TASKS, parameters.type, f'tasks.{name}.type')
        task: Task
        if kind.family == 'joint':
            group = self.group(parameters.joint_group, f'{name}.joint_group')
            task = _made(name, kind, name, group)
        elif issubclass(kind, LookAtTask):
            link = self.link(parameters.link, name)
            task = _made(name, kind, name, link, np.array(parameters.axis))
        elif kind.family == 'body':
            task = _made(name, kind, name, self.link(parameters.link, name))
        else:
            task = _made(name, kind, name)
        self._take_options(f'tasks.{name}', task, parameters.options)
        if task.target is not None:
            task.target.interpolator = self._interpolator(name, parameters)
        self.apply_task(task, parameters)
        if parameters.target and task.target is not None:
            task.target.set(pose_or_vector(task, parameters.target))
        return task

    def _interpolator(self, name: str, parameters: TaskParameters) -> Any:
        key = f'tasks.{name}.interpolator'
        return make_interpolator(parameters.interpolator, key, self.folder)

    def _take_options(self, key: str, element: Element, options: Mapping[str, Any]) -> None:
        """Give an element the options of its class."""
        if options or element.Parameters is not None:
            element.parameters = check_options(
                f'{key}.options', type(element), options, self.folder
            )

    def _change_options(self, key: str, element: Element, options: Mapping[str, Any]) -> None:
        """Have an element follow other options of its class, or refuse the change by name."""
        new = check_options(f'{key}.options', type(element), options, self.folder)
        change_options(f'{key}.options', element, element.parameters, new)
        element.parameters = new

    def apply_task(self, task: Task, parameters: TaskParameters) -> None:
        """Apply the options that may change while running, but for target and interpolator."""
        if isinstance(task, BodyTask):
            task.reference = self.reference(parameters.reference)
        if isinstance(task, WITH_GAIN):
            task.gain = parameters.gain
        task.weight = np.asarray(parameters.weight, dtype=float)
        task.priority = parameters.priority
        task.lm_damping = parameters.lm_damping
        task.selection = np.array(parameters.selection or np.ones(task.size))
        _apply_shaper(task, parameters)
        if parameters.enabled != task.is_enabled:
            task.enable() if parameters.enabled else task.disable()

    def update_task(self, task: Task, old: TaskParameters, new: TaskParameters) -> None:
        """Follow options that have changed.

        Raises:
            TaskError: a value cannot be used.
        """
        if old.options != new.options:
            self._change_options(f'tasks.{task.name}', task, new.options)
        if old.interpolator != new.interpolator:
            task.target.interpolator = self._interpolator(task.name, new)
        if old.target != new.target and new.target:
            task.target.set(pose_or_vector(task, new.target))
        if task.shaper is None and any(
            getattr(old, name) != getattr(new, name) for name in SHAPER_OPTIONS
        ):
            task.shaper = VelocityShaper()
            task.shaper.reset(task.velocity)
        self.apply_task(task, new)

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
        kind = self._find(CONSTRAINTS, parameters.type, f'constraints.{name}.type')
        constraint: Constraint
        if kind in makers:
            constraint = makers[kind]()
        elif kind.family == 'joint':
            group = self.group(parameters.joint_group, f'{name}.joint_group')
            constraint = _made(name, kind, name, group)
        elif kind.family == 'body':
            constraint = _made(name, kind, name, self.link(parameters.link, name))
        else:
            constraint = _made(name, kind, name)
        self._take_options(f'constraints.{name}', constraint, parameters.options)
        self.apply_constraint(constraint, parameters)
        return constraint

    def update_constraint(
        self, constraint: Constraint, old: ConstraintParameters, new: ConstraintParameters
    ) -> None:
        """Follow options that have changed; errors as of `update_task`."""
        if old.options != new.options:
            self._change_options(f'constraints.{constraint.name}', constraint, new.options)
        self.apply_constraint(constraint, new)

    def apply_constraint(self, constraint: Constraint, parameters: ConstraintParameters) -> None:
        """Apply the options that may change while running."""
        if isinstance(constraint, WorkspaceConstraint):
            constraint.set_corners(
                parameters.corner_min or [-np.inf] * 3, parameters.corner_max or [np.inf] * 3
            )
        for name in ('gain', 'margin', 'max_deceleration', 'min_distance'):
            if name in constraint_options(constraint):
                setattr(constraint, name, getattr(parameters, name))
        if isinstance(constraint, BodyVelocityConstraint):
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
            TaskError: there is none; the message names those that exist.
        """
        if name not in self.groups:
            raise TaskError(f'{key}: unknown joint group {name!r}; {choices(self.groups)}')
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


def _apply_shaper(task: Task, parameters: TaskParameters) -> None:
    values = {name: getattr(parameters, name) for name in SHAPER_OPTIONS}
    if task.shaper is None:
        shaper = VelocityShaper(**values)
        task.shaper = shaper if shaper.changes_anything else None
        return
    for name, value in values.items():
        setattr(task.shaper, name, value)


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


def _made(key: str, kind: type[Any], *args: Any, **options: Any) -> Any:
    """Object of a class that may be somebody else's.

    Raises:
        TaskError: its `__init__` takes other arguments.
    """
    try:
        return kind(*args, **options)
    except TypeError as error:
        raise TaskError(f'{key}: {kind.__name__} cannot be made: {error}') from error


def _make_configuration(
    name: str, parameters: ConfigurationParameters, controller: TaskSolver
) -> Configuration:
    """Bundle of tasks and constraints that are on the controller."""
    bundle = Configuration(name)
    for kind, names, known in (
        ('task', parameters.tasks, controller.tasks),
        ('constraint', parameters.constraints, controller.constraints),
    ):
        for one in names:
            if one not in known:
                raise TaskError(
                    f'configurations.{name}: {one!r} is no {kind} of its own; {choices(known)}'
                )
    bundle.tasks += [controller.tasks[one] for one in parameters.tasks]
    bundle.constraints += [controller.constraints[one] for one in parameters.constraints]
    if not parameters.enabled:
        bundle.disable()
    return bundle


def _parent(elements: dict[str, Any], name: str, kind: str) -> Any:
    if name not in elements:
        raise unknown_task(kind, name, elements)
    return elements[name]
