"""Parameter files of controller_manager: made from a robot, and read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from cnoid_control.body import Body
from cnoid_control.body.gains import joint_gains
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.ros.sim.controllers import SimulatedController
from cnoid_control.runtime.config import InvalidConfigFile
from cnoid_control.strict_yaml import load_yaml, ros_yaml

MANAGER = 'controller_manager'
WRENCH_PLUGIN = 'mujoco_ros2_control_plugins/ExternalWrenchPlugin'


class LoadedControllers(NamedTuple):
    """Controllers of a parameter file, by what they do."""

    broadcasters: list[str]
    commanders: list[str]
    joint_states: list[str]


def controllers_text(
    controllers: Iterable[SimulatedController],
    rate: float,
    frames: Mapping[str, str] | None = None,
) -> str:
    """Text of a parameter file that has a controller_manager load these controllers.

    Args:
        controllers: the controllers.
        rate: rate of the manager [Hz].
        frames: names of frames to use in place of others.
    """
    manager: dict[str, Any] = {'update_rate': round(rate)}
    content: dict[str, Any] = {f'/**/{MANAGER}': {'ros__parameters': manager}}
    for controller in controllers:
        manager[controller.name] = {'type': controller.type}
        parameters = dict(controller.parameters)
        if 'frame_id' in parameters:
            frame = parameters['frame_id']
            parameters['frame_id'] = (frames or {}).get(frame, frame)
        if parameters:
            content[f'/**/{controller.name}'] = {'ros__parameters': parameters}
    return ros_yaml(content)


def rate_text(rate: float) -> str:
    """Text of a parameter file that sets only the rate of a controller_manager [Hz]."""
    content = {f'/**/{MANAGER}': {'ros__parameters': {'update_rate': round(rate)}}}
    return ros_yaml(content)


def mujoco_text(body: Body, period: float) -> str:
    """Text of mujoco_ros2_control's parameter file: gains to make efforts with, and pushes.

    Without gains its motors take efforts alone, and a robot falls before anybody commands it.

    Args:
        body: the robot in its start posture, with forward kinematics done.
        period: control period [s].
    """
    gains = joint_gains(body, period)
    position: dict[str, Any] = {}
    velocity: dict[str, Any] = {}
    for i, joint in enumerate(body.joints):
        if not joint.name or not joint.joint_type.has_displacement:
            continue
        limits: dict[str, Any] = {'i': 0.0, 'antiwindup_strategy': 'none'}
        if np.isfinite([body.u_lower[i], body.u_upper[i]]).all():
            limits['u_clamp_min'] = float(body.u_lower[i])
            limits['u_clamp_max'] = float(body.u_upper[i])
        kp, kd = float(gains.kp[i]), float(gains.kd[i])
        position[joint.joint_name] = {'p': kp, 'd': kd, **limits}
        velocity[joint.joint_name] = {'p': kd, 'd': 0.0, **limits}
    parameters = {
        'pid_gains': {'position': position, 'velocity': velocity},
        'mujoco_plugins': {'external_wrench': {'type': WRENCH_PLUGIN}},
    }
    return ros_yaml({'/**': {'ros__parameters': parameters}})


def read_controllers(file: Path) -> LoadedControllers:
    """Controllers that a controller_manager with this parameter file knows.

    Raises:
        CnoidControlError: it cannot be read, or is no such file.
    """
    try:
        content = load_yaml(file.read_text(encoding='utf-8'))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise CnoidControlError(f'{file}: cannot be read: {error}') from error
    sections = content.items() if isinstance(content, dict) else ()
    loaded = LoadedControllers([], [], [])
    found = False
    for key, section in sections:
        if str(key).rpartition('/')[2] != MANAGER or not isinstance(section, dict):
            continue
        found = True
        for name, options in (section.get('ros__parameters') or {}).items():
            kind = options.get('type') if isinstance(options, dict) else None
            if not isinstance(kind, str):
                continue
            if 'Broadcaster' not in kind:
                loaded.commanders.append(name)
                continue
            loaded.broadcasters.append(name)
            if kind.endswith('/JointStateBroadcaster'):
                loaded.joint_states.append(name)
    if not found:
        raise InvalidConfigFile(file, f"has no '{MANAGER}: ros__parameters:'")
    return loaded
