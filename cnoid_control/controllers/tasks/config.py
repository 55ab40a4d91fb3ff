"""Tasks and constraints from a configuration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
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
from cnoid_control.controllers.tasks.exceptions import (
    TaskError,
    unknown_task,
    unknown_type,
)
from cnoid_control.controllers.tasks.interpolators import (
    InterpolatorParameters,
    interpolator_options,
    make_interpolator,
)
from cnoid_control.controllers.tasks.joint_tasks import (
    DampingTask,
    JointPositionTask,
    JointVelocityTask,
    PostureTask,
)
from cnoid_control.controllers.tasks.solver import Solver
from cnoid_control.controllers.tasks.target import PoseTarget
from cnoid_control.controllers.tasks.task import Task, VelocityShaper
from cnoid_control.controllers.tasks.task_solver import TaskSolver
from cnoid_control.exceptions import choices
from cnoid_control.parameters import ParameterError, parameter, parameter_changes


@dataclass
class MotionParameters:
    """How the target of a task moves by itself, from where the task starts."""

    type: str = parameter(
        'none', 'kind of motion', choices=('none', 'circle', 'waypoints'), read_only=True
    )
    radius: float = parameter(0.1, 'radius of the circle', unit='m', minimum=0.0, read_only=True)
    period: float = parameter(
        4.0, 'time of a round, or of all waypoints', unit='s', minimum=0.01, read_only=True
    )
    normal: list[float] = parameter(
        [1.0, 0.0, 0.0], 'axis across the circle, world axes', read_only=True
    )
    times: list[float] = parameter(
        [], 'time of each waypoint from the start', unit='s', read_only=True
    )
    offsets: list[float] = parameter(
        [],
        'offset from the start at each waypoint, one number per row of the target',
        unit='m, rad',
        read_only=True,
    )
    repeat: bool = parameter(
        False, 'whether the waypoints start anew after the last one', read_only=True
    )


@dataclass
class TaskParameters:
    """One task, or a subtask with the name of its parent."""

    type: str = parameter(description='kind of task', read_only=True)
    parent: str = parameter('', 'task whose subtask it is', read_only=True)
    joint_group: str = parameter('', 'joints of a joint task', read_only=True)
    link: str = parameter('', 'link of a body task', read_only=True)
    reference: str = parameter('', 'link whose axes count; the world where empty')
    enabled: bool = parameter(True, 'whether it is on')
    priority: int = parameter(0, '0 is served first; qp solver only', minimum=0)
    weight: float | list[float] = parameter(
        1.0, 'importance, one or one a row; qp solver only', minimum=0.0
    )
    gain: float = parameter(1.0, 'velocity per error', unit='1/s', minimum=0.0)
    integral_gain: float = parameter(
        0.0, 'velocity per integral of the error', unit='1/s^2', minimum=0.0
    )
    integral_limit: float = parameter(1.0, 'largest norm of that integral', minimum=0.0)
    derivative_gain: float = parameter(0.0, 'velocity per rate of the error', minimum=0.0)
    max_speed: float = parameter(1e9, 'largest norm of what is asked for', minimum=0.0)
    max_change: float = parameter(1e9, 'largest norm of its change per second', minimum=0.0)
    lm_damping: float = parameter(0.0, 'damping far from the target; qp only', minimum=0.0)
    selection: list[float] = parameter([], 'rows cared for, 0 or 1; all where empty')
    target: list[float] = parameter(
        [], 'what to reach: a row each; x y z roll pitch yaw for poses; the start where empty'
    )
    axis: list[float] = parameter([1.0, 0.0, 0.0], 'axis that looks, link axes', read_only=True)
    interpolator: InterpolatorParameters = field(default_factory=InterpolatorParameters)
    motion: MotionParameters = field(default_factory=MotionParameters)
    timeout: float = parameter(
        0.0, 'age of a message from which the task stops; 0 for none', unit='s', minimum=0.0
    )
    stop_time: float = parameter(0.3, 'time of that stop', unit='s', minimum=1e-3)


@dataclass
class ConstraintParameters:
    """One constraint, or a subconstraint with the name of its parent."""

    type: str = parameter(description='kind of constraint', read_only=True)
    parent: str = parameter('', 'constraint whose subconstraint it is', read_only=True)
    joint_group: str = parameter('', 'joints of a joint constraint', read_only=True)
    link: str = parameter('', 'link of a body constraint', read_only=True)
    reference: str = parameter('', 'link whose axes count; the world where empty')
    enabled: bool = parameter(True, 'whether it is on')
    maximum: float | list[float] = parameter(
        [], "largest value, one or one a row; the model's limits where empty", minimum=0.0
    )
    corner_min: list[float] = parameter([], 'lower corner of a workspace', unit='m')
    corner_max: list[float] = parameter([], 'upper corner of a workspace', unit='m')
    gain: float = parameter(
        0.5, 'part of the way to a limit in one tick', minimum=1e-6, maximum=1.0
    )
    max_deceleration: float = parameter(
        1e9, 'braking ahead of a position limit', unit='rad/s^2', minimum=1e-6
    )
    margin: float = parameter(0.0, 'distance kept from position limits', minimum=0.0)
    min_distance: float = parameter(0.02, 'distance kept between links', unit='m', minimum=0.0)
    pairs: list[str] = parameter([], "links kept apart, as 'LINK LINK'", read_only=True)


@dataclass
class GroupParameters:
    """A named joint group."""

    joints: list[str] = parameter(description='names of its joints, in its order')


@dataclass
class TasksParameters:
    """Options of the task controller."""

    joint_group: str = parameter(
        description="joints that are controlled; 'all' for all", read_only=True
    )
    groups: dict[str, GroupParameters] = parameter({}, 'joint groups by name', read_only=True)
    solver: str = parameter(
        'qp', 'how tasks are brought together', choices=('sum', 'qp'), read_only=True
    )
    output: str = parameter(
        'position',
        'what joints are commanded by',
        choices=('velocity', 'position', 'torque'),
        read_only=True,
    )
    state: str = parameter(
        'commanded',
        'state that tasks start from: what was commanded so far, or what is measured',
        choices=('commanded', 'measured'),
        read_only=True,
    )
    damping: float = parameter(1e-6, 'weight of velocities; qp solver only', minimum=1e-12)
    contacts: list[str] = parameter(
        [], 'links that carry the robot; for torques of a floating base', read_only=True
    )
    pgain: float | list[float] = parameter(
        1000.0, 'torque per joint error; torque output only', unit='N m/rad', minimum=0.0
    )
    dgain: float | list[float] = parameter(
        30.0, 'torque per velocity error; torque output only', unit='N m s/rad', minimum=0.0
    )
    tasks: dict[str, TaskParameters] = parameter({}, 'tasks by name')
    constraints: dict[str, ConstraintParameters] = parameter({}, 'constraints by name')


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


class TaskFactory:
    """Makes the parts of one controller: it knows the body and the joint groups.

    Attributes:
        body: body that tasks are for.
        groups: joint groups by name: those of the body, 'all' among them, and of the options.
    """

    def __init__(self, body: Body, groups: dict[str, GroupParameters]) -> None:
        """Find the joints of all groups.

        Raises:
            UnknownJoint: a group names a joint that the body does not have.
        """
        self.body = body
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
        """
        group = self.group(parameters.joint_group, 'joint_group')
        controller = TaskSolver(self.body, group, period, _make_solver(parameters))
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
            raise unknown_type('task', parameters.type, TASK_TYPES)
        task: Any
        if kind.family == 'joint':
            task = kind(name, self.group(parameters.joint_group, f'{name}.joint_group'))  # type: ignore[arg-type]
        elif kind is LookAtTask:
            task = LookAtTask(name, self.link(parameters.link, name), np.array(parameters.axis))
        elif kind.family == 'body':
            task = kind(name, self.link(parameters.link, name))  # type: ignore[arg-type]
        else:
            task = kind(name)  # type: ignore[call-arg]
        if task.target is not None:
            task.target.interpolator = make_interpolator(parameters.interpolator)
        self.apply_task(task, parameters)
        if parameters.target:
            task.target.set(pose_or_vector(task, parameters.target))
        return task

    def apply_task(self, task: Task, parameters: TaskParameters) -> None:
        """Apply the options that may change while running, but for target and interpolator."""
        if hasattr(task, 'reference'):
            task.reference = self.reference(parameters.reference)
        if hasattr(task, 'gain'):
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
        if old.interpolator != new.interpolator:
            task.target.interpolator = make_interpolator(new.interpolator)
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
        kind = CONSTRAINT_TYPES.get(parameters.type)
        if kind is None:
            raise unknown_type('constraint', parameters.type, CONSTRAINT_TYPES)
        if kind in makers:
            constraint = makers[kind]()
        else:
            group = self.group(parameters.joint_group, f'{name}.joint_group')
            constraint = kind(name, group)  # type: ignore[call-arg]
        self.apply_constraint(constraint, parameters)
        return constraint

    def apply_constraint(self, constraint: Constraint, parameters: ConstraintParameters) -> None:
        """Apply the options that may change while running."""
        if isinstance(constraint, WorkspaceConstraint):
            constraint.set_corners(
                parameters.corner_min or [-np.inf] * 3, parameters.corner_max or [np.inf] * 3
            )
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


