"""Every option of every shipped controller: a change while running acts, or is refused by name."""

from __future__ import annotations

import copy
import dataclasses
import functools
import io
import tempfile
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from networks import linear

from cnoid_control.body import Body
from cnoid_control.body.devices import Light
from cnoid_control.controllers.tasks.config import CONSTRAINT_TYPES, TASK_TYPES
from cnoid_control.controllers.tasks.interpolators import INTERPOLATOR_TYPES
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import ParameterInfo, parameter_info
from cnoid_control.plugin import ControllerIO
from cnoid_control.plugin.mailbox import JointTrajectory
from cnoid_control.plugin.options import check_options
from cnoid_control.plugin.registry import controller_names, find_controller
from cnoid_control.plugin.trajectory_goal import FollowTrajectory
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.defaults import make_robot
from cnoid_control.runtime.managed_controller import ManagedController

DT = 0.01
ARM = ['joint1', 'joint2', 'joint3', 'joint4', 'joint5', 'joint6', 'joint7']
POSTURE = [0.1, 0.5, 0.1, 1.1, 0.1, 0.7, 0.1]
PART = 'cnoid_control.controllers.samples.sub_controllers:PartController'
HAND = {'type': 'body_position', 'link': 'hand'}
QUEUE = {'controller': 'motion_queue', 'options': {'kp': 50.0}}


@dataclass(eq=False)
class Case:
    """A controller that runs, and the options that it is known to follow."""

    controller: str
    config: str
    options: dict[str, Any] = field(default_factory=dict)
    followed: set[str] | None = None
    values: dict[str, Any] = field(default_factory=dict)
    only: tuple[str, ...] = ('',)


