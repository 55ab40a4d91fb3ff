"""Files that trainers write beside a policy: each number goes to the joint that it is for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cnoid_control.controllers.policy.metadata import Metadata
from cnoid_control.controllers.policy.metadata_reader import read_metadata
from cnoid_control.controllers.policy.training_files import read_training_file
from cnoid_control.controllers.policy.unitree_motors import MOTORS
from cnoid_control.exceptions import CnoidControlError

FEET = ('FL', 'FR', 'RL', 'RR')
# Leg by leg as in a model, part by part as a trainer numbers them, and motor by motor.
MODEL = [f'{foot}_{part}_joint' for foot in FEET for part in ('hip', 'thigh', 'calf')]
TRAINED = [f'{foot}_{part}_joint' for part in ('hip', 'thigh', 'calf') for foot in FEET]
MOTOR = MOTORS['Go2, B2, A1, Go1']


def read(folder: Path, text: str, joints: list[str] | None = None, robot=None) -> Metadata:
    """Metadata of a file with this text."""
    file = folder / 'beside.yaml'
    file.write_text(text)
    return read_training_file(file, MODEL if robot is None else robot, joints or [])


# --- Unitree's deploy.yaml ----------------------------------------------------------------------

# As its exporter writes it: gains by motor, all else in the order of the network, and a slice of
# Python where the action has all joints.
DEPLOY = f"""
joint_ids_map: {[MOTOR.index(name) for name in TRAINED]}
step_dt: 0.02
stiffness: {[float(10 * i) for i in range(12)]}
damping: {[float(i) for i in range(12)]}
default_joint_pos: {[0.01 * i for i in range(12)]}
commands:
  base_velocity:
    ranges:
      lin_vel_x: [-0.5, 1.0]
      lin_vel_y: [-0.3, 0.3]
      ang_vel_z: [-0.2, 0.2]
      heading: null
actions:
  JointPositionAction:
    clip: null
    joint_names: [.*]
    scale: {[0.1 * i for i in range(12)]}
    offset: {[0.01 * i for i in range(12)]}
    joint_ids: !!python/object/apply:builtins.slice [null, null, null]
observations:
  base_ang_vel:
    params: {{}}
    clip: null
    scale: [0.2, 0.2, 0.2]
    history_length: 5
  velocity_commands:
    params: {{command_name: base_velocity}}
    clip: [-1.0, 1.0]
    scale: [1.0, 1.0, 1.0]
    history_length: 1
  joint_pos_rel:
    params: {{}}
    clip: null
    scale: {[1.0] * 12}
    history_length: 1
  gait_phase:
    params: {{period: 0.8}}
    clip: null
    scale: [1.0, 1.0]
    history_length: 1
"""


def test_deploy_file_of_a_robot_of_unitree(tmp_path: Path) -> None:
    """Motors have known names: gains are by motor, posture and actions by the network."""
    found = read(tmp_path, DEPLOY)
    assert found.joints == TRAINED
    for i, name in enumerate(TRAINED):
        assert found.kp[name] == 10.0 * MOTOR.index(name)
        assert found.kd[name] == float(MOTOR.index(name))
        assert found.default[name] == pytest.approx(0.01 * i)
        assert found.action_scale[name] == pytest.approx(0.1 * i)
        assert found.action_offset[name] == pytest.approx(0.01 * i)
    assert found.kind == 'position'
    assert found.period == 0.02
    assert found.lower == [-0.5, -0.3, -0.2]
    assert found.upper == [1.0, 0.3, 0.2]
    assert found.observations == [
        'base_ang_vel',
        'velocity_commands',
        'joint_pos_rel',
        'gait_phase',
    ]
    terms = found.terms
    assert terms['base_ang_vel'].source == 'base_angular_velocity'
    assert terms['base_ang_vel'].scale == [0.2, 0.2, 0.2]
    assert terms['base_ang_vel'].history == 5
    assert terms['velocity_commands'].source == 'velocity_command'
    assert terms['velocity_commands'].clip == [-1.0, 1.0]
    assert terms['joint_pos_rel'].source == 'joint_position'
    assert terms['gait_phase'].source == 'gait_phase'
    assert terms['gait_phase'].period == 0.8


def test_deploy_file_of_another_robot(tmp_path: Path) -> None:
    """Numbers of joints mean nothing until somebody names the joints in the network's order."""
    robot = [f'own_{name}' for name in MODEL]
    found = read(tmp_path, DEPLOY, robot=robot)
    assert found.joints == []
    assert found.size == 12
    assert not found.kp
    assert not found.action_scale
    assert found.period == 0.02
    assert len(found.observations) == 4
    order = [f'own_{name}' for name in TRAINED]
    named = read(tmp_path, DEPLOY, order, robot)
    assert named.joints == order
    assert named.kp['own_FR_thigh_joint'] == 10.0 * MOTOR.index('FR_thigh_joint')
    assert named.default['own_FR_thigh_joint'] == pytest.approx(
        0.01 * TRAINED.index('FR_thigh_joint')
    )


