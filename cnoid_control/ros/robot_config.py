"""Configurations as the control node reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.runtime.config import (
    ROS_KEYS,
    RunConfig,
    find_config,
    merge,
    parse_config,
    read_parameter_file,
)
from cnoid_control.runtime.defaults import load_run

ON_ROBOT = {'hardware.type': 'ros2_control'}


def load_robot_config(name: str | Path) -> RunConfig:
    """Configuration as the control node reads it: without a model where the topic has it.

    Raises:
        CnoidControlError: there is none of that name, or it is wrong.
    """
    try:
        path = find_config(name)
    except CnoidControlError:
        return load_run(name, ON_ROBOT)
    values: dict[str, Any] = read_parameter_file(path)
    run = {key: value for key, value in values.items() if key not in ROS_KEYS}
    run['robot'] = {'model': '', **run.get('robot', {})}
    return parse_config(merge(run, ON_ROBOT), path.stem, path.resolve().parent)