GAINS = {'kp', 'ki', 'kd'}
# A network that is there when the options are listed.
POLICY = linear(
    Path(tempfile.mkdtemp()) / 'policy.onnx', np.full((len(ARM), len(ARM) + 3), 0.1), np.zeros(7)
)
COMPOSED = {'actuators': 'controller'}
SIDES = {
    'left_wheel_names': ['left_track'],
    'right_wheel_names': ['right_track'],
    'velocity': {
        'joystick': {
            'source': 'script',
            'script': {'all': {'axes': [0.5, 0.5, 0.5, 0.5, 0.5], 'buttons': [7]}},
        },
    },
}
SPEED_NAMES = ('timeout', 'lower', 'upper', 'acceleration', 'full_stick', 'axes', 'enable_button')
SPEEDS = {f'velocity.{name}' for name in (*SPEED_NAMES, 'script')}
SPEED_VALUES = {
    'velocity.lower': [-0.1, 0.0, -0.1],
    'velocity.upper': [0.1, 0.0, 0.1],
    'velocity.acceleration': [0.5, 0.0, 0.5],
    'velocity.full_stick': [0.3, 0.0, 0.3],
    'velocity.axes': [1, 0, 3],
    'velocity.script': {'go': {'time': 0.0, 'velocity': [0.3, 0.0, 0.1]}},
}
DRIVEN = SPEEDS | {'wheel_separation_multiplier'}
CASES = {
    'pd': Case(
        'pd',
        'pd',
        {'groups': {'wrist': ['joint6', 'joint7']}, 'kp_of': {'wrist': 5.0}},
        GAINS
        | {'kp_of', 'ki_of', 'kd_of', 'kp_of.wrist', 'posture', 'move_time'}
        | {'gravity_compensation'},
        {
            'kp': 50.0,
            'kd': 5.0,
            'kp_of': {'wrist': 5.0, 'joint1': 7.0},
            'ki_of': {'joint1': 7.0},
            'kd_of': {'joint1': 7.0},
            'posture': POSTURE,
            'gravity_compensation': ['joint2'],
        },
    ),
    'tank_joystick_light': Case(
        'tank_joystick_light',
        'tank',
        SIDES | {'switches': {'Light': 0}, 'turret': {'joints': ['turret_yaw', 'turret_pitch']}},
        DRIVEN | {'narrow_button', 'wide_button', 'beam_speed', 'turret.speed'},
        SPEED_VALUES,
    ),
    'differential_drive': Case(
        'differential_drive',
        'crawler',
        SIDES | {'stick_joints': {'joints': ['left_flipper'], 'axes': [4], 'mode': 'position'}},
        DRIVEN | {'stick_joints.speed'},
        SPEED_VALUES,
    ),
    'car': Case(
        'car',
        'car',
        {
            'steering': ['left_steering', 'right_steering'],
            'driven': ['rear_left_wheel', 'rear_right_wheel'],
        },
        SPEEDS | {'curvature'},
        SPEED_VALUES,
    ),
    'conveyor': Case('conveyor', 'conveyor', {}, {'speed', 'acceleration'}),
    'pick_and_place': Case(
        'pick_and_place',
        'pick_and_place',
        {'fingers': ['left_finger'], 'pick': [0.45, 0.1, 0.1], 'place': [0.1, -0.45, 0.24]},
        set(),
        {'open': 0.03, 'tool': [0.0, 0.0, 0.1]},
    ),
    'policy': Case(
        'policy',
        'pd',
        {
            'file': str(POLICY),
            'joints': ARM,
            'observations': ['joint_position', 'velocity_command'],
            'terms': {'velocity_command': {'scale': 2.0}},
            'action': {'scale': 0.5, 'scale_of': {'joint1': 0.3}, 'offset': {'joint2': 0.1}},
            'velocity': {'script': {'go': {'velocity': [0.3, 0.2, 0.1]}}},
            'posture': {'joint3': 0.1},
            'period': 0.01,
            'kp': 50.0,
            'kd': 5.0,
            'kp_of': {'joint1': 20.0},
            'kd_of': {'joint1': 2.0},
        },
        {'kp', 'kd', 'kp_of', 'kd_of', 'kp_of.joint1', 'kd_of.joint1'}
        | {'action.scale', 'action.scale_of', 'action.scale_of.joint1', 'action.offset'}
        | {'action.offset.joint2', 'action.clip', 'action.largest', 'velocity.script.go.time'}
        | {'velocity.script.go.velocity'}
        | SPEEDS,
        {
            'kp_of': {'joint2': 7.0},
            'kd_of': {'joint2': 7.0},
            'action.scale_of': {'joint2': 0.7},
            'action.offset': {'joint3': 0.7},
            'action.clip': [-0.1, 0.1],
            'action.largest': 1e-3,
            'velocity.lower': [-0.1, -0.1, -0.1],
            'velocity.upper': [0.1, 0.1, 0.1],
            'velocity.script': {'stop': {'time': 0.0, 'velocity': [0.1, 0.0, 0.0]}},
            'velocity.script.go.time': 9.0,
            'velocity.acceleration': [0.5, 0.5, 0.5],
            'velocity.full_stick': [0.3, 0.3, 0.3],
            'velocity.axes': [0, 1, 2],
        },
    ),
    'pendulum': Case('pendulum', 'pendulum', {}, {'kp', 'kd', 'goal'}),
    'spring': Case('spring', 'spring', {}, {'stiffness', 'damping'}),
    'link_force': Case('link_force', 'link_force', {}, {'frequency', 'gravity'}),
    'link_position': Case('link_position', 'link_position', {}, set()),
    'light_camera': Case('light_camera', 'light_camera', {}, {'period'}, {'period': 0.01}),
    'sub_controllers': Case('sub_controllers', 'pd', {}, {'amplitude', 'period'}),
    'part': Case(PART, 'pd', {}, {'kp', 'kd'}),
    'part by position': Case(PART, 'pd', {'mode': 'position'}, set()),
    'sr1_minimum': Case('sr1_minimum', 'sr1_pd', {}, set()),
    'sr1_walk': Case('sr1_walk', 'sr1_pd', {}, set()),
    'trajectory': Case(
        'trajectory',
        'pd',
        {'actuators': 'controller'},
        GAINS
        | {'path_tolerance', 'goal_tolerance', 'stopped_velocity_tolerance', 'goal_time'}
        | {'allow_partial_joints_goal', 'allow_nonzero_velocity_at_trajectory_end'}
        | {'stop_acceleration', 'stop_jerk', 'blend_time', 'feedforward', 'finish'},
    ),
    'trajectory of servos': Case(
        'trajectory',
        'pd',
        {'actuators': 'servo'},
        {'path_tolerance', 'goal_tolerance', 'stopped_velocity_tolerance', 'goal_time'}
        | {'allow_partial_joints_goal', 'allow_nonzero_velocity_at_trajectory_end'}
        | {'stop_acceleration', 'stop_jerk', 'blend_time', 'finish'},
    ),
    'motion_queue': Case(
        'motion_queue',
        'pd',
        {'actuators': 'controller', 'queue': {'a': {'q': POSTURE}}, 'max_velocity': 1.0},
        GAINS
        | {'max_velocity', 'max_acceleration', 'max_jerk', 'smooth', 'refuse_beyond_limits'}
        | {'feed_rate', 'feedforward', 'finish'},
        {'max_jerk': 500.0},
    ),
    'multi': Case(
        'multi',
        'pd',
        {**COMPOSED, 'stages': {'arm': QUEUE}},
        GAINS | {'stages.arm.options'},
        {'stages.arm.options': {'kp': 70.0}, 'stages': {'arm': QUEUE, 'other': QUEUE}},
    ),
    'sequence': Case(
        'sequence',
        'pd',
        {**COMPOSED, 'stages': {'arm': {**QUEUE, 'until': 1.0}}},
        GAINS | {'stages.arm.options'},
        {'stages.arm.options': {'kp': 70.0}, 'stages': {}},
    ),
    'state_machine': Case(
        'state_machine',
        'pd',
        {**COMPOSED, 'states': {'arm': {**QUEUE, 'next': {'end': {'after': 9.0}}}}},
        GAINS | {'states.arm.options'},
        {'states.arm.options': {'kp': 70.0}, 'states': {}},
    ),
}
SHAPED = {'integral_gain', 'integral_limit', 'derivative_gain', 'max_speed', 'max_change'}
TASK_FOLLOWS = {'enabled', 'priority', 'weight', 'lm_damping', 'selection', 'target'}
TASK_FOLLOWS |= SHAPED | {'timeout', 'stop_time', 'interpolator.type'}
TARGETS: dict[str, tuple[int, list[float]]] = {
    'joint_velocity': (7, [0.1] * 7),
    'joint_position': (7, POSTURE),
    'posture': (7, POSTURE),
    'damping': (7, [0.1] * 7),
    'body_velocity': (6, [0.1] * 6),
    'body_position': (6, [0.4, 0.1, 0.5, 0.1, 0.2, 0.3]),
    'body_screw': (6, [0.4, 0.1, 0.5, 0.1, 0.2, 0.3]),
    'relative_body': (6, [0.4, 0.1, 0.5, 0.1, 0.2, 0.3]),
    'com': (3, [0.1, 0.1, 0.4]),
    'momentum': (6, [0.1] * 6),
    'look_at': (2, [1.0, 0.1, 0.4]),
}
WITH_GAIN = {'joint_position', 'posture', 'body_position', 'body_screw', 'relative_body', 'com'}
WITH_GAIN |= {'look_at'}
WITH_REFERENCE = {'body_velocity', 'body_position', 'body_screw', 'relative_body'}
USED = {'rate_limiter': {'max_velocity'}, 'identity': set()}
USED['time_optimal'] = {'max_velocity', 'max_acceleration', 'max_jerk'}
for shape in ('linear', 'cubic', 'quintic'):
    USED[shape] = {'weight'}
    USED[f'{shape}_timed'] = {'duration'}
    USED[f'{shape}_constrained'] = {'max_velocity', 'max_acceleration'}


