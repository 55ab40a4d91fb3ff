"""Configuration files."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.hardware.registry import DEFAULT, hardware_kind, hardware_names
from cnoid_control.parameters import (
    FileName,
    ParameterError,
    PluginName,
    not_allowed,
    parameter,
    parse_parameters,
    unknown_option,
    wrong_type,
)
from cnoid_control.plugin.joint_values import JointPosture
from cnoid_control.plugin.registry import controller_names, instance_name
from cnoid_control.runtime.safety.enabling_switch import EnableParameters
from cnoid_control.runtime.safety.limits import LimitsParameters
from cnoid_control.runtime.safety.safe_state import SafeStateParameters
from cnoid_control.runtime.safety.watchdog import WatchdogParameters, default_timeout
from cnoid_control.share import shared_file
from cnoid_control.strict_yaml import load_yaml

# Above the node's own priority: it must run when the node does not let go of a core.
PRIORITY = 60
# Ticks per second where none are given [Hz].
DEFAULT_RATE = 1000.0
# Shortest silence of the node that is one, where none is given [s].
SILENCE = 0.035


@dataclass
class HeartbeatParameters:
    """The `heartbeat` section of a parameter file."""

    node: str = parameter('cnoid_control', 'node whose `~/joint_commands` are watched')
    timeout: float = parameter(
        0.0,
        'silence after which the robot is stopped; 0 for 0.035 s, or 3.5 periods where that is '
        'longer',
        unit='s',
        minimum=0.0,
        maximum=10.0,
    )
    grace: float = parameter(
        1.0,
        'time for which commands must have come steadily before it is armed',
        unit='s',
        minimum=0.0,
        maximum=60.0,
    )
    repeat: float = parameter(
        0.5, 'time for which the safe command is repeated', unit='s', minimum=0.0, maximum=60.0
    )
    realtime_priority: int = parameter(
        PRIORITY, 'SCHED_FIFO priority; 0 for none', minimum=0, maximum=99
    )

    def limit(self, period: float) -> float:
        """Silence after which the robot is stopped [s], where ticks have a period [s]."""
        return self.timeout or default_timeout(SILENCE, period)


# Keys that the control node and the MuJoCo node take from the same file: they are no part of the
# run. The nodes declare them in ros/node/parameters.py and ros/sim/parameters.py; they stand here
# because a run without ROS must not import those.
ROS_KEYS = frozenset(
    (
        'robot_description',
        'robot_description_topic',
        'robot_description_timeout',
        'realtime_priority',
        'allow_file_plugins',
        'config_folder',
        'simulation_reset',
        'swap_blend_time',
        'pacing',
        'real_time_factor',
        'command_age',
        'command_timeout',
        'hold_time',
        'interface',
        'joint_commands_topic',
        'joint_states_topic',
        'active_controllers',
        'default_strictness',
        'clock_rate',
        'root_rate',
        'link_frames',
        'frame_prefix',
        'push',
    )
)

NODE_KEYS = ('/**', 'cnoid_control', '/cnoid_control')


class InvalidConfigFile(CnoidControlError):
    """A file that is no ROS 2 parameter file for cnoid_control."""

    def __init__(self, path: object, message: str) -> None:
        """Name the file and what is wrong with it."""
        super().__init__(f'{path}: {message}')


def parse_value(text: str) -> Any:
    """Value that a text such as `true`, `1e5` or `[1, 2]` states; the text itself for a word."""
    try:
        return load_yaml(text)
    except yaml.YAMLError:
        return text


def read_parameter_file(path: Path) -> dict[str, Any]:
    """Parameters that a file states for the node, nested.

    Raises:
        InvalidConfigFile: it cannot be read, or is no parameter file.
    """
    try:
        content = load_yaml(path.read_text(encoding='utf-8'))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidConfigFile(path, f'cannot be read: {error}') from error
    except yaml.YAMLError as error:
        raise InvalidConfigFile(path, f'is not YAML: {error}') from error
    if not isinstance(content, dict) or not any(key in content for key in NODE_KEYS):
        raise InvalidConfigFile(path, "has no '/**: ros__parameters:'")
    values: dict[str, Any] = {}
    for key in NODE_KEYS:
        node = content.get(key, {'ros__parameters': {}})
        if not isinstance(node, dict) or not isinstance(node.get('ros__parameters'), dict):
            raise InvalidConfigFile(path, f"'{key}' has no map 'ros__parameters'")
        values = merge(values, node['ros__parameters'])
    return values


def merge(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Nested values with changes put in; a change may name a nested key as 'a.b.c'."""
    merged = dict(values)
    for key, change in changes.items():
        head, _, rest = str(key).partition('.')
        if rest:
            change = {rest: change}
        if isinstance(change, Mapping):
            inner = merged.get(head)
            merged[head] = merge(inner if isinstance(inner, Mapping) else {}, change)
        else:
            merged[head] = change
    return merged


