"""What must be known of the node's parameters before there is a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.ros.scheduling import DEFAULT_PRIORITY
from cnoid_control.runtime.config_file import merge, parse_value, read_parameter_file


def given_parameters(words: Sequence[str]) -> dict[str, Any]:
    """Parameters that the arguments of a ROS program give, nested; what is no file is passed."""
    values: dict[str, Any] = {}
    for word, following in zip(words, [*words[1:], ''], strict=True):
        if word == '--params-file':
            try:
                values = merge(values, read_parameter_file(Path(following)))
            except CnoidControlError:
                continue
        elif word in ('-p', '--param') and ':=' in following:
            name, _, value = following.partition(':=')
            values = merge(values, {name: parse_value(value)})
    return values


def wanted_priority(words: Sequence[str]) -> int:
    """Real-time priority that the arguments ask for; 0 in lock-step, where nothing is late."""
    values = given_parameters(words)
    hardware = values.get('hardware', {})
    section = hardware.get('ros2_control', {}) if isinstance(hardware, dict) else {}
    if isinstance(section, dict) and section.get('lock_step') is True:
        return 0
    return given_priority(values)


def given_priority(values: Mapping[str, Any], default: int = DEFAULT_PRIORITY) -> int:
    """Real-time priority among parameters; 0 for what is none, which the node refuses later."""
    priority = values.get('realtime_priority', default)
    return priority if isinstance(priority, int) and 0 <= priority <= 99 else 0