def tasks_case(
    kind: str,
    solver: str = 'qp',
    interpolator: str = 'identity',
    controller: str = 'tasks',
    only: tuple[str, ...] = ('',),
) -> Case:
    """One task on the arm."""
    size, target = TARGETS[kind]
    task: dict[str, Any] = {'type': kind, 'interpolator': {'type': interpolator}}
    if TASK_TYPES[kind].family == 'joint':
        task['joint_group'] = 'all'
    elif TASK_TYPES[kind].family == 'body' or kind == 'look_at':
        task['link'] = 'hand'
    followed = set(TASK_FOLLOWS) | {f'interpolator.{name}' for name in USED[interpolator]}
    followed |= {'gain'} if kind in WITH_GAIN else set()
    followed |= {'reference'} if kind in WITH_REFERENCE else set()
    if kind == 'damping':
        followed = {'enabled', 'priority', 'weight', 'selection'}
    if solver == 'sum':
        followed -= {'priority', 'weight', 'lm_damping'}
        followed -= {'selection', 'enabled'} if kind == 'damping' else set()
    options: dict[str, Any] = {'joint_group': 'all', 'solver': solver, 'output': 'torque'}
    options['tasks'] = {'it': task}
    if controller == 'operational_space':
        task['priority'] = 1
    own = {'max_acceleration'} if controller == 'operational_space' else set()
    return Case(
        controller,
        'pd',
        options,
        {f'tasks.it.{name}' for name in followed}
        | {'pgain', 'dgain'}
        | own
        | ({'damping'} if solver == 'qp' else set()),
        {
            'tasks.it.reference': 'elbow',
            'tasks.it.target': target,
            'tasks.it.priority': 2,
            'tasks.it.selection': [0.0] + [1.0] * (size - 1),
            'tasks.it.interpolator.type': 'rate_limiter'
            if interpolator == 'time_optimal'
            else 'time_optimal',
            'tasks.it.interpolator.weight': 0.5,
            'tasks': {'it': task, 'other': task},
            'constraints': {'new': {'type': 'joint_position', 'joint_group': 'all'}},
        },
        only,
    )