@dataclass
class RobotParameters:
    """The `robot` section: the model, and where and how it starts."""

    model: FileName = parameter(
        '', "model file, or the name of one in the package's urdf/ or in the cache"
    )
    models: dict[str, RobotParameters] = parameter(
        {}, 'several robots as one, by name, in place of `model`; names in them begin with theirs'
    )
    scene: FileName = parameter(
        '', 'MJCF file of the world that the simulated robot is put into; none where empty'
    )
    name: str = parameter('', "name of the robot; the model's where empty")
    arguments: dict[str, Any] = parameter({}, "values of a .xacro file's arguments by name")
    base: str = parameter(
        'auto',
        'whether the base is fixed to the world; as the model says, or by the rule in '
        'docs/robots.md',
        choices=('auto', 'fixed', 'floating'),
    )
    posture: JointPosture = parameter(
        [],
        "initial displacements: by joint name, a list by joint id, or the name of a model's "
        "posture; the model's own where empty",
        unit='rad or m',
    )
    rotors: bool = parameter(
        True, 'whether joints that are too light to be held at the rate get rotor inertia'
    )
    position: list[float] = parameter(
        [], 'initial position of the root; on the ground where empty', unit='m'
    )
    rpy: list[float] = parameter(
        [], "initial roll, pitch and yaw of the root; the model's where empty", unit='rad'
    )


@dataclass
class OtherController:
    """A controller besides the main one."""

    type: PluginName = parameter('', "entry point, 'package.module:Class' or 'file.py:Class'")
    parent: str = parameter('', 'controller whose sub-controller it is; none where empty')


@dataclass
class StandbyController:
    """A controller that waits for a swap, or for its predecessor's end."""

    type: PluginName = parameter(
        '', "entry point, 'package.module:Class' or 'file.py:Class'; its name where empty"
    )
    then: str = parameter('', "who takes over when it ends or fails; the run's `then` where empty")


@dataclass
class RunParameters:
    """The keys of a configuration besides the controllers' own sections and `hardware`."""

    robot: RobotParameters
    controller: PluginName = parameter(
        description="entry point, 'package.module:Class' or 'file.py:Class', or one of `standby`"
    )
    rate: float = parameter(DEFAULT_RATE, 'ticks per second', unit='Hz', minimum=0.1, maximum=1e5)
    other_controllers: dict[str, OtherController] = parameter(
        {}, 'more controllers on the same robot, and sub-controllers, by name'
    )
    standby: dict[str, StandbyController] = parameter(
        {}, 'controllers that `controller` and `then` may name, with options under their names'
    )
    then: str = parameter(
        '',
        'controller that takes over when the one that has the robot ends or fails: one of '
        '`standby`, or an entry point; none where empty',
    )
    active_control_only: bool = parameter(
        True, 'whether the run ends when every controller returns False in one tick'
    )
    require_commands: bool = parameter(
        True,
        'whether a run has failed in which no controller commands anything: none enabled an '
        'output, or none has a control()',
    )
    duration: float = parameter(
        60.0,
        'time after which `cnoid_control run` ends a simulated run; 0 for never',
        unit='s',
        minimum=0.0,
    )
    on_fault: str = parameter(
        '',
        'what follows when the safe state engages: hold the robot until a reset, or fail: end the '
        'run; where empty, fail in a simulation in this process and hold on a robot',
        choices=('', 'hold', 'fail'),
    )
    strict: bool = parameter(
        False, 'whether to warn of what is read or written without having been enabled'
    )
    devices: dict[str, str] = parameter({}, 'ROS topics of the devices by name')
    scale: float = parameter(
        1.0,
        'share of speed and gain that controllers have: positions are followed at this share of '
        'the speed limits, velocities, efforts and gains are multiplied by it; can be changed '
        'while the node runs, for first motions of a robot',
        minimum=0.0,
        maximum=1.0,
    )
    limits: LimitsParameters = field(default_factory=LimitsParameters)
    watchdog: WatchdogParameters = field(default_factory=WatchdogParameters)
    safe_state: SafeStateParameters = field(default_factory=SafeStateParameters)
    enable: EnableParameters = field(default_factory=EnableParameters)
    heartbeat: HeartbeatParameters = field(default_factory=HeartbeatParameters)
    randomize: dict[str, Any] = parameter(
        {}, 'what `cnoid_control evaluate` draws for each run, see docs/evaluate.md'
    )
    autostart: bool = parameter(True, 'whether the node configures and activates itself')
    use_sim_time: bool = parameter(False, 'whether the node takes its time from /clock')