def check_task_change(
    key: str,
    task: Task,
    solver: str,
    old: TaskParameters,
    new: TaskParameters,
) -> None:
    """Refuse changes that this task would ignore.

    Args:
        key: key of the task, for messages.
        task: the task.
        solver: name of the solver.
        old: its options in force.
        new: what they are to be.

    Raises:
        ParameterError: an option has no effect on this task.
    """
    for change in parameter_changes(old, new):
        reason = _why_task_ignores(change.key, task, solver, new)
        if reason:
            raise ParameterError(f'{key}.{change.key}', reason)


def _why_task_ignores(name: str, task: Task, solver: str, new: TaskParameters) -> str:
    kind = f'{new.type!r} tasks'
    followed = ('enabled', 'priority', 'weight', 'selection')
    if isinstance(task, DampingTask) and name not in followed:
        return f'{kind} ask for rest only'
    ignored = ('priority', 'weight', 'lm_damping')
    if solver == 'sum' and (name in ignored or isinstance(task, DampingTask)):
        return "it has no effect with the 'sum' solver"
    if name in ('gain', 'reference') and not hasattr(task, name):
        return f'{kind} have none'
    if name == 'target' and new.motion.type != 'none':
        return f'the target moves by itself ({new.motion.type})'
    if name == 'target' and not new.target:
        return 'a target that was set cannot be taken back'
    group, _, option = name.partition('.')
    used = ('type', *interpolator_options(new.interpolator.type))
    if group == 'interpolator' and option not in used:
        return f'the interpolator {new.interpolator.type!r} has none'
    return ''