LIMITS: dict[str, tuple[dict[str, Any], set[str]]] = {
    'joint_velocity': ({'joint_group': 'all'}, {'maximum'}),
    'joint_position': ({'joint_group': 'all'}, {'gain', 'max_deceleration', 'margin'}),
    'joint_acceleration': ({'joint_group': 'all', 'maximum': 5.0}, {'maximum'}),
    'body_velocity': ({'link': 'hand', 'maximum': 5.0}, {'maximum', 'reference'}),
    'workspace': (
        {'link': 'hand', 'corner_min': [-3.0] * 3, 'corner_max': [3.0] * 3},
        {'corner_min', 'corner_max', 'gain'},
    ),
    'self_collision': ({'pairs': ['base forearm']}, {'gain', 'min_distance'}),
}


def constraint_case(kind: str) -> Case:
    """One constraint, under a task."""
    given, followed = LIMITS[kind]
    options = {
        'joint_group': 'all',
        'tasks': {'hand': {**HAND, 'target': TARGETS['body_position'][1]}},
        'constraints': {'it': {'type': kind, **given}},
    }
    return Case(
        'tasks',
        'pd',
        options,
        {f'constraints.it.{name}' for name in {*followed, 'enabled'}},
        {
            'constraints.it.maximum': 2.0,
            'constraints.it.reference': 'elbow',
            'constraints.it.corner_min': [-2.0] * 3,
            'constraints.it.corner_max': [2.0] * 3,
        },
        ('constraints.it.',),
    )


BY_SOLVER = ('damping', *(f'tasks.it.{name}' for name in ('e', 'gain', 'p', 'w', 'lm', 's')))
TASK_CASES = {f'{kind} task': tasks_case(kind, only=('tasks.it.',)) for kind in TASK_TYPES}
TASK_CASES |= {f'{kind} task, sum': tasks_case(kind, 'sum', only=BY_SOLVER) for kind in TASK_TYPES}
TASK_CASES |= {
    f'{kind} interpolator': tasks_case(
        'body_position', interpolator=kind, only=('tasks.it.interpolator',)
    )
    for kind in INTERPOLATOR_TYPES
}
TASK_CASES |= {
    f'{kind} interpolator of joints': tasks_case(
        'joint_position', interpolator=kind, only=('tasks.it.interpolator',)
    )
    for kind in INTERPOLATOR_TYPES
}
CASES['operational_space'] = tasks_case('body_position', controller='operational_space')
CASES['tasks'] = tasks_case('joint_position')
CONSTRAINT_CASES = {f'{kind} constraint': constraint_case(kind) for kind in CONSTRAINT_TYPES}
for kind in LIMITS:
    part = constraint_case(kind)
    top = {'type': 'joint_velocity', 'joint_group': 'all', 'maximum': 3.0}
    part.options['constraints']['top'] = top
    part.options['constraints']['it']['parent'] = 'top'
    CONSTRAINT_CASES[f'{kind} subconstraint'] = part
bundle = constraint_case('joint_velocity')
bundle.options['configurations'] = {'it': {'tasks': ['hand'], 'constraints': ['it']}}
bundle.followed, bundle.only = {'configurations.it.enabled'}, ('configurations.it.',)
CONSTRAINT_CASES['bundle'] = bundle


# --- the options of a controller ---------------------------------------------------------------


def leaves(
    schema: type, values: Any, prefix: str = ''
) -> Iterator[tuple[str, Any, ParameterInfo]]:
    """Key, type and facts of every option; maps by name by the entries that there are."""
    kinds = typing.get_type_hints(schema)
    for item in dataclasses.fields(schema):
        key, kind, value = prefix + item.name, kinds[item.name], getattr(values, item.name)
        if dataclasses.is_dataclass(kind):
            yield from leaves(typing.cast(type, kind), value, f'{key}.')
            continue
        yield key, kind, parameter_info(item)
        if typing.get_origin(kind) is dict and item.name != 'options':
            element = typing.get_args(kind)[1]
            for name, entry in value.items():
                if dataclasses.is_dataclass(element):
                    yield from leaves(typing.cast(type, element), entry, f'{key}.{name}.')
                else:
                    yield f'{key}.{name}', element, parameter_info(item)


