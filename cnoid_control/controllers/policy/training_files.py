"""Files that trainers write beside a policy: Unitree's deploy.yaml, Isaac Lab's env.yaml."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from cnoid_control.controllers.policy.metadata import (
    ACTION_KINDS,
    TERM_NAMES,
    Metadata,
    by_joint,
    read_ranges,
    term_source,
)
from cnoid_control.controllers.policy.terms import JOINT_TERMS, TermParameters
from cnoid_control.controllers.policy.unitree_motors import motor_order
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.parameters import PluginName
from cnoid_control.strict_yaml import PythonObject, load_python_dump

RANGES = ('lin_vel_x', 'lin_vel_y', 'ang_vel_z')

# Functions of Isaac Lab that observe something, and our terms.
FUNCTIONS = {
    'base_lin_vel': 'base_linear_velocity',
    'base_ang_vel': 'base_angular_velocity',
    'projected_gravity': 'projected_gravity',
    'root_quat_w': 'quaternion_wxyz',
    'base_pos_z': 'height',
    'joint_pos': 'absolute_joint_position',
    'joint_pos_rel': 'joint_position',
    'joint_vel': 'joint_velocity',
    'joint_vel_rel': 'joint_velocity',
    'last_action': 'last_action',
    'velocity_commands': 'velocity_command',
    'gait_phase': 'gait_phase',
}
OBSERVATION_GROUPS = ('policy', 'actor')


def read_training_file(file: Path, robot_joints: list[str], joints: list[str]) -> Metadata:
    """What a deploy.yaml or an env.yaml says.

    Args:
        file: the file; its content tells which of the two it is.
        robot_joints: names of the robot's joints.
        joints: joints in the order of the network; empty where nobody has named them.

    Returns:
        What it says; without names of joints where only numbers are known.

    Raises:
        CnoidControlError: it cannot be read, or is neither.
    """
    try:
        content = load_python_dump(file.read_text(encoding='utf-8'))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise CnoidControlError(f'{file} cannot be read: {error}') from error
    known = content if isinstance(content, dict) else {}
    try:
        if 'joint_ids_map' in known:
            return _read_deploy(known, robot_joints, joints)
        if 'decimation' in known and 'observations' in known:
            return _read_env(known, robot_joints, joints)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise CnoidControlError(f'{file}: {type(error).__name__}: {error}') from error
    raise CnoidControlError(
        f"{file} is neither a deploy.yaml, which has 'joint_ids_map', nor an env.yaml, which has "
        "'decimation' and 'observations'"
    )


# --- deploy.yaml of Unitree --------------------------------------------------------------------


def _read_deploy(
    content: Mapping[str, Any], robot_joints: list[str], joints: list[str]
) -> Metadata:
    """Entry i of the network is motor ids[i]; gains are by motor, all else is by the network."""
    ids = [int(number) for number in content['joint_ids_map']]
    if len(set(ids)) < len(ids) or min(ids, default=0) < 0:
        raise ValueError(f'joint_ids_map {ids} has a number twice, or below 0')
    found = Metadata('deploy.yaml', size=len(ids), period=float(content.get('step_dt') or 0.0))
    ranges = (content.get('commands') or {}).get('base_velocity') or {}
    read_ranges(found, ranges.get('ranges') or {}, RANGES)
    order = joints if len(joints) == len(ids) else motor_order(ids, robot_joints)
    actions = content.get('actions') or {}
    if len(actions) > 1:
        raise ValueError(f'actions of {", ".join(actions)}: only one of them can be used')
    for name, action in actions.items():
        found.kind = _action_kind(name)
        picked = action.get('joint_ids')
        if isinstance(picked, list):
            found.size = len(picked)
        _deploy_action(found, order, action)
    if order:
        found.joints = found.joints or order
        for key, gains in (('stiffness', found.kp), ('damping', found.kd)):
            gains |= _by_motor(key, order, ids, content.get(key) or [])
        found.default = by_joint(
            'default_joint_pos', order, content.get('default_joint_pos') or []
        )
    for name, given in (content.get('observations') or {}).items():
        source = FUNCTIONS.get(name) or term_source(name)
        term = _term(source, given or {})
        chosen = ((given or {}).get('params') or {}).get('asset_cfg') or {}
        picked = chosen.get('joint_ids')
        if source in JOINT_TERMS and order:
            if isinstance(picked, list):
                term.joints = [order[int(i)] for i in picked]
            elif found.joints != order:
                term.joints = order
        found.observations.append(name)
        found.terms[name] = term
    return found


def _deploy_action(found: Metadata, order: list[str], action: Mapping[str, Any]) -> None:
    if not order:
        return
    picked = action.get('joint_ids')
    found.joints = [order[int(i)] for i in picked] if isinstance(picked, list) else order
    found.action_scale = by_joint('actions.scale', found.joints, action.get('scale') or [])
    found.action_offset = by_joint('actions.offset', found.joints, action.get('offset') or [])
    clip = action.get('clip') or []
    found.lowest = by_joint('actions.clip', found.joints, [pair[0] for pair in clip])
    found.highest = by_joint('actions.clip', found.joints, [pair[1] for pair in clip])


def _by_motor(key: str, order: list[str], ids: list[int], values: list[Any]) -> dict[str, float]:
    if values and len(values) <= max(ids):
        raise ValueError(f'{key} has {len(values)} values, and joint_ids_map names {max(ids)}')
    return by_joint(key, order, [values[i] for i in ids] if values else [])


# --- env.yaml of Isaac Lab ---------------------------------------------------------------------


def _read_env(content: Mapping[str, Any], robot_joints: list[str], joints: list[str]) -> Metadata:
    """Values are by regular expressions on joint names; the order of the joints is not in it."""
    found = Metadata('env.yaml')
    sim = content.get('sim') or {}
    step = sim.get('dt') or (sim.get('mujoco') or {}).get('timestep') or 0.0
    found.period = float(step) * int(content['decimation'])
    robot = (content.get('scene') or {}).get('robot') or {}
    for actuator in (robot.get('actuators') or {}).values():
        driven = _matching('joint_names_expr', actuator['joint_names_expr'], robot_joints)
        for key, gains in (('stiffness', found.kp), ('damping', found.kd)):
            gains |= _by_expression(key, actuator.get(key), driven)
    posture = (robot.get('init_state') or {}).get('joint_pos')
    if posture:
        found.default = dict.fromkeys(found.kp or robot_joints, 0.0)
        found.default |= _by_expression('init_state.joint_pos', posture, robot_joints)
    _read_env_action(found, content.get('actions') or {}, robot_joints, joints)
    commands = content.get('commands') or {}
    for command in commands.values():
        if isinstance(command, Mapping):
            read_ranges(found, command.get('ranges') or {}, RANGES)
    groups = content['observations']
    group = next((groups[name] for name in OBSERVATION_GROUPS if name in groups), None)
    if group is None:
        raise ValueError(
            f'observations has none of {", ".join(OBSERVATION_GROUPS)}, but {", ".join(groups)}'
        )
    terms = group.get('terms') or group
    for name, given in terms.items():
        if not isinstance(given, Mapping) or 'func' not in given:
            continue
        source = _env_source(name, given, commands)
        term = _term(source, given, group.get('history_length'))
        asset = (given.get('params') or {}).get('asset_cfg') or {}
        if source in JOINT_TERMS and isinstance(asset.get('joint_names'), (str, list)):
            among = found.joints or robot_joints
            wanted = _matching('asset_cfg.joint_names', asset['joint_names'], robot_joints)
            if set(wanted) != set(among):
                ordered = wanted if asset.get('preserve_order') else among
                term.joints = [joint for joint in ordered if joint in wanted]
        found.observations.append(name)
        found.terms[name] = term
    return found


def _read_env_action(
    found: Metadata, actions: Mapping[str, Any], robot_joints: list[str], joints: list[str]
) -> None:
    terms = {name: term for name, term in actions.items() if isinstance(term, Mapping)}
    if len(terms) > 1:
        raise ValueError(f'actions of {", ".join(terms)}: only one of them can be used')
    for term in terms.values():
        if term.get('class_type') is not None:
            found.kind = _action_kind(_last_name(term['class_type']))
        names = term.get('joint_names') or term.get('target_names_expr') or ['.*']
        driven = _matching('actions.joint_names', names, robot_joints)
        found.size = len(driven)
        if joints and set(joints) != set(driven):
            raise ValueError(
                f'the action moves {", ".join(driven)}, and the joints are given as '
                f'{", ".join(joints)}'
            )
        if joints or term.get('preserve_order'):
            found.joints = joints or driven
        found.action_scale = dict.fromkeys(driven, 1.0)
        found.action_scale |= _by_expression('actions.scale', term.get('scale'), driven)
        if not term.get('use_default_offset', True):
            found.action_offset = dict.fromkeys(driven, 0.0)
            found.action_offset |= _by_expression('actions.offset', term.get('offset'), driven)
        for place, bounds in enumerate((found.lowest, found.highest)):
            for expression, pair in (term.get('clip') or {}).items():
                bounds |= _by_expression('actions.clip', {expression: pair[place]}, driven)


def _env_source(name: str, given: Mapping[str, Any], commands: Mapping[str, Any]) -> str:
    """Our term for one of Isaac Lab; the function's name where there is none."""
    function = _last_name(given['func'])
    if function == 'generated_commands':
        wanted = str((given.get('params') or {}).get('command_name'))
        command = commands.get(wanted) or {}
        is_velocity = all(key in (command.get('ranges') or {}) for key in RANGES)
        return 'velocity_command' if is_velocity else f'command {wanted}'
    return FUNCTIONS.get(function) or TERM_NAMES.get(name) or function


