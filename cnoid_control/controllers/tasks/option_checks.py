"""What options a task or constraint follows: the others are refused, not ignored."""

from __future__ import annotations

from cnoid_control.controllers.tasks.body_tasks import BodyPositionTask, LookAtTask
from cnoid_control.controllers.tasks.collision import SelfCollisionConstraint
from cnoid_control.controllers.tasks.com_tasks import ComTask
from cnoid_control.controllers.tasks.constraints import (
    BodyVelocityConstraint,
    Constraint,
    JointAccelerationConstraint,
    JointPositionConstraint,
    JointVelocityConstraint,
    WorkspaceConstraint,
)
from cnoid_control.controllers.tasks.interpolators import interpolator_options
from cnoid_control.controllers.tasks.joint_tasks import DampingTask, JointPositionTask
from cnoid_control.controllers.tasks.parameters import (
    ConstraintParameters,
    TaskParameters,
    TasksParameters,
)
from cnoid_control.controllers.tasks.solver import Solver
from cnoid_control.controllers.tasks.task import BodyTask, Task
from cnoid_control.parameters import ParameterError, parameter_changes

# Tasks whose gain is the option `gain`; one of another class is an option of its own.
WITH_GAIN = (JointPositionTask, BodyPositionTask, ComTask, LookAtTask)
MOTION_OPTIONS = {
    'none': (),
    'circle': ('radius', 'period', 'normal'),
    'waypoints': ('times', 'offsets', 'repeat'),
}
# Options of constraints besides `enabled` that take effect, by kind of constraint.
CONSTRAINT_OPTIONS: dict[type[Constraint], tuple[str, ...]] = {
    JointVelocityConstraint: ('maximum',),
    JointPositionConstraint: ('gain', 'max_deceleration', 'margin'),
    JointAccelerationConstraint: ('maximum',),
    BodyVelocityConstraint: ('maximum', 'reference'),
    WorkspaceConstraint: ('corner_min', 'corner_max', 'gain'),
    SelfCollisionConstraint: ('gain', 'min_distance', 'pairs'),
}


def constraint_options(constraint: Constraint) -> tuple[str, ...]:
    """Options of the configuration that a constraint follows, besides its own."""
    kinds = [kind for kind in type(constraint).__mro__ if kind in CONSTRAINT_OPTIONS]
    return CONSTRAINT_OPTIONS[kinds[0]] if kinds else ()


def check_options_used(parameters: TasksParameters, solver: Solver) -> None:
    """Refuse options of the controller that would have no effect.

    Raises:
        ParameterError: the message names the option.
    """
    defaults = type(parameters)(joint_group=parameters.joint_group)
    if parameters.solver != 'qp' and parameters.damping != defaults.damping:
        raise ParameterError('damping', f'it has no effect with the {parameters.solver!r} solver')
    if parameters.output != 'torque':
        for name in ('pgain', 'dgain', 'contacts'):
            if getattr(parameters, name) != getattr(defaults, name):
                raise ParameterError(name, f'it has no effect with {parameters.output} output')
    if solver.Parameters is None and parameters.solver_options:
        name = next(iter(parameters.solver_options))
        raise ParameterError(
            f'solver_options.{name}', f'the solver {parameters.solver!r} has no options'
        )


def check_task(key: str, task: Task, solver: Solver, parameters: TaskParameters) -> None:
    """Refuse options that this task would ignore from the start.

    Args:
        key: key of the task, for messages.
        task: the task.
        solver: the solver.
        parameters: its options.

    Raises:
        ParameterError: an option has no effect on this task.
    """
    for change in parameter_changes(TaskParameters(parameters.type), parameters):
        reason = _why_never(change.key, task, parameters)
        reason = reason or _why_ignored(change.key, task, solver, parameters)
        if reason:
            raise ParameterError(f'{key}.{change.key}', reason)


def check_task_change(
    key: str, task: Task, solver: Solver, old: TaskParameters, new: TaskParameters
) -> None:
    """Refuse changes that this task would ignore.

    Args:
        key: key of the task, for messages.
        task: the task.
        solver: the solver.
        old: its options in force.
        new: what they are to be.

    Raises:
        ParameterError: an option has no effect on this task.
    """
    for change in parameter_changes(old, new):
        reason = _why_ignored(change.key, task, solver, new)
        if change.key == 'target' and new.motion.type != 'none':
            reason = f'the target moves by itself ({new.motion.type})'
        if change.key == 'target' and not new.target:
            reason = 'a target that was set cannot be taken back'
        if change.key == 'interpolator.type' and ':' in new.interpolator.type:
            reason = 'a class by its module or file is taken at the start only'
        if reason:
            raise ParameterError(f'{key}.{change.key}', reason)