@dataclass
class RunConfig:
    """A checked configuration.

    Attributes:
        name: name of the configuration.
        parameters: everything but the parts below.
        options: options of each controller by the controller's name, as text or as a mapping.
        hardware_type: the kind of hardware to run on.
        hardware: options of each kind of hardware that the file has a section for.
        values: the values as they were given, overrides put in.
        folder: folder that relative paths start from.
    """

    name: str
    parameters: RunParameters
    options: dict[str, str | dict[str, Any]]
    hardware_type: str
    hardware: dict[str, Any]
    values: dict[str, Any]
    folder: Path

    @property
    def controller_name(self) -> str:
        """Name of the main controller in the run."""
        return instance_name(self.parameters.controller)

    @property
    def controller_type(self) -> str:
        """Entry point, module or file of the main controller."""
        return self.type_of(self.parameters.controller)

    def type_of(self, controller: str) -> str:
        """Entry point, module or file of a controller that may be one of `standby`."""
        waiting = self.parameters.standby.get(controller)
        return waiting.type or controller if waiting is not None else controller

    @property
    def successor(self) -> str:
        """Who takes over from the main controller; empty for none."""
        main, given = self.parameters.controller, self.parameters
        waiting = given.standby.get(main)
        then = waiting.then if waiting is not None and waiting.then else given.then
        return '' if then == main else then

    @property
    def time_step(self) -> float:
        """Period of the ticks [s]."""
        return 1.0 / self.parameters.rate

    def to_text(self) -> str:
        """JSON that `config_from_text` turns into the same configuration."""
        return json.dumps({'name': self.name, 'folder': str(self.folder), 'values': self.values})

    @property
    def allows_scripts(self) -> bool:
        """Whether what a controller's options script may move the robot: no real one by itself."""
        return hardware_kind(self.hardware_type).is_simulated or bool(
            getattr(self.hardware_parameters, 'allow_scripts', False)
        )

    @property
    def hardware_parameters(self) -> Any:
        """Options of the kind of hardware to run on."""
        return self.hardware[self.hardware_type]


def load_config(
    name: str | Path,
    overrides: Mapping[str, Any] | None = None,
    ignore: Collection[str] = (),
) -> RunConfig:
    """Configuration from a file.

    Args:
        name: path or name of a parameter file, see `find_config`.
        overrides: values that replace those of the file; nested, or with keys such as 'a.b'.
        ignore: keys of the file that are for others.

    Raises:
        CnoidControlError: there is no such file.
        InvalidConfigFile: it is no parameter file.
        ParameterError: a value is unknown, missing, of the wrong type or out of range.
    """
    path = find_config(name)
    given = read_parameter_file(path)
    values = {key: value for key, value in given.items() if key not in ignore}
    values = override(values, overrides or {})
    return parse_config(values, path.stem, path.resolve().parent)