def _last_name(address: Any) -> str:
    """Name of a class or function at the end of its address."""
    text = address.tag if isinstance(address, PythonObject) else str(address)
    return re.split(r'[:./]', text)[-1].removesuffix('Cfg')


def _matching(key: str, expressions: str | Iterable[str], names: list[str]) -> list[str]:
    """Names that regular expressions describe, in the order of the expressions.

    Raises:
        ValueError: an expression describes none of them.
    """
    listed = [expressions] if isinstance(expressions, str) else list(expressions)
    matched: list[str] = []
    for expression in listed:
        own = [name for name in names if re.fullmatch(expression, name)]
        if not own:
            raise ValueError(f'{key} {expression!r} is no joint of the robot; {choices(names)}')
        matched += [name for name in own if name not in matched]
    return matched


def _by_expression(key: str, value: Any, names: list[str]) -> dict[str, float]:
    """Values by joint name of a number, or of a map by regular expressions; none of None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        return by_joint(key, names, [value] * len(names))
    found: dict[str, float] = {}
    for expression, number in value.items():
        own = _matching(key, expression, names)
        found |= by_joint(key, own, [number] * len(own))
    return found


# --- both --------------------------------------------------------------------------------------


def _action_kind(name: str) -> str:
    if name not in ACTION_KINDS:
        raise ValueError(f'action {name!r} is not known; {choices(ACTION_KINDS)}')
    return ACTION_KINDS[name]


def _term(source: str, given: Mapping[str, Any], group_history: Any = None) -> TermParameters:
    if ':' in source:
        raise ValueError(f'observation {source!r} would be code, which only the options may name')
    term = TermParameters(source=PluginName(source))
    scale = given.get('scale')
    if scale is not None:
        term.scale = [float(x) for x in scale] if isinstance(scale, list) else float(scale)
    if given.get('clip') is not None:
        term.clip = [float(x) for x in given['clip']]
    history = given.get('history_length') if group_history is None else group_history
    term.history = max(1, int(history or 1))
    if source == 'gait_phase':
        term.period = float((given.get('params') or {})['period'])
    return term