# Options of constraints besides `enabled` that take effect, by kind of constraint.
CONSTRAINT_OPTIONS: dict[type[Constraint], tuple[str, ...]] = {
    JointVelocityConstraint: ('maximum',),
    JointPositionConstraint: ('gain', 'max_deceleration', 'margin'),
    JointAccelerationConstraint: ('maximum',),
    BodyVelocityConstraint: ('maximum', 'reference'),
    WorkspaceConstraint: ('corner_min', 'corner_max', 'gain'),
    SelfCollisionConstraint: ('gain', 'min_distance'),
}


def check_constraint_change(
    key: str, constraint: Constraint, old: ConstraintParameters, new: ConstraintParameters
) -> None:
    """Refuse changes that this constraint would ignore; arguments as for `check_task_change`."""
    followed = ('enabled', *CONSTRAINT_OPTIONS[type(constraint)])
    for change in parameter_changes(old, new):
        if change.key not in followed:
            raise ParameterError(f'{key}.{change.key}', f'{new.type!r} constraints have none')
        no_model_limit = not isinstance(constraint, JointVelocityConstraint)
        if change.key == 'maximum' and change.new == [] and no_model_limit:
            raise ParameterError(f'{key}.maximum', 'the model has no such limit; give a value')


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
        from cnoid_control.controllers.tasks.sum_solver import SumSolver

        return SumSolver()
    from cnoid_control.controllers.tasks.qp_solver import QpSolver

    return QpSolver(damping=parameters.damping)


def _parent(elements: dict[str, Any], name: str, kind: str) -> Any:
    if name not in elements:
        raise unknown_task(kind, name, elements)
    return elements[name]