def test_deploy_file_with_actions_of_some_joints(tmp_path: Path) -> None:
    """The joints of the action are a choice; observations have all joints, or a choice too."""
    some = [0, 3, 5]
    text = DEPLOY.replace('!!python/object/apply:builtins.slice [null, null, null]', str(some))
    text = text.replace(f'scale: {[0.1 * i for i in range(12)]}', 'scale: [0.1, 0.2, 0.3]')
    text = text.replace(f'offset: {[0.01 * i for i in range(12)]}', 'offset: [1.0, 2.0, 3.0]')
    text = text.replace('clip: null\n    joint_names', 'clip: [[-1, 1], [-2, 2], [-3, 3]]\n    x')
    chosen = [TRAINED[i] for i in some]
    found = read(tmp_path, text)
    assert found.joints == chosen
    assert found.size == 3
    assert list(found.action_scale.items()) == list(zip(chosen, (0.1, 0.2, 0.3), strict=True))
    assert list(found.highest.values()) == [1.0, 2.0, 3.0]
    assert list(found.lowest.values()) == [-1.0, -2.0, -3.0]
    assert found.terms['joint_pos_rel'].joints == TRAINED
    picked = text.replace(
        'joint_pos_rel:\n    params: {}',
        'joint_pos_rel:\n    params: {asset_cfg: {joint_ids: [5, 0]}}',
    )
    assert read(tmp_path, picked).terms['joint_pos_rel'].joints == [TRAINED[5], TRAINED[0]]


def test_motors_with_a_gap_in_their_numbers(tmp_path: Path) -> None:
    """One number of H1 has no motor: lists by motor are longer than the network's."""
    motors = MOTORS['H1']
    named = [name for name in motors if name]
    ids = [motors.index(name) for name in reversed(named)]
    text = f'joint_ids_map: {ids}\nstiffness: {[float(i) for i in range(20)]}\n'
    found = read(tmp_path, text, robot=sorted(named))
    assert found.joints == list(reversed(named))
    assert all(found.kp[name] == motors.index(name) for name in named)
    with pytest.raises(CnoidControlError, match=r'stiffness has 19 values.*names 19'):
        read(tmp_path, text.replace('19.0]', ']').replace(', ]', ']'), robot=named)


# --- Isaac Lab's env.yaml -----------------------------------------------------------------------

