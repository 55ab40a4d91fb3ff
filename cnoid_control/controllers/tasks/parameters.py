"""Options of tasks, constraints and their controller."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cnoid_control.controllers.tasks.interpolators import InterpolatorParameters
from cnoid_control.parameters import PluginName, parameter


@dataclass
class MotionParameters:
    """How the target of a task moves by itself, from where the task starts."""

    type: str = parameter(
        'none', 'kind of motion', choices=('none', 'circle', 'waypoints'), read_only=True
    )
    radius: float = parameter(0.1, 'radius of the circle', unit='m', minimum=0.0, read_only=True)
    period: float = parameter(
        4.0, 'time of a round of the circle', unit='s', minimum=0.01, read_only=True
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

    type: PluginName = parameter(
        description="kind of task, 'package.module:Class' or 'file.py:Class'", read_only=True
    )
    options: dict[str, Any] = parameter({}, "options of a class of one's own")
    parent: str = parameter('', 'task whose subtask it is', read_only=True)
    joint_group: str = parameter('', 'joints of a joint task', read_only=True)
    link: str = parameter('', 'link of a body task', read_only=True)
    reference: str = parameter('', 'link whose axes count; the world where empty')
    enabled: bool = parameter(True, 'whether it is on')
    priority: int = parameter(0, '0 is served first; qp solver only', minimum=0)
    weight: float | list[float] = parameter(
        1.0, 'importance, one or one per row; qp solver only', minimum=0.0
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
        [],
        'what to reach, by row; x y z roll pitch yaw for poses; the start where empty',
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

    type: PluginName = parameter(
        description="kind of constraint, 'package.module:Class' or 'file.py:Class'", read_only=True
    )
    options: dict[str, Any] = parameter({}, "options of a class of one's own")
    parent: str = parameter('', 'constraint whose subconstraint it is', read_only=True)
    joint_group: str = parameter('', 'joints of a joint constraint', read_only=True)
    link: str = parameter('', 'link of a body constraint', read_only=True)
    reference: str = parameter('', 'link whose axes count; the world where empty')
    enabled: bool = parameter(True, 'whether it is on')
    maximum: float | list[float] = parameter(
        [], "largest value, one or one per row; the model's limits where empty", minimum=0.0
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
class ConfigurationParameters:
    """A bundle of tasks and constraints that are switched on and off together."""

    tasks: list[str] = parameter([], 'names of its tasks', read_only=True)
    constraints: list[str] = parameter([], 'names of its constraints', read_only=True)
    enabled: bool = parameter(True, 'whether it is on')


@dataclass
class TasksParameters:
    """Options of the task controller."""

    joint_group: str = parameter(
        description="joints that are controlled; 'all' for all", read_only=True
    )
    groups: dict[str, GroupParameters] = parameter({}, 'joint groups by name', read_only=True)
    solver: PluginName = parameter(
        'qp',
        "how tasks are brought together: sum, qp, 'package.module:Class' or 'file.py:Class'",
        read_only=True,
    )
    solver_options: dict[str, Any] = parameter({}, "options of a solver of one's own")
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
        [],
        'torque per joint error, computed for the robot where empty; torque output only',
        unit='N m/rad',
        minimum=0.0,
    )
    dgain: float | list[float] = parameter(
        [],
        'torque per velocity error, critical damping where empty; torque output only',
        unit='N m s/rad',
        minimum=0.0,
    )
    tasks: dict[str, TaskParameters] = parameter({}, 'tasks by name')
    constraints: dict[str, ConstraintParameters] = parameter({}, 'constraints by name')
    configurations: dict[str, ConfigurationParameters] = parameter(
        {}, 'bundles of tasks and constraints by name'
    )