def _why_never(name: str, task: Task, parameters: TaskParameters) -> str:
    """Why an option that cannot change has no effect; empty where it has."""
    none = f'{parameters.type!r} tasks have none'
    if name == 'joint_group' and task.family != 'joint':
        return none
    if name == 'link' and task.family != 'body' and not isinstance(task, LookAtTask):
        return none
    if name == 'axis' and not isinstance(task, LookAtTask):
        return none
    group, _, option = name.partition('.')
    motion = parameters.motion.type
    if group == 'motion' and task.target is None:
        return f'{parameters.type!r} tasks have no target'
    if group == 'motion' and option not in ('type', *MOTION_OPTIONS[motion]):
        return f'the motion {motion!r} has none'
    if name == 'timeout' and motion != 'none':
        return f'the target moves by itself ({motion}); there are no messages'
    return ''


def _why_ignored(name: str, task: Task, solver: Solver, parameters: TaskParameters) -> str:
    """Why an option, given or changed, has no effect; empty where it has."""
    kind = f'{parameters.type!r} tasks'
    group, _, option = name.partition('.')
    if group == 'options' and task.Parameters is None:
        return f'{kind} have no options of their own'
    if isinstance(task, DampingTask) and group not in DAMPING_OPTIONS:
        return f'{kind} ask for rest only'
    ignored = name in ('priority', 'weight', 'lm_damping')
    if not solver.uses_weights and (ignored or _only_weighs(task, group)):
        return f"it has no effect with the '{_name_of(solver)}' solver"
    if name == 'gain' and not isinstance(task, WITH_GAIN):
        return f'{kind} have none'
    if name == 'reference' and not isinstance(task, BodyTask):
        return f'{kind} have none'
    if group in ('interpolator', 'target') and task.target is None:
        return f'{kind} have no target'
    used = ('type', *interpolator_options(parameters.interpolator.type))
    if group == 'interpolator' and option.split('.')[0] not in used:
        return f'the interpolator {parameters.interpolator.type!r} has none'
    return ''


DAMPING_OPTIONS = ('enabled', 'priority', 'weight', 'selection', 'joint_group', 'parent')


def _only_weighs(task: Task, option: str) -> bool:
    """Whether an option is for a task that does nothing where weights do not count."""
    return isinstance(task, DampingTask) and option in ('enabled', 'selection')


def _name_of(solver: Solver) -> str:
    return type(solver).__name__.removesuffix('Solver').lower()


def check_constraint(key: str, constraint: Constraint, parameters: ConstraintParameters) -> None:
    """Refuse options that this constraint would ignore from the start; see `check_task`."""
    structure = {'joint': ('joint_group',), 'body': ('link',)}.get(constraint.family, ())
    defaults = ConstraintParameters(parameters.type)
    followed = ('enabled', 'parent', *structure, *constraint_options(constraint))
    for change in parameter_changes(defaults, parameters):
        _refuse_unless(followed, key, change.key, constraint, parameters)


def check_constraint_change(
    key: str, constraint: Constraint, old: ConstraintParameters, new: ConstraintParameters
) -> None:
    """Refuse changes that this constraint would ignore; arguments as for `check_task_change`."""
    followed = ('enabled', *constraint_options(constraint))
    for change in parameter_changes(old, new):
        _refuse_unless(followed, key, change.key, constraint, new)
        no_model_limit = not isinstance(constraint, JointVelocityConstraint)
        if change.key == 'maximum' and change.new == [] and no_model_limit:
            raise ParameterError(f'{key}.maximum', 'the model has no such limit; give a value')


def _refuse_unless(
    followed: tuple[str, ...],
    key: str,
    name: str,
    constraint: Constraint,
    parameters: ConstraintParameters,
) -> None:
    if name.split('.')[0] == 'options':
        if constraint.Parameters is None:
            raise ParameterError(
                f'{key}.{name}', f'{parameters.type!r} constraints have no options of their own'
            )
    elif name not in followed:
        raise ParameterError(f'{key}.{name}', f'{parameters.type!r} constraints have none')