# The structure of a dumped ManagerBasedRLEnvCfg, with what is not read left in here and there.
ENV = """
viewer:
  eye: !!python/tuple
  - 7.5
  - 7.5
sim:
  device: cuda:0
  dt: 0.005
  gravity: !!python/tuple
  - 0.0
  - 0.0
  - -9.81
decimation: 4
episode_length_s: 20.0
scene:
  num_envs: 4096
  robot:
    class_type: isaaclab.assets.articulation.articulation:Articulation
    prim_path: /World/envs/env_.*/Robot
    init_state:
      pos: !!python/tuple
      - 0.0
      - 0.0
      - 0.4
      joint_pos:
        .*L_hip_joint: 0.1
        .*R_hip_joint: -0.1
        F[L,R]_thigh_joint: 0.8
        R[L,R]_thigh_joint: 1.0
        .*_calf_joint: -1.5
      joint_vel:
        .*: 0.0
    actuators:
      base_legs:
        class_type: isaaclab.actuators.actuator_pd:DCMotor
        joint_names_expr:
        - .*_hip_joint
        - .*_thigh_joint
        effort_limit: 23.5
        stiffness: 25.0
        damping: 0.5
      calves:
        class_type: isaaclab.actuators.actuator_pd:ImplicitActuator
        joint_names_expr:
        - .*_calf_joint
        stiffness:
          F._calf_joint: 40.0
          R._calf_joint: 45.0
        damping:
          .*: 1.5
observations:
  policy:
    concatenate_terms: true
    concatenate_dim: -1
    enable_corruption: true
    history_length: null
    flatten_history_dim: true
    base_lin_vel:
      func: isaaclab.envs.mdp.observations:base_lin_vel
      params: {}
      modifiers: null
      noise:
        func: isaaclab.utils.noise.noise_model:uniform_noise
        n_min: -0.1
        n_max: 0.1
      clip: null
      scale: 2.0
      history_length: 0
      flatten_history_dim: true
    velocity_commands:
      func: isaaclab.envs.mdp.observations:generated_commands
      params:
        command_name: base_velocity
      clip: null
      scale: !!python/tuple
      - 2.0
      - 2.0
      - 0.25
      history_length: 0
    legs:
      func: isaaclab.envs.mdp.observations:joint_pos_rel
      params:
        asset_cfg:
          name: robot
          joint_names: .*_calf_joint
          joint_ids: !!python/object/apply:builtins.slice
          - null
          - null
          - null
          preserve_order: false
      clip: null
      scale: null
      history_length: 3
    whole:
      func: isaaclab.envs.mdp.observations:joint_pos
      params: {}
      clip: !!python/tuple
      - -100.0
      - 100.0
      scale: null
      history_length: 0
    height_scan:
      func: isaaclab.envs.mdp.observations:height_scan
      params: {}
      clip: null
      scale: null
      history_length: 0
  critic:
    concatenate_terms: true
    base_lin_vel:
      func: isaaclab.envs.mdp.observations:base_lin_vel
actions:
  joint_pos:
    class_type: isaaclab.envs.mdp.actions.joint_actions:JointPositionAction
    asset_name: robot
    debug_vis: false
    clip:
      .*_hip_joint: !!python/tuple
      - -0.5
      - 0.5
    joint_names:
    - .*
    scale:
      .*_hip_joint: 0.125
    offset: 0.0
    preserve_order: false
    use_default_offset: true
commands:
  base_velocity:
    class_type: isaaclab.envs.mdp.commands.velocity_command:UniformVelocityCommand
    ranges:
      lin_vel_x: !!python/tuple
      - -1.0
      - 1.5
      lin_vel_y: !!python/tuple
      - -0.4
      - 0.4
      ang_vel_z: !!python/tuple
      - -1.2
      - 1.2
      heading: null
"""


