"""Files that describe several robots in one simulated world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import (
    FileName,
    ParameterError,
    PluginName,
    parameter,
    parse_parameters,
    unknown_option,
)
from cnoid_control.runtime.config import ROS_KEYS, find_config, merge, read_parameter_file

KEY = 'robots'
# What a world says besides its robots.
WORLD_KEYS = ('rate', 'duration', 'hardware')


@dataclass
class PlacedRobot:
    """One of several robots."""

    config: FileName = parameter(description='configuration of the robot: a file or a name')
    controller: PluginName = parameter('', "controller in the place of the configuration's")
    options: dict[str, Any] = parameter({}, 'options of the controller')
    position: list[float] = parameter(
        [],
        "initial position of the root: x, y and z, or x and y with the configuration's height",
        unit='m',
    )
    rpy: list[float] = parameter(
        [],
        "initial roll, pitch and yaw of the root; the configuration's where empty",
        unit='rad',
    )


def is_world(source: str | Path) -> bool:
    """Whether a source is a parameter file with several robots; False for what is no file."""
    try:
        path = find_config(source)
        return path.suffix in ('.yaml', '.yml') and KEY in read_parameter_file(path)
    except CnoidControlError:
        # Whatever it is, it is said where it is used.
        return False


def load_world(
    source: str | Path, changes: Mapping[str, Any]
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Robots of a world by name, and the values of the world that they share.

    Args:
        source: path or name of the file.
        changes: values that replace those of the file; nested, or with keys such as 'a.b'.

    Raises:
        ParameterError: a value is unknown, missing, of the wrong type or out of range.
    """
    path = find_config(source)
    values = merge(read_parameter_file(path), changes)
    values = {key: value for key, value in values.items() if key not in ROS_KEYS}
    for key in values:
        if key not in (KEY, *WORLD_KEYS):
            raise unknown_option(key, [KEY, *WORLD_KEYS])
    if not isinstance(values[KEY], Mapping) or not values[KEY]:
        raise ParameterError(KEY, 'a map of robots by name expected')
    folder = path.resolve().parent
    robots = {}
    for name, given in values.pop(KEY).items():
        placed = asdict(parse_parameters(PlacedRobot, given, f'{KEY}.{name}', folder))
        robots[str(name)] = {key: value for key, value in placed.items() if value}
    return robots, values
