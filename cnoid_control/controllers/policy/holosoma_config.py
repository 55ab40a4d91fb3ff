"""The whole training configuration that holosoma's newer exporters put into the ONNX file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cnoid_control.controllers.policy.metadata import Metadata, by_joint, term_source
from cnoid_control.controllers.policy.terms import TermParameters
from cnoid_control.parameters import PluginName

TERMS = {
    'dof_pos': 'joint_position',
    'dof_vel': 'joint_velocity',
    'command_lin_vel': 'linear_velocity_command',
    'command_ang_vel': 'yaw_rate_command',
}
GROUP = 'actor_obs'


def read_experiment(found: Metadata, config: Mapping[str, Any]) -> None:
    """Add what a holosoma configuration says to what the rest of the metadata says.

    Args:
        found: metadata with the joints and gains.
        config: the configuration.

    Raises:
        KeyError, TypeError, ValueError: it is another one.
    """
    found.origin = 'holosoma metadata with its configuration'
    sim = config['simulator']['config']['sim']
    found.period = float(sim['control_decimation']) / float(sim['fps'])
    robot = config['robot']
    angles = robot['init_state']['default_joint_angles']
    found.default = by_joint('default_joint_angles', found.joints, _of(angles, found.joints))
    _read_action(found, config['action']['terms'], robot)
    group = config['observation']['groups'][GROUP]
    if int(group.get('history_length') or 1) > 1:
        # Its order is not in the configuration: the observations are asked for.
        return
    # They stand in the order of the alphabet.
    for name, given in sorted(group['terms'].items()):
        term = TermParameters(source=PluginName(TERMS.get(name) or term_source(name)))
        scale = given.get('scale', 1.0)
        term.scale = [float(x) for x in scale] if isinstance(scale, list) else float(scale)
        if given.get('clip') is not None:
            term.clip = [float(x) for x in given['clip']]
        if name == 'motion_command':
            found.put_reference(term, 'joint_pos', 'joint_vel')
            continue
        if name == 'motion_ref_ori_b':
            motion = config['command']['setup_terms']['motion_command']['params']['motion_config']
            term.source = PluginName('orientation:ref_quat_xyzw')
            term.link, term.quaternion = str(motion['body_name_ref'][0]), 'xyzw'
        found.observations.append(name)
        found.terms[name] = term


def _read_action(found: Metadata, terms: Mapping[str, Any], robot: Mapping[str, Any]) -> None:
    if len(terms) != 1:
        raise ValueError(f'actions of {", ".join(terms)}: only one of them can be used')
    (term,) = terms.values()
    if not str(term['func']).endswith(':JointPositionActionTerm'):
        raise ValueError(f'action {term["func"]} is not known')
    control = robot['control']
    scale = float(control['action_scale']) * float(term.get('scale', 1.0))
    found.kind = 'position'
    found.action_scale = dict.fromkeys(found.joints, scale)
    if control.get('action_scales_by_effort_limit_over_p_gain'):
        limits = dict(zip(robot['dof_names'], robot['dof_effort_limit_list'], strict=True))
        found.action_scale = {
            name: scale * float(limits[name]) / found.kp[name] for name in found.joints
        }


def _of(values: Mapping[str, Any], names: list[str]) -> list[Any]:
    return [values[name] for name in names]
