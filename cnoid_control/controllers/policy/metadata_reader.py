"""Metadata in ONNX files, as mjlab, whole_body_tracking, holosoma and this package write it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from cnoid_control.controllers.policy.holosoma_config import read_experiment
from cnoid_control.controllers.policy.metadata import (
    Metadata,
    by_joint,
    read_ranges,
    term_source,
)
from cnoid_control.controllers.policy.terms import TermParameters
from cnoid_control.controllers.policy.training_files import read_training_file
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.parameters import PluginName

# Name of the command that a tracking policy of mjlab or whole_body_tracking follows.
MOTION = 'motion'


def read_metadata(
    custom: Mapping[str, str],
    file: Path | None,
    robot_joints: list[str],
    joints: list[str] | None = None,
) -> Metadata:
    """What a network's own metadata says, and the file beside it, which has the last word.

    Args:
        custom: the ONNX file's own metadata.
        file: Unitree's deploy.yaml or Isaac Lab's env.yaml; None for none.
        robot_joints: names of the robot's joints.
        joints: joints in the order of the network, where somebody has named them.

    Raises:
        CnoidControlError: an entry cannot be read.
    """
    own = Metadata()
    try:
        if 'dof_names' in custom:
            own = _read_holosoma(custom)
        elif 'joint_names' in custom:
            own = _read_mjlab(custom)
    except (ValueError, TypeError, KeyError) as error:
        raise CnoidControlError(f'metadata of the policy cannot be read: {error}') from error
    if file is None:
        return own
    return read_training_file(file, robot_joints, joints or own.joints).completed_by(own)


def _read_holosoma(custom: Mapping[str, str]) -> Metadata:
    joints = list(json.loads(custom['dof_names']))
    found = Metadata('holosoma metadata', joints)
    found.kp = by_joint('kp', joints, json.loads(custom.get('kp', '[]')))
    found.kd = by_joint('kd', joints, json.loads(custom.get('kd', '[]')))
    _read_command_ranges(custom, found)
    config = json.loads(custom.get('experiment_config', 'null'))
    if config:
        read_experiment(found, config)
    return found


def _read_command_ranges(custom: Mapping[str, str], found: Metadata) -> None:
    ranges = json.loads(custom.get('command_ranges', 'null')) or {}
    read_ranges(found, ranges, ('lin_vel_x', 'lin_vel_y', 'ang_vel_yaw'))


def _read_mjlab(custom: Mapping[str, str]) -> Metadata:
    joints = _texts(custom['joint_names'])
    found = Metadata('mjlab metadata', joints)
    found.kp = by_joint('joint_stiffness', joints, _numbers(custom.get('joint_stiffness', '')))
    found.kd = by_joint('joint_damping', joints, _numbers(custom.get('joint_damping', '')))
    found.default = by_joint(
        'default_joint_pos', joints, _numbers(custom.get('default_joint_pos', ''))
    )
    scale = _numbers(custom.get('action_scale', ''))
    scale = scale * len(joints) if len(scale) == 1 else scale
    found.action_scale = by_joint('action_scale', joints, scale)
    names = _texts(custom.get('observation_names', ''))
    # The last key is that of whole_body_tracking.
    rows = {
        key: custom[key].split(',')
        for key in (
            'observation_terms_scale',
            'observation_terms_clip',
            'observation_terms_history_length',
            'observation_history_lengths',
        )
        if custom.get(key)
    }
    for i, name in enumerate(names):
        term = TermParameters(source=term_source(name))
        for key, entries in rows.items():
            if len(entries) != len(names):
                raise ValueError(f'{key} has {len(entries)} entries, not {len(names)}')
            values = _numbers(entries[i], ';')
            if key.endswith('scale') and values:
                term.scale = values[0] if len(values) == 1 else values
            elif key.endswith('clip') and len(values) == 2:
                term.clip = values
            elif 'history' in key and values:
                term.history = max(1, int(values[0]))
        if name == 'command' and MOTION in _texts(custom.get('command_names', '')):
            found.put_reference(term, 'joint_pos', 'joint_vel')
            continue
        if name == 'motion_anchor_ori_b' and custom.get('anchor_body_name'):
            _anchor(term, custom['anchor_body_name'], _texts(custom.get('body_names', '')))
        found.observations.append(name)
        found.terms[name] = term
    # What mjlab's exporter leaves out, and policies of this package say.
    _read_command_ranges(custom, found)
    found.period = float(custom.get('step_dt', 0.0))
    gait = json.loads(custom.get('gait', '{}'))
    if gait:
        found.gait = {
            'steps': float(gait['steps']),
            'offsets': [float(phase) for phase in gait['offsets']],
            'standing': [float(phase) for phase in gait['standing']],
        }
    return found


def _anchor(term: TermParameters, anchor: str, bodies: list[str]) -> None:
    """Have a term be the orientation of the reference's anchor, seen from the robot's."""
    if anchor not in bodies:
        raise ValueError(f'anchor_body_name {anchor!r} is not in body_names; {choices(bodies)}')
    term.source = PluginName('orientation:body_quat_w')
    term.link, term.quaternion, term.row = anchor, 'wxyz', bodies.index(anchor)


def _texts(text: str) -> list[str]:
    return [part.strip() for part in text.split(',') if part.strip()]


def _numbers(text: str, separator: str = ',') -> list[float]:
    """Numbers of a text; none where an entry says that there is none."""
    parts = [part.strip() for part in text.split(separator)]
    return [float(part) for part in parts if part and part.lower() not in ('none', 'null')]