def another(kind: Any, value: Any, info: ParameterInfo) -> Any:
    """Return another value of the same kind, within its range."""
    if info.choices:
        return next(choice for choice in info.choices if choice != value)
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        if kind is not int and not np.isfinite(value):
            return 2.0
        tried = value + 1 if kind is int else 0.25 * value + 0.03
        return tried if info.minimum <= tried <= info.maximum else 0.5 * value
    if isinstance(value, (str, Path)):
        return f'{value}other'
    if value == [] and float in typing.get_args(kind):
        return 2.0
    if isinstance(value, list):
        return [2.0 * one for one in value] if value and not isinstance(value[0], str) else ['x']
    if isinstance(value, dict):
        return {**value, 'x': next(iter(value.values()), 1.0)}
    raise AssertionError(f'no other value of {kind}')


def get(values: Any, key: str) -> Any:
    """Value at a dotted key of dataclasses and dicts."""
    for name in key.split('.'):
        values = values[name] if isinstance(values, dict) else getattr(values, name)
    return values


def with_value(options: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """Options with one value changed."""
    changed = copy.deepcopy(options)
    place = changed
    *parents, leaf = key.split('.')
    for name in parents:
        place = place.setdefault(name, {})
    place[leaf] = value
    return changed


def keys(cases: dict[str, Case]) -> list[Any]:
    """One row per option of every case."""
    rows = []
    for name, case in cases.items():
        cls = find_controller(case.controller)
        if cls.Parameters is not None:
            parsed = check_options('it', cls, case.options)
            rows += [
                pytest.param(case, key, kind, info, id=f'{name}-{key}')
                for key, kind, info in leaves(cls.Parameters, parsed)
                if key.startswith(case.only)
            ]
    return rows


# --- a controller that runs --------------------------------------------------------------------


@functools.cache
def robot(config: str) -> Body:
    """Robot of a shipped configuration."""
    loaded = load_config(config)
    return make_robot(loaded.parameters.robot, loaded.folder)


class Run:
    """A controller on a robot that moves a little, whatever it is commanded."""

    def __init__(self, case: Case) -> None:
        """Start it."""
        self.case, self.ticks = case, 0
        self.model, self.body = robot(case.config).clone(), robot(case.config).clone()
        self.managed = ManagedController('it', find_controller(case.controller)(), case.options)
        shared: dict[str, Any] = {}
        if case.controller == PART:
            parent = find_controller('sub_controllers')()
            parent.initialize(ControllerIO('parent', self.body, DT, shared_objects=shared))
        os = io.StringIO()
        self.managed.configure(self.model, 0.001, os)
        self.managed.initialize(self.model, self.body, DT, os, shared)
        self.managed.start()
        self.commands: list[np.ndarray] = []

    @property
    def controller(self) -> Any:
        """The controller itself."""
        return self.managed.controller

    def tick(self, count: int = 3) -> None:
        """Measure something, and have the controller command."""
        assert self.managed.io is not None
        for _ in range(count):
            self.ticks += 1
            self.managed.io.current_time = self.ticks * DT
            self.body.q[:] += 0.01 + 0.002 * np.sin(self.ticks + np.arange(self.body.num_joints))
            self.body.dq[:] = 0.2
            going_on = self.controller.control()
            self.commands.append(self._command(going_on))

    def _command(self, going_on: bool) -> np.ndarray:
        arrays = self.body.joint_arrays
        root = self.body.root_link
        lights = [float(light.on) for light in self.body.devices_of(Light)]
        parts = [arrays[name] for name in ('q_target', 'dq_target', 'u', 'kp', 'ki', 'kd')]
        return np.concatenate([*parts, root.F_ext, root.p, [float(going_on)], lights])

    def stimulate(self) -> None:
        """Send goals of the kind that the controller takes."""
        assert self.managed.io is not None
        for box in self.managed.io.mailboxes.values():
            trajectory = JointTrajectory(
                names=tuple(ARM), times=np.array([1.0]), positions=np.array([POSTURE])
            )
            if box.kind is FollowTrajectory:
                box.post(FollowTrajectory(trajectory=trajectory))

    def set(self, key: str, value: Any) -> None:
        """Change an option as the host does."""
        options = with_value(self.case.options, key, value)
        checked = check_options('it', type(self.controller), options)
        self.managed.change_options(options, checked)

    def state(self) -> str:
        """All numbers and words that the controller has, but for the options as they came."""
        return repr(list(walk(self.controller, set())))


def walk(value: Any, seen: set[int]) -> Iterator[Any]:
    """Plain values inside an object of the package, in a fixed order."""
    if isinstance(value, (bool, int, float, str, type(None))):
        yield value
    elif isinstance(value, np.ndarray):
        yield value.tolist()
    elif id(value) in seen or isinstance(value, (Body, ControllerIO)):
        return
    elif isinstance(value, dict):
        for key in value:
            yield str(key)
            yield from walk(value[key], seen)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from walk(one, seen)
    elif type(value).__module__.startswith('cnoid_control') and hasattr(value, '__dict__'):
        if dataclasses.is_dataclass(value) and any(
            'parameter' in item.metadata for item in dataclasses.fields(value)
        ):
            return
        seen.add(id(value))
        yield type(value).__name__
        yield getattr(value, 'name', '') if not isinstance(value, Body) else ''
        for name, one in vars(value).items():
            if name not in ('options', 'body', 'link', 'reference'):
                yield name
                yield from walk(one, seen)
            elif name == 'reference':
                yield getattr(one, 'name', '')


def record_reads(parameters: Any) -> set[str]:
    """Collect the names of the options that are read from now on."""
    reads: set[str] = set()
    plain = type(parameters)

    class Recorded(plain):  # type: ignore[misc, valid-type]
        def __getattribute__(self, name: str) -> Any:
            reads.add(name)
            return super().__getattribute__(name)

    parameters.__class__ = Recorded
    return reads


@functools.cache
def unchanged(case: Case) -> tuple[str, list[np.ndarray]]:
    """State in the midst of a run whose options stay, and all its commands."""
    run = Run(case)
    run.tick()
    state = run.state()
    run.stimulate()
    run.tick()
    return state, run.commands


def check(case: Case, key: str, kind: Any, info: ParameterInfo) -> None:
    """Change one option of one of two equal runs and compare what they do."""
    changed = Run(case)
    changed.tick()
    state, commands = unchanged(case)
    before = get(changed.managed.parameters, key)
    value = case.values[key] if key in case.values else another(kind, before, info)
    held = changed.managed.parameters
    try:
        changed.set(key, value)
    except CnoidControlError as error:
        reason = str(error)
        assert key.split('.')[-1] in reason, 'the option is named'
        assert len(reason) > len(key) + 10, 'a reason is given'
        assert key not in case.followed, reason
        assert changed.managed.parameters is changed.managed.io.parameters is held
        assert changed.state() == state, 'a change that is refused has no effect'
        return
    assert key in case.followed, f'{key} is accepted'
    assert changed.managed.io.parameters is changed.managed.parameters is not held
    acts = changed.state() != state
    reads = record_reads(changed.managed.parameters)
    changed.stimulate()
    told = ''
    try:
        changed.tick()
    except CnoidControlError as error:
        # A limit that the very next tick exceeds acts, if the controller says that it was that.
        told = str(error)
    acts = acts or key in told
    acts = acts or any(
        not np.array_equal(one, other, equal_nan=True)
        for one, other in zip(changed.commands, commands, strict=True)
    )
    assert acts or key in reads, f'{key} is accepted and ignored'


@pytest.mark.parametrize(('case', 'key', 'kind', 'info'), keys(CASES))
def test_option_of_a_controller(case: Case, key: str, kind: Any, info: ParameterInfo) -> None:
    """It takes effect, or it is refused with the reason."""
    check(case, key, kind, info)


@pytest.mark.parametrize(('case', 'key', 'kind', 'info'), keys(TASK_CASES))
def test_option_of_a_task(case: Case, key: str, kind: Any, info: ParameterInfo) -> None:
    """It takes effect, or it is refused with the reason."""
    check(case, key, kind, info)


@pytest.mark.parametrize(('case', 'key', 'kind', 'info'), keys(CONSTRAINT_CASES))
def test_option_of_a_constraint(case: Case, key: str, kind: Any, info: ParameterInfo) -> None:
    """It takes effect, or it is refused with the reason."""
    check(case, key, kind, info)


def test_every_shipped_controller_is_among_the_cases() -> None:
    """A new one is not forgotten."""
    assert {case.controller for case in CASES.values()} >= set(controller_names())
    assert set(TARGETS) == set(TASK_TYPES)
    assert set(LIMITS) == set(CONSTRAINT_TYPES)
