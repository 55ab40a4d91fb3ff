"""What a run consists of, as a configuration file states it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from cnoid_control.hardware.registry import hardware_names, hardware_parameters
from cnoid_control.parameters import parameter, parse_parameters
from cnoid_control.parameters.exceptions import (
    ParameterOutOfRange,
    UnknownParameter,
    WrongParameterType,
)
from cnoid_control.plugin.registry import controller_names, instance_name
from cnoid_control.runtime.config_file import merge, read_parameter_file
from cnoid_control.runtime.deadman_parameters import DeadmanParameters
from cnoid_control.runtime.limits import LimitsParameters
from cnoid_control.runtime.safe_state import SafeStateParameters
from cnoid_control.runtime.watchdog import WatchdogParameters
from cnoid_control.share import shared_file


@dataclass
class RobotParameters:
    """The `robot` section: the model, and where and how it starts."""

    model: str = parameter(description="model file, or the name of one in the package's urdf/")
    name: str = parameter('', "name of the robot; the model's where empty")
    root: str = parameter(
        '', 'whether the base floats; as the model says where empty', choices=('', 'free', 'fixed')
    )
    posture: list[float] = parameter(
        [], "initial displacements by joint id; the model's where empty", unit='rad or m'
    )
    position: list[float] = parameter(
        [], "initial position of the root; the model's where empty", unit='m'
    )
    rpy: list[float] = parameter(
        [], "initial roll, pitch and yaw of the root; the model's where empty", unit='rad'
    )


@dataclass
class OtherController:
    """A controller besides the main one."""

    type: str = parameter('', "entry point, 'package.module:Class' or 'file.py:Class'")
    parent: str = parameter('', 'controller whose sub-controller it is; none where empty')


@dataclass
class RunParameters:
    """The keys of a configuration besides the controllers' own sections and `hardware`."""

    robot: RobotParameters
    controller: str = parameter(
        description="entry point, 'package.module:Class' or 'file.py:Class'"
    )
    rate: float = parameter(1000.0, 'ticks a second', unit='Hz', minimum=0.1, maximum=1e5)
    other_controllers: dict[str, OtherController] = parameter(
        {}, 'more controllers on the same robot, and sub-controllers, by name'
    )
    active_control_only: bool = parameter(
        True, 'whether the run ends when every controller returns False in one tick'
    )
    duration: float = parameter(
        60.0,
        'time after which `cnoid_control run` ends a simulated run; 0 for never',
        unit='s',
        minimum=0.0,
    )
    strict: bool = parameter(
        False, 'whether to warn of what is read or written without having been enabled'
    )
    devices: dict[str, str] = parameter({}, 'ROS topics of the devices by name')
    limits: LimitsParameters = field(default_factory=LimitsParameters)
    watchdog: WatchdogParameters = field(default_factory=WatchdogParameters)
    safe_state: SafeStateParameters = field(default_factory=SafeStateParameters)
    deadman: DeadmanParameters = field(default_factory=DeadmanParameters)
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
    def time_step(self) -> float:
        """Period of the ticks [s]."""
        return 1.0 / self.parameters.rate

    def to_text(self) -> str:
        """JSON that `config_from_text` turns into the same configuration."""
        return json.dumps({'name': self.name, 'folder': str(self.folder), 'values': self.values})

    @property
    def hardware_parameters(self) -> Any:
        """Options of the kind of hardware to run on."""
        return self.hardware[self.hardware_type]


def load_config(
    name: str | Path,
    overrides: Mapping[str, Any] | None = None,
    passed_over: Collection[str] = (),
) -> RunConfig:
    """Configuration from a file.

    Args:
        name: path or name of a parameter file, see `find_config`.
        overrides: values that replace those of the file; nested, or with keys such as 'a.b'.
        passed_over: keys of the file that are for others.

    Raises:
        SharedFileNotFound: there is no such file.
        InvalidConfigFile: it is no parameter file.
        ParameterError: a value is unknown, missing, of the wrong type or out of range.
    """
    path = find_config(name)
    given = read_parameter_file(path)
    values = {key: value for key, value in given.items() if key not in passed_over}
    values = merge(values, overrides or {})
    return parse_config(values, path.stem, path.resolve().parent)


def find_config(name: str | Path) -> Path:
    """Parameter file by its path or name.

    A name is looked for in the working folder (NAME.yaml, config/NAME.yaml, NAME/NAME.yaml) and
    then in the package's config/.

    Raises:
        SharedFileNotFound: there is no such file.
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
        RunParameters, {key: value for key, value in values.items() if key in known}
    )
    sections = [instance_name(parameters.controller), *parameters.other_controllers]
    # Options of controllers that are not in use yet may wait for a swap.
    allowed = dict.fromkeys([*known, 'hardware', *sections, *controller_names()])
    options: dict[str, str | dict[str, Any]] = {}
    for key, value in values.items():
        if key not in allowed:
            raise UnknownParameter(key, allowed)
        if key in known or key == 'hardware':
            continue
        if not isinstance(value, (str, dict)):
            raise WrongParameterType(key, value, 'a map of options, or an option string,')
        options[key] = value
    hardware_type, hardware = _parse_hardware(values.get('hardware', {}))
    return RunConfig(
        name, parameters, options, hardware_type, hardware, dict(values), folder or Path.cwd()
    )


def config_from_text(text: str) -> RunConfig:
    """Configuration that `RunConfig.to_text` has written, as in a log.

    Raises:
        ParameterError: a value is not valid any more.
    """
    stored = json.loads(text)
    return parse_config(stored['values'], stored['name'], Path(stored['folder']))


def _parse_hardware(section: Any) -> tuple[str, dict[str, Any]]:
    if not isinstance(section, Mapping):
        raise WrongParameterType('hardware', section, 'a map of options')
    names = hardware_names()
    for key in section:
        if key != 'type' and key not in names:
            raise UnknownParameter(f'hardware.{key}', ['type', *names])
    kind = section.get('type', names[0])
    if kind not in names:
        raise ParameterOutOfRange('hardware.type', kind, f'choose from: {", ".join(names)}')
    parsed: dict[str, Any] = {
        name: parse_parameters(
            hardware_parameters(name), section.get(name, {}), f'hardware.{name}'
        )
        for name in names
        if name == kind or name in section
    }
    return kind, parsed