def test_env_file_of_isaac_lab(tmp_path: Path) -> None:
    """Values by expressions on names find their joints; the order of the joints is not in it."""
    found = read(tmp_path, ENV)
    assert found.joints == []
    assert found.size == 12
    assert found.period == pytest.approx(0.02)
    assert found.kind == 'position'
    assert found.kp['FL_hip_joint'] == 25.0
    assert found.kd['RR_thigh_joint'] == 0.5
    assert found.kp['FR_calf_joint'] == 40.0
    assert found.kp['RL_calf_joint'] == 45.0
    assert found.kd['RL_calf_joint'] == 1.5
    assert found.default['RL_hip_joint'] == 0.1
    assert found.default['FR_thigh_joint'] == 0.8
    assert found.action_scale['FL_hip_joint'] == 0.125
    assert found.action_scale['FL_calf_joint'] == 1.0
    assert found.action_offset == {}
    assert found.lowest == {f'{foot}_hip_joint': -0.5 for foot in FEET}
    assert found.highest == {f'{foot}_hip_joint': 0.5 for foot in FEET}
    assert found.lower == [-1.0, -0.4, -1.2]
    assert found.upper == [1.5, 0.4, 1.2]
    assert found.observations == [
        'base_lin_vel',
        'velocity_commands',
        'legs',
        'whole',
        'height_scan',
    ]
    sources = [str(found.terms[name].source) for name in found.observations]
    assert sources == [
        'base_linear_velocity',
        'velocity_command',
        'joint_position',
        'absolute_joint_position',
        'height_scan',
    ]
    assert found.terms['base_lin_vel'].scale == 2.0
    assert found.terms['velocity_commands'].scale == [2.0, 2.0, 0.25]
    assert found.terms['whole'].clip == [-100.0, 100.0]
    assert found.terms['legs'].history == 3
    assert found.terms['whole'].history == 1


def test_env_file_with_the_order_of_the_joints(tmp_path: Path) -> None:
    """A choice of joints is in the network's order, as the trainer has resolved it."""
    found = read(tmp_path, ENV, TRAINED)
    assert found.joints == TRAINED
    assert found.terms['legs'].joints == TRAINED[8:]
    # An action that keeps the order that it is written in says it itself.
    listed = '\n'.join(f'    - {name}' for name in reversed(TRAINED))
    text = ENV.replace('    - .*\n    scale', f'{listed}\n    scale')
    text = text.replace('preserve_order: false\n    use', 'preserve_order: true\n    use')
    assert read(tmp_path, text).joints == list(reversed(TRAINED))


def test_env_file_whose_group_has_a_history_and_whose_action_has_an_offset(tmp_path: Path) -> None:
    """A history of the group is that of every term; an offset replaces the default posture."""
    text = ENV.replace('    history_length: null', '    history_length: 4')
    text = text.replace('use_default_offset: true', 'use_default_offset: false')
    text = text.replace('    offset: 0.0', '    offset: {.*_calf_joint: 0.3}')
    found = read(tmp_path, text)
    assert {term.history for term in found.terms.values()} == {4}
    assert found.action_offset['FL_calf_joint'] == 0.3
    assert found.action_offset['FL_hip_joint'] == 0.0


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('.*_calf_joint: -1.5', 'knee: 1.0', "init_state.joint_pos 'knee' is no joint.*FL_hip"),
        ('JointPositionAction', 'BinaryJointAction', "'BinaryJointAction' is not known; choose"),
        ('      scale: 2.0', '      scale: !!python/object:x.Y {}', 'TypeError.*PythonObject'),
        ('  policy:', '  teacher:', 'observations has none of policy, actor, but teacher, critic'),
        ('decimation: 4', 'steps: 4', 'is neither a deploy.yaml.*nor an env.yaml'),
    ],
)
def test_env_files_that_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    """With the key, the value and the choices."""
    assert old in ENV
    with pytest.raises(CnoidControlError, match=message):
        read(tmp_path, ENV.replace(old, new))


def test_joints_that_the_action_does_not_move_are_refused(tmp_path: Path) -> None:
    """The joints that somebody names must be those that the file's expressions describe."""
    with pytest.raises(CnoidControlError, match=r'the action moves.*are given as FL_hip_joint'):
        read(tmp_path, ENV, ['FL_hip_joint'])


