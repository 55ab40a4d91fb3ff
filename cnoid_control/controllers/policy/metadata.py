"""What exporters write beside a network: joints, gains, posture, scales, observation terms."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from cnoid_control.controllers.policy.terms import TermParameters
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import PluginName
from cnoid_control.strict_yaml import load_yaml

# Names of terms in other projects, and ours.
TERM_NAMES = {
    'base_lin_vel': 'base_linear_velocity',
    'base_ang_vel': 'base_angular_velocity',
    'projected_gravity': 'projected_gravity',
    'joint_pos': 'joint_position',
    'joint_pos_rel': 'joint_position',
    'joint_vel': 'joint_velocity',
    'joint_vel_rel': 'joint_velocity',
    'actions': 'last_action',
    'last_action': 'last_action',
    'command': 'velocity_command',
    'velocity_commands': 'velocity_command',
    'velocity_command': 'velocity_command',
    'base_height': 'height',
}


@dataclass
class Metadata:
    """What is known of a policy without its configuration; empty where nothing is said.

    Attributes:
        origin: what has said it, for messages.
        joints: joints in the order of the network.
        kp, kd: gains by joint name.
        default: default posture by joint name [rad] or [m].
        action_scale: factors by joint name.
        action_offset: offsets by joint name where they are not the default posture.
        observations: names of the terms in order.
        terms: options of the terms by name.
        lower, upper: ranges of vx, vy [m/s] and yaw rate [rad/s].
        period: time between two inferences [s]; 0 where unknown.
    """

    origin: str = ''
    joints: list[str] = field(default_factory=list)
    kp: dict[str, float] = field(default_factory=dict)
    kd: dict[str, float] = field(default_factory=dict)
    default: dict[str, float] = field(default_factory=dict)
    action_scale: dict[str, float] = field(default_factory=dict)
    action_offset: dict[str, float] = field(default_factory=dict)
    observations: list[str] = field(default_factory=list)
    terms: dict[str, TermParameters] = field(default_factory=dict)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    period: float = 0.0


def read_metadata(
    custom: Mapping[str, str], file: Path | None, robot_joints: list[str]
) -> Metadata:
    """Metadata of a network, and of a file beside it where one is named.

    Args:
        custom: the ONNX file's own metadata.
        file: Unitree's deploy.yaml; None for none.
        robot_joints: names of the robot's joints in the model's order, which deploy.yaml's
            numbers refer to.

    Raises:
        CnoidControlError: an entry cannot be read.
    """
    if file is not None:
        return _read_deploy(file, robot_joints)
    try:
        if 'dof_names' in custom:
            return _read_holosoma(custom)
        if 'joint_names' in custom:
            return _read_mjlab(custom)
    except (ValueError, TypeError, KeyError) as error:
        raise CnoidControlError(f'metadata of the policy cannot be read: {error}') from error
    return Metadata()


def _read_holosoma(custom: Mapping[str, str]) -> Metadata:
    joints = list(json.loads(custom['dof_names']))
    found = Metadata('holosoma metadata', joints)
    found.kp = _by_joint('kp', joints, json.loads(custom.get('kp', '[]')))
    found.kd = _by_joint('kd', joints, json.loads(custom.get('kd', '[]')))
    ranges = json.loads(custom.get('command_ranges', 'null')) or {}
    names = ('lin_vel_x', 'lin_vel_y', 'ang_vel_yaw')
    if all(name in ranges for name in names):
        found.lower = [float(ranges[name][0]) for name in names]
        found.upper = [float(ranges[name][1]) for name in names]
    return found


def _read_mjlab(custom: Mapping[str, str]) -> Metadata:
    joints = _texts(custom['joint_names'])
    found = Metadata('mjlab metadata', joints)
    found.kp = _by_joint('joint_stiffness', joints, _numbers(custom.get('joint_stiffness', '')))
    found.kd = _by_joint('joint_damping', joints, _numbers(custom.get('joint_damping', '')))
    found.default = _by_joint(
        'default_joint_pos', joints, _numbers(custom.get('default_joint_pos', ''))
    )
    scale = _numbers(custom.get('action_scale', ''))
    scale = scale * len(joints) if len(scale) == 1 else scale
    found.action_scale = _by_joint('action_scale', joints, scale)
    names = _texts(custom.get('observation_names', ''))
    rows = {
        key: custom[f'observation_terms_{key}'].split(',')
        for key in ('scale', 'clip', 'history_length')
        if custom.get(f'observation_terms_{key}')
    }
    for i, name in enumerate(names):
        term = TermParameters(source=_source(name))
        for key, entries in rows.items():
            if len(entries) != len(names):
                raise ValueError(
                    f'observation_terms_{key} has {len(entries)} entries, not {len(names)}'
                )
            values = _numbers(entries[i], ';')
            if key == 'scale' and values:
                term.scale = values[0] if len(values) == 1 else values
            elif key == 'clip' and len(values) == 2:
                term.clip = values
            elif key == 'history_length' and values:
                term.history = max(1, int(values[0]))
        found.observations.append(name)
        found.terms[name] = term
    return found


def _read_deploy(file: Path, robot_joints: list[str]) -> Metadata:
    try:
        content = load_yaml(file.read_text(encoding='utf-8'))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise CnoidControlError(f'{file} cannot be read: {error}') from error
    if not isinstance(content, dict) or 'joint_ids_map' not in content:
        raise CnoidControlError(f"{file} is no deploy.yaml: it has no 'joint_ids_map'")
    try:
        return _parse_deploy(content, robot_joints)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise CnoidControlError(f'{file}: {type(error).__name__}: {error}') from error


def _parse_deploy(content: Mapping[str, Any], robot_joints: list[str]) -> Metadata:
    ids = [int(number) for number in content['joint_ids_map']]
    if sorted(ids) != list(range(len(ids))) or len(ids) > len(robot_joints):
        raise ValueError(f'joint_ids_map numbers {len(ids)} joints of {len(robot_joints)}')
    # Entry i of the network is joint ids[i] of the robot's own order; the lists of gains and
    # postures are in the robot's own order, those of actions and observations in the network's.
    joints = [robot_joints[number] for number in ids]
    own = robot_joints[: len(ids)]
    found = Metadata('deploy.yaml', joints, period=float(content.get('step_dt', 0.0)))
    found.kp = _by_joint('stiffness', own, content.get('stiffness', []))
    found.kd = _by_joint('damping', own, content.get('damping', []))
    found.default = _by_joint('default_joint_pos', own, content.get('default_joint_pos', []))
    actions = content.get('actions', {}).get('JointPositionAction', {})
    found.action_scale = _by_joint('actions.scale', joints, actions.get('scale') or [])
    found.action_offset = _by_joint('actions.offset', joints, actions.get('offset') or [])
    ranges = content.get('commands', {}).get('base_velocity', {}).get('ranges', {})
    names = ('lin_vel_x', 'lin_vel_y', 'ang_vel_z')
    if all(ranges.get(name) for name in names):
        found.lower = [float(ranges[name][0]) for name in names]
        found.upper = [float(ranges[name][1]) for name in names]
    for name, given in content.get('observations', {}).items():
        term = TermParameters(source=_source(name))
        given = given or {}
        if given.get('scale') is not None:
            scale = given['scale']
            term.scale = [float(x) for x in scale] if isinstance(scale, list) else float(scale)
        if given.get('clip') is not None:
            term.clip = [float(x) for x in given['clip']]
        term.history = max(1, int(given.get('history_length') or 1))
        found.observations.append(name)
        found.terms[name] = term
    return found


def _source(name: str) -> PluginName:
    """Kind of a term that metadata names; data must not have code loaded, as options may."""
    source = TERM_NAMES.get(name, name)
    if ':' in source:
        raise ValueError(f'observation {name!r} would be code, which only the options may name')
    return PluginName(source)


def _by_joint(key: str, joints: list[str], values: list[Any]) -> dict[str, float]:
    if not values:
        return {}
    if len(values) != len(joints):
        raise ValueError(f'{key} has {len(values)} values for {len(joints)} joints')
    numbers = [float(value) for value in values]
    if not all(math.isfinite(number) for number in numbers):
        raise ValueError(f'{key} is not finite')
    return dict(zip(joints, numbers, strict=True))


def _texts(text: str) -> list[str]:
    return [part.strip() for part in text.split(',') if part.strip()]


def _numbers(text: str, separator: str = ',') -> list[float]:
    """Numbers of a text; none where an entry says that there is none."""
    parts = [part.strip() for part in text.split(separator)]
    return [float(part) for part in parts if part and part.lower() not in ('none', 'null')]