def override(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a configuration with changes put in.

    Options of a controller that is named by a file or module and that the changes replace go with
    it: nobody could tell whose they are.
    """
    old, new = values.get('controller'), changes.get('controller')
    merged = merge(values, changes)
    if isinstance(old, str) and isinstance(new, str):
        name = instance_name(old)
        others = values.get('other_controllers')
        waiting = values.get('standby')
        named = {instance_name(new), *controller_names(), *(others or ()), *(waiting or ())}
        if name not in named and name not in changes:
            merged.pop(name, None)
    return merged


def find_config(name: str | Path) -> Path:
    """Parameter file by its path or name.

    A name is looked for in the working folder (NAME.yaml, config/NAME.yaml, NAME/NAME.yaml) and
    then in the package's config/.

    Raises:
        CnoidControlError: there is no such file.
    """
    path = Path(name)
    here = (Path(f'{name}.yaml'), Path('config', f'{name}.yaml'), path / f'{path.name}.yaml')
    for candidate in (path, *here):
        if candidate.is_file():
            return candidate
    return shared_file('config', name, '.yaml')


def parse_config(
    values: Mapping[str, Any], name: str = 'config', folder: Path | None = None
) -> RunConfig:
    """Configuration from nested values, checked.

    Args:
        values: the parameters.
        name: name of the configuration.
        folder: folder that relative paths start from; the working folder where None.

    Raises:
        ParameterError: a value is unknown, missing, of the wrong type or out of range.
    """
    known = [item.name for item in fields(RunParameters)]
    parameters = parse_parameters(
        RunParameters,
        {key: value for key, value in values.items() if key in known},
        folder=folder,
    )
    robot = values['robot']
    if 'model' not in robot and not parameters.robot.models:
        # On ROS an empty one stands for the topic robot_description.
        raise ParameterError('robot.model', 'is missing')
    sections = [instance_name(parameters.controller), *parameters.other_controllers]
    # Options of controllers that are not in use yet may wait for a swap.
    sections += parameters.standby
    allowed = dict.fromkeys([*known, 'hardware', *sections, *controller_names()])
    options: dict[str, str | dict[str, Any]] = {}
    for key, value in values.items():
        if key not in allowed:
            raise unknown_option(key, allowed)
        if key in known or key == 'hardware':
            continue
        if not isinstance(value, (str, dict)):
            raise wrong_type(key, value, 'a map of options, or an option string,')
        options[key] = value
    _check_standby(parameters, known)
    hardware_type, hardware = _parse_hardware(values.get('hardware', {}), folder)
    return RunConfig(
        name, parameters, options, hardware_type, hardware, dict(values), folder or Path.cwd()
    )


def _check_standby(given: RunParameters, keys: Collection[str]) -> None:
    """Refuse names that are taken, and successors that do not exist."""
    for name in given.standby:
        if name in keys or name == 'hardware' or name in given.other_controllers or ':' in name:
            raise not_allowed('standby', name, 'it is the name of something else')
    wanted = {'then': given.then}
    wanted |= {f'standby.{name}.then': one.then for name, one in given.standby.items()}
    known = [*given.standby, *controller_names()]
    for key, name in wanted.items():
        if name and name not in known:
            raise not_allowed(key, name, choices(known))


def successor_config(config: RunConfig) -> RunConfig | None:
    """Configuration with the successor of the main controller in its place; None for none.

    Raises:
        ParameterError: a value does not fit.
    """
    if not config.successor:
        return None
    values = override(config.values, {'controller': config.successor})
    return parse_config(values, config.name, config.folder)


def config_from_text(text: str) -> RunConfig:
    """Configuration that `RunConfig.to_text` has written, as in a log.

    Raises:
        ParameterError: a value is not valid any more.
    """
    stored = json.loads(text)
    return parse_config(stored['values'], stored['name'], Path(stored['folder']))


def _parse_hardware(section: Any, folder: Path | None) -> tuple[str, dict[str, Any]]:
    if not isinstance(section, Mapping):
        raise wrong_type('hardware', section, 'a map of options')
    names = hardware_names()
    for key in section:
        if key != 'type' and key not in names:
            raise unknown_option(f'hardware.{key}', ['type', *names])
    kind = section.get('type', DEFAULT)
    if kind not in names:
        raise not_allowed('hardware.type', kind, choices(names))
    parsed: dict[str, Any] = {
        name: parse_parameters(
            hardware_kind(name).parameters, section.get(name, {}), f'hardware.{name}', folder
        )
        for name in names
        if name == kind or name in section
    }
    return kind, parsed