def test_the_file_beside_it_completes_the_metadata_of_the_network(tmp_path: Path) -> None:
    """Joints come from the network, the period from the file, which also has the last word."""
    file = tmp_path / 'env.yaml'
    file.write_text(ENV)
    custom = {
        'joint_names': ','.join(TRAINED),
        'joint_stiffness': ','.join(['1.0'] * 12),
        'observation_names': 'base_lin_vel,joint_pos',
        'observation_history_lengths': '2,3',
    }
    alone = read_metadata(custom, None, MODEL)
    assert alone.period == 0.0
    assert alone.terms['joint_pos'].history == 3
    both = read_metadata(custom, file, MODEL)
    assert both.joints == TRAINED
    assert both.period == pytest.approx(0.02)
    assert both.kp['FL_hip_joint'] == 25.0
    assert both.observations[2] == 'legs'
    assert both.terms['legs'].joints == TRAINED[8:]
    assert both.origin == 'env.yaml and mjlab metadata'


# --- mjlab's env.yaml --------------------------------------------------------------------------

# The structure that `yaml.dump` gives a configuration of dataclasses: functions are names of
# Python, and what the ONNX file says is here in another form.
MJLAB = """
actions:
  joint_pos:
    actuator_names: !!python/tuple [.*]
    clip: null
    entity_name: robot
    scale: {.*: 0.5}
    use_default_offset: true
commands:
  twist:
    entity_name: robot
    ranges:
      ang_vel_z: !!python/tuple [-0.5, 0.5]
      heading: null
      lin_vel_x: !!python/tuple [-1.0, 1.0]
      lin_vel_y: !!python/tuple [-1.0, 1.0]
decimation: 4
observations:
  actor:
    concatenate_terms: true
    enable_corruption: true
    history_length: null
    terms:
      base_ang_vel:
        clip: null
        func: &id001 !!python/name:mjlab.envs.mdp.observations.builtin_sensor ''
        history_length: 0
        params: {sensor_name: robot/imu_ang_vel}
        scale: null
      joint_pos:
        clip: null
        func: !!python/name:mjlab.envs.mdp.observations.joint_pos_rel ''
        history_length: 0
        params: {}
        scale: null
      command:
        clip: null
        func: !!python/name:mjlab.envs.mdp.observations.generated_commands ''
        history_length: 0
        params: {command_name: twist}
        scale: null
  critic:
    terms:
      base_lin_vel: {func: *id001}
scene:
  entities:
    robot:
      spec_fn: !!python/name:mjlab.asset_zoo.robots.unitree_go1.go1_constants.get_spec ''
sim:
  mujoco:
    timestep: 0.005
"""


def test_env_file_of_mjlab(tmp_path: Path) -> None:
    """It has the period and the ranges, which the ONNX file lacks; the rest is the network's."""
    file = tmp_path / 'env.yaml'
    file.write_text(MJLAB)
    custom = {
        'joint_names': ','.join(TRAINED),
        'joint_stiffness': ','.join(['20.0'] * 12),
        'joint_damping': ','.join(['1.0'] * 12),
        'default_joint_pos': ','.join(['0.1'] * 12),
    }
    found = read_metadata(custom, file, MODEL)
    assert found.joints == TRAINED
    assert found.period == pytest.approx(0.02)
    assert found.lower == [-1.0, -1.0, -0.5]
    assert found.kp == dict.fromkeys(TRAINED, 20.0)
    assert found.default == dict.fromkeys(TRAINED, 0.1)
    assert found.action_scale == dict.fromkeys(MODEL, 0.5)
    assert found.observations == ['base_ang_vel', 'joint_pos', 'command']
    sources = [str(found.terms[name].source) for name in found.observations]
    assert sources == ['base_angular_velocity', 'joint_position', 'velocity_command']


# --- the configuration in holosoma's files ------------------------------------------------------

EXPERIMENT = {
    'simulator': {'config': {'sim': {'fps': 200, 'control_decimation': 4}}},
    'robot': {
        'dof_names': ['hip', 'knee'],
        'dof_effort_limit_list': [80.0, 30.0],
        'init_state': {'default_joint_angles': {'knee': 0.7, 'hip': -0.3}},
        'control': {'action_scale': 0.25, 'action_scales_by_effort_limit_over_p_gain': True},
    },
    'action': {
        'terms': {
            'joint_control': {
                'func': 'holosoma.managers.action.terms.joint_control:JointPositionActionTerm',
                'scale': 1.0,
                'clip': None,
            }
        }
    },
    'observation': {
        'groups': {
            'actor_obs': {
                'history_length': 1,
                'terms': {
                    'motion_command': {'func': 'x:motion_command', 'scale': 1.0, 'clip': None},
                    'motion_ref_ori_b': {'func': 'x:motion_ref_ori_b', 'scale': 1.0},
                    'dof_vel': {'func': 'x:dof_vel', 'scale': 0.05, 'clip': [-9.0, 9.0]},
                    'command_lin_vel': {'func': 'x:command_lin_vel', 'scale': 1.0},
                    'actions': {'func': 'x:actions', 'scale': 1.0},
                },
            }
        }
    },
    'command': {
        'setup_terms': {
            'motion_command': {'params': {'motion_config': {'body_name_ref': ['torso_link']}}}
        }
    },
}


def holosoma(**changes: object) -> Metadata:
    """Metadata of a file with a configuration in it."""
    custom = {
        'dof_names': '["knee", "hip"]',
        'kp': '[10.0, 40.0]',
        'kd': '[1.0, 4.0]',
        'command_ranges': 'null',
        'experiment_config': json.dumps({**EXPERIMENT, **changes}),
    }
    return read_metadata(custom, None, ['hip', 'knee'])


def test_configuration_in_a_file_of_holosoma() -> None:
    """Posture, period, scales by effort limit and gain, and terms in the order of the alphabet."""
    found = holosoma()
    assert found.joints == ['knee', 'hip']
    assert found.period == 0.02
    assert found.default == {'knee': 0.7, 'hip': -0.3}
    assert found.action_scale == {'knee': 0.25 * 30.0 / 10.0, 'hip': 0.25 * 80.0 / 40.0}
    assert found.observations == [
        'actions',
        'command_lin_vel',
        'dof_vel',
        'reference_q',
        'reference_dq',
        'motion_ref_ori_b',
    ]
    terms = found.terms
    assert [str(terms[name].source) for name in found.observations] == [
        'last_action',
        'linear_velocity_command',
        'joint_velocity',
        'output:joint_pos',
        'output:joint_vel',
        'orientation:ref_quat_xyzw',
    ]
    assert terms['dof_vel'].scale == 0.05
    assert terms['dof_vel'].clip == [-9.0, 9.0]
    assert (terms['motion_ref_ori_b'].link, terms['motion_ref_ori_b'].quaternion) == (
        'torso_link',
        'xyzw',
    )


def test_configurations_of_holosoma_that_are_not_known() -> None:
    """Another action is refused; of a history nobody knows the order, so that it is asked for."""
    action = {'terms': {'joint_control': {'func': 'x:Torque'}}}
    with pytest.raises(CnoidControlError, match='action x:Torque is not known'):
        holosoma(action=action)
    group = {**EXPERIMENT['observation']['groups']['actor_obs'], 'history_length': 5}
    assert holosoma(observation={'groups': {'actor_obs': group}}).observations == []


def test_an_anchor_that_is_no_body_is_refused() -> None:
    """Of a tracking policy of mjlab or whole_body_tracking."""
    custom = {
        'joint_names': 'hip,knee',
        'command_names': 'motion',
        'observation_names': 'motion_anchor_ori_b',
        'anchor_body_name': 'torso',
        'body_names': 'pelvis,foot',
    }
    with pytest.raises(CnoidControlError, match=r"'torso' is not in body_names; .*pelvis, foot"):
        read_metadata(custom, None, ['hip', 'knee'])
    anchored = read_metadata({**custom, 'body_names': 'pelvis,torso'}, None, ['hip', 'knee'])
    term = anchored.terms['motion_anchor_ori_b']
    assert (str(term.source), term.link, term.row) == ('orientation:body_quat_w', 'torso', 1)
