"""`cnoid_control init POLICY.onnx`: what files say is used, and the rest is asked for by name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip('onnxruntime', reason='needs onnxruntime')
pytest.importorskip('onnx', reason='needs onnx')
pytest.importorskip('mujoco', reason='needs MuJoCo')

from networks import counting, linear, tracking

from cnoid_control import load_robot
from cnoid_control.body.gains import joint_gains
from cnoid_control.body.rotations import rotation_matrix
from cnoid_control.catalog import cached_model
from cnoid_control.cli.main import main

ARM = load_robot('arm').joint_names
SIZE = len(ARM)
DEPLOY = f"""
joint_ids_map: {list(reversed(range(SIZE)))}
step_dt: 0.02
stiffness: {[float(100 + i) for i in range(SIZE)]}
damping: {[10.0] * SIZE}
default_joint_pos: {[0.1 * i for i in range(SIZE)]}
actions:
  JointPositionAction: {{scale: {[0.5] * SIZE}, offset: {[0.1 * i for i in range(SIZE)]},
                         clip: null, joint_ids: null}}
observations:
  joint_pos_rel: {{params: {{}}, clip: null, scale: {[1.0] * SIZE}, history_length: 1}}
  velocity_commands: {{params: {{}}, clip: null, scale: [1.0, 1.0, 1.0], history_length: 1}}
commands: {{base_velocity: {{ranges: {{lin_vel_x: [-0.2, 0.3], lin_vel_y: [0.0, 0.1],
                                       ang_vel_z: [-1.0, 1.0]}}}}}}
"""
MJLAB = {
    'joint_names': ','.join(ARM),
    'joint_stiffness': ','.join(['100.0'] * SIZE),
    'joint_damping': ','.join(['10.0'] * SIZE),
    'default_joint_pos': ','.join(['0.2'] * SIZE),
    'action_scale': '0.5',
    'observation_names': 'joint_pos,actions',
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def network(name: str, inputs: int, **metadata: str) -> str:
    """Write a network that stays in the default posture; its file."""
    file = Path(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    linear(file, np.zeros((SIZE, inputs)), np.zeros(SIZE), metadata)
    return name


def init(*words: str) -> int:
    """Run the command for the arm, into the folder `arm`."""
    return main(['init', *words, '--robot', 'arm', '-o', 'arm'])


def section() -> dict:
    """The `policy` section that was written."""
    return yaml.safe_load(Path('arm/arm.yaml').read_text())['/**']['ros__parameters']['policy']


def run(capsys: pytest.CaptureFixture, *words: str) -> tuple[int, str, str]:
    """Exit status, standard output and errors of the configuration that was written."""
    capsys.readouterr()
    status = main(['run', 'arm', '--duration', '0.2', '--json', *words])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_what_all_files_say_runs_as_it_is(capsys) -> None:
    """Unitree's folders: exported/policy.onnx and params/deploy.yaml; joints by an option."""
    policy = network('exported/policy.onnx', SIZE + 3)
    Path('params').mkdir()
    Path('params/deploy.yaml').write_text(DEPLOY)
    order = json.dumps(list(reversed(ARM)))
    assert init(policy, '--option', f'joints={order}') == 0
    text = capsys.readouterr().out
    assert 'not yet to be run' not in text
    given = section()
    assert Path('arm', given['metadata']).resolve() == Path('params/deploy.yaml').resolve()
    assert not Path(given['file']).is_absolute()
    assert '???' not in Path('arm/arm.yaml').read_text()
    # Within the range of the policy.
    assert given['velocity']['script']['walk']['velocity'] == [0.3, 0.0, 0.0]
    status, out, _ = run(capsys)
    assert status == 0
    assert json.loads(out)['exit'] == 'completed'
    whole = yaml.safe_load(Path('arm/arm.yaml').read_text())['/**']['ros__parameters']
    assert whole['robot']['posture'][ARM[0]] == pytest.approx(0.1 * (SIZE - 1))
    assert whole['rate'] == 500.0


def test_numbers_of_joints_are_asked_for(capsys) -> None:
    """deploy.yaml numbers motors: nobody knows which joints of another robot they are."""
    policy = network('policy.onnx', SIZE + 3)
    Path('somewhere.yaml').write_text(DEPLOY)
    assert init(policy, '--deploy', 'somewhere.yaml') == 0
    wanted = f'policy.joints: is still to be filled in: {SIZE} joints in the order of the network'
    assert wanted in capsys.readouterr().out
    status, _, errors = run(capsys)
    assert status == 1
    assert wanted in errors
    assert f'choose from: {", ".join(ARM)}' in errors


def test_a_file_beside_it_may_be_left_out() -> None:
    """One that lies there and is of something else, or cannot be read."""
    policy = network('policy.onnx', 2 * SIZE, **MJLAB)
    Path('env.yaml').write_text('{}')
    assert init(policy) == 1
    assert init(policy, '--deploy', 'none') == 0
    assert 'metadata' not in section()


def test_mjlab_says_all_but_the_period(capsys) -> None:
    """And the gains, of which the model of the arm has none, are the file's."""
    assert init(network('policy.onnx', 2 * SIZE, **MJLAB)) == 0
    assert [key for key, value in section().items() if str(value).startswith('???')] == ['period']
    status, _, errors = run(capsys)
    assert status == 1
    assert 'policy.period: is still to be filled in: time between two inferences [s]' in errors
    status, out, _ = run(capsys, '--option', 'period=0.02')
    assert status == 0
    assert json.loads(out)['exit'] == 'completed'


def test_what_nobody_says_is_asked_for_at_once(capsys) -> None:
    """Every key, with the sizes and choices that are known; layouts of that size are proposed."""
    size = 9 + 3 * SIZE
    assert init(network('policy.onnx', size)) == 0
    status, _, errors = run(capsys)
    assert status == 1
    for text in (
        f'joints: is still to be filled in: {SIZE} joints in the order of the network; choose',
        f'observations: is still to be filled in: terms of {size} values in all',
        f'joint_position {SIZE}, absolute_joint_position {SIZE}',
        'action.scale: is still to be filled in: factor of the actions',
        'posture: is still to be filled in: default posture',
        'period: is still to be filled in',
        (
            'kp: is still to be filled in: gain [N m/rad] of all joints, or a list in the order '
            f'of `joints`, or kp_of by joint name: {", ".join(ARM)}'
        ),
        'kd: is still to be filled in',
    ):
        assert f'policy.{text}' in errors or text in errors
    comments = ' '.join(re.sub(r'\n *#', '', Path('arm/arm.yaml').read_text()).split())
    assert f'Layouts of {size} values' in comments
    assert (
        'unitree_rl_lab, without the linear velocity: [base_angular_velocity, projected_gravity, '
        'velocity_command, joint_position, joint_velocity, last_action]'
    ) in comments


def test_what_is_known_can_be_given(capsys) -> None:
    """Options take the place of questions, and the configuration runs."""
    given = {
        'joints': json.dumps(ARM),
        'observations': '[joint_position, joint_velocity]',
        'terms.joint_velocity.scale': '0.05',
        'action.scale': '0.5',
        'posture': json.dumps([0.1] * SIZE),
        'period': '0.01',
        'kp': json.dumps([100.0] * SIZE),
        'kd': '10.0',
    }
    words = [word for key, value in given.items() for word in ('--option', f'{key}={value}')]
    assert init(network('policy.onnx', 2 * SIZE), *words) == 0
    assert 'not yet to be run' not in capsys.readouterr().out
    assert section()['terms'] == {'joint_velocity': {'scale': 0.05}}
    whole = yaml.safe_load(Path('arm/arm.yaml').read_text())['/**']['ros__parameters']
    assert whole['robot']['posture'] == dict.fromkeys(ARM, 0.1)
    assert run(capsys)[0] == 0


@pytest.mark.parametrize(
    ('order', 'joints'),
    [
        ('model', ['hip_l', 'knee_l', 'hip_r', 'knee_r']),
        ('breadth_first', ['hip_l', 'hip_r', 'knee_l', 'knee_r']),
    ],
)
def test_orders_of_joints_by_name(order: str, joints: list[str]) -> None:
    """Leg by leg as the model has them, or level by level; the file has the names."""
    legs = ''.join(
        f'<body pos="0 {y} 0"><joint name="hip_{side}"/><geom size="0.1"/><body pos="0 0 -0.3">'
        f'<joint name="knee_{side}"/><geom size="0.1"/></body></body>'
        for side, y in (('l', 0.2), ('r', -0.2))
    )
    Path('legs.xml').write_text(
        f'<mujoco><worldbody><body pos="0 0 1"><freejoint/><geom size="0.1"/>{legs}</body>'
        '</worldbody></mujoco>'
    )
    linear(Path('policy.onnx'), np.zeros((4, 12)), np.zeros(4))
    words = ['init', 'policy.onnx', '--robot', 'legs.xml', '-o', 'arm', '--option']
    assert main([*words, f'joints={order}']) == 0
    assert section()['joints'] == joints


@pytest.mark.parametrize(
    ('factor', 'rate', 'actuators'),
    [(1.9, 500.0, 'controller'), (3.9, 1000.0, 'controller'), (4.1, 500.0, 'hardware')],
)
def test_who_computes_pd(factor: float, rate: float, actuators: str) -> None:
    """The controller, at a rate at which the gains are stable, else the joints."""
    # Damping acts one period late: it is stable up to inertia / period, three times as much as
    # the limit, and the rate may be doubled.
    limit = float(min(joint_gains(load_robot('arm'), 0.002).kd_limit))
    given = {'period': 0.02, 'kd': factor * limit, 'kp': 1e-3}
    words = [word for key, value in given.items() for word in ('--option', f'{key}={value}')]
    assert init(network('policy.onnx', 2 * SIZE, **MJLAB), *words) == 0
    assert section()['actuators'] == actuators
    text = Path('arm/arm.yaml').read_text()
    assert yaml.safe_load(text)['/**']['ros__parameters']['rate'] == rate
    is_stiff = actuators == 'hardware'
    assert ('would be too stiff' in ' '.join(text.replace('#', '').split())) == is_stiff


@pytest.mark.parametrize('integrator', ['Euler', 'implicitfast'])
def test_an_integrator_that_does_not_damp_is_told(capsys, integrator: str) -> None:
    """Gains that are too stiff for it: the run that diverges is seen when it is written."""
    Path('leg.xml').write_text(
        f'<mujoco><option integrator="{integrator}"/><worldbody><body><joint name="hip"/>'
        '<geom size="0.1"/><body pos="0 0 0.3"><joint name="knee"/><geom size="0.01"/></body>'
        '</body></worldbody></mujoco>'
    )
    linear(Path('policy.onnx'), np.zeros((2, 2)), np.ones(2))
    given = {
        'joints': 'model',
        'observations': '[joint_position]',
        'action.scale': 1.0,
        'posture': '[0.0, 0.0]',
        'period': 0.02,
        'kp': 100.0,
        'kd': 10.0,
    }
    words = [word for key, value in given.items() for word in ('--option', f'{key}={value}')]
    assert main(['init', 'policy.onnx', '--robot', 'leg.xml', '-o', 'arm', *words]) == 0
    assert section()['actuators'] == 'hardware'
    is_told = "the model's integrator is Euler" in Path('arm/arm.yaml').read_text()
    assert is_told == (integrator == 'Euler')
    said = capsys.readouterr().out
    assert ('diverged' in said) == (integrator == 'Euler')
    # What is said to run is what runs.
    assert ('\nthen run it:' in said) == (integrator == 'Euler')
    assert 'time_step' not in Path('arm/arm.yaml').read_text()


def test_steps_of_physics_are_made_small_enough(capsys) -> None:
    """Gains of training may be stable with smaller ones than the model's."""
    Path('leg.xml').write_text(
        '<mujoco><worldbody><body><joint name="hip"/><geom size="0.1"/><body pos="0 0 0.3">'
        '<joint name="knee"/><geom size="0.05"/></body></body></worldbody></mujoco>'
    )
    linear(Path('policy.onnx'), np.zeros((2, 2)), np.ones(2))
    given = {
        'joints': 'model',
        'observations': '[joint_position]',
        'action.scale': 1.0,
        'posture': '[0.0, 0.0]',
        'period': 0.02,
        'kp': 10.0,
        'kd': 1.0,
    }
    words = [word for key, value in given.items() for word in ('--option', f'{key}={value}')]
    assert main(['init', 'policy.onnx', '--robot', 'leg.xml', '-o', 'arm', *words]) == 0
    said = capsys.readouterr().out
    whole = yaml.safe_load(Path('arm/arm.yaml').read_text())['/**']['ros__parameters']
    step = whole['hardware']['mujoco']['time_step']
    assert step < 0.002
    assert f'with those of {step:g} s they are: hardware.mujoco.time_step' in said
    assert 'not yet to be run' not in said
    assert '\nrun it:' in said
    assert main(['run', 'arm', '--duration', '1', '--json']) == 0


def test_the_gait_is_asked_for() -> None:
    """Where phases are observed, and no file says how long a cycle is."""
    observations = 'observations=[joint_position, last_action, sin_phase, cos_phase]'
    policy = network('policy.onnx', 2 * SIZE + 4, **MJLAB)
    assert init(policy, '--option', observations) == 0
    assert section()['gait']['steps'].startswith('??? inferences in one cycle of the gait')
    steps = ('--option', observations, '--option', 'gait.steps=30.0', '-o', 'said')
    assert main(['init', policy, '--robot', 'arm', *steps]) == 0
    assert '??? inferences' not in Path('said/said.yaml').read_text()


def test_outputs_that_may_be_observed_are_listed() -> None:
    """With their sizes, beside the terms that every policy may have."""
    tracking(Path('policy.onnx'), SIZE, SIZE, 3, np.array([[1.0, 0.0, 0.0, 0.0]]))
    assert init('policy.onnx') == 0
    asked = section()['observations']
    assert asked.startswith('??? ')
    assert f"'output:joint_pos' {SIZE}" in asked
    assert 'output:actions' not in asked


def test_joints_that_the_model_damps_are_told() -> None:
    """Joint damping of a model is often there in the place of kd, and not besides."""
    Path('leg.xml').write_text(
        '<mujoco><worldbody><body><joint name="hip" damping="2"/><geom size="0.1"/>'
        '<body pos="0 0 0.3"><joint name="knee" damping="0.1"/><geom size="0.1"/></body></body>'
        '</worldbody></mujoco>'
    )
    linear(Path('policy.onnx'), np.zeros((2, 12)), np.zeros(2))
    words = ['init', 'policy.onnx', '--robot', 'leg.xml', '-o', 'arm', '--option', 'kd=0.5']
    assert main(words) == 0
    assert 'in addition to kd, perhaps in its place [N m s/rad]: hip 2\n' in ' '.join(
        Path('arm/arm.yaml').read_text().replace('\n#  ', '').split(' ')
    )


def test_observations_of_another_size_are_told(capsys) -> None:
    """With the terms and their sizes, when it is written and when it is run."""
    policy = network('policy.onnx', 2 * SIZE + 1, **MJLAB)
    assert init(policy, '--option', 'period=0.02') == 0
    message = (
        f"input 'obs' wants {2 * SIZE + 1} values, and the observation has {2 * SIZE}: "
        f'joint_pos {SIZE}, actions {SIZE}'
    )
    assert message in capsys.readouterr().out
    status, out, errors = run(capsys)
    assert status == 1
    assert message in out + errors


def test_terms_that_are_not_known_are_asked_for(capsys) -> None:
    """With what the trainer calls them, and the choices."""
    metadata = {**MJLAB, 'observation_names': 'joint_pos,height_scan'}
    assert init(network('policy.onnx', SIZE + 187, **metadata), '--option', 'period=0.02') == 0
    status, _, errors = run(capsys)
    assert status == 1
    assert (
        'policy.terms.height_scan.source: is still to be filled in: the trainer observes '
        "'height_scan' here; choose from: base_linear_velocity"
    ) in errors


def test_other_inputs(capsys) -> None:
    """State and the number of the step are known by their names; others are asked for."""
    counting(Path('rnn.onnx'), SIZE)
    assert init('rnn.onnx') == 0
    assert section()['inputs'] == {'h_in': 'state:h_out', 'time_step': 'time_step'}
    assert 'output' not in section()['action']


def test_a_tracking_policy_runs_as_it_is(capsys) -> None:
    """As whole_body_tracking exports it: reference, anchor and length of the clip are found."""
    last = load_robot('arm').links[-1].name
    metadata = {
        **MJLAB,
        'command_names': 'motion',
        'observation_names': 'command,motion_anchor_ori_b,joint_pos,actions',
        'observation_history_lengths': '1,1,1,1',
        'anchor_body_name': last,
        'body_names': f'base,{last}',
    }
    half = np.sqrt(0.5)
    # Of the anchor, w first: a quarter turn about X.
    turned = np.array([[1.0, 0.0, 0.0, 0.0], [half, half, 0.0, 0.0]])
    tracking(Path('policy.onnx'), 4 * SIZE + 6, SIZE, 25, turned, metadata)
    assert init('policy.onnx', '--option', 'period=0.02') == 0
    assert 'not yet to be run' not in capsys.readouterr().out
    given = section()
    assert given['inputs'] == {'time_step': 'time_step'}
    assert given['steps'] == 25
    assert 'velocity' not in given
    assert main(['policy', 'arm', '--json', '--duration', '0.2']) == 0
    facts = json.loads(capsys.readouterr().out)
    rows = {row['term']: row for row in facts['observation']}
    assert list(rows) == [
        'reference_q',
        'reference_dq',
        'motion_anchor_ori_b',
        'joint_pos',
        'actions',
    ]
    # Told in the inference after that in which it was put out: the tenth of them.
    assert rows['reference_q']['values'] == pytest.approx([0.01 * 8] * SIZE)
    # The anchor is the second body; it looks where the link looks, and is turned about X.
    body = load_robot('arm')
    body.q[:] = 0.2
    body.calc_forward_kinematics()
    actual = body.links[-1].R
    heading = np.arctan2(actual[1, 0], actual[0, 0])
    turn = rotation_matrix(([0.0, 0.0, 1.0], heading)) @ rotation_matrix(
        ([1.0, 0.0, 0.0], np.pi / 2)
    )
    assert main(['policy', 'arm', '--json']) == 0
    rows = {row['term']: row for row in json.loads(capsys.readouterr().out)['observation']}
    seen = rows['motion_anchor_ori_b']['values']
    assert seen == pytest.approx((actual.T @ turn)[:, :2].ravel(), abs=1e-6)
    status, out, _ = run(capsys, '--duration', '3')
    assert status == 0
    summary = json.loads(out)
    assert (summary['exit'], summary['duration']) == ('finished', pytest.approx(0.5, abs=0.01))


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['init', 'policy.onnx'], 'policy.onnx is a policy: --robot MODEL says what it moves'),
        (['init', 'none.onnx', '--robot', 'arm'], "no policy file 'none.onnx'"),
        (['init', 'arm', '--robot', 'arm'], "--robot is for a policy, and 'arm' is neither"),
        (
            ['init', 'policy.onnx', '--robot', 'sr1'],
            f'joints.{ARM[0]}: unknown joint; choose',
        ),
        (['init', 'policy.onnx', 'a', '-o', 'b', '--robot', 'arm'], 'two folders: a and'),
        (['init', 'policy.onnx', '--robot', 'arm', '--option', 'x'], "'x' is not KEY=VALUE"),
        (['init', 'policy.onnx', '--robot', 'arm', '--deploy', 'no.yaml'], 'no.yaml cannot be'),
        (['init', 'policy.onnx', 'there', '--robot', 'arm'], 'exists already'),
        (
            ['init', 'policy.onnx', '--robot', 'arm', '--option', 'joints=mine'],
            'joints=mine: a list, or choose from: model, breadth_first',
        ),
        (
            ['init', 'policy.onnx', '--robot', 'arm', '--option', 'perod=0.02'],
            '--option perod: unknown option; choose from: file, ',
        ),
    ],
)
def test_refusals(capsys, words: list[str], message: str) -> None:
    """Nothing is written then."""
    network('policy.onnx', 2 * SIZE, **MJLAB)
    Path('there').mkdir()
    Path('there/there.yaml').write_text('mine')
    assert main(words) == 1
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir()) == ['policy.onnx', 'there']
    assert Path('there/there.yaml').read_text() == 'mine'


def test_the_policy_that_is_here_walks(capsys) -> None:
    """All that it needs is in its file."""
    assert main(['init', 'trotter_walk', '--robot', 'trotter', '-o', 'mine']) == 0
    assert 'not yet to be run' not in capsys.readouterr().out
    whole = yaml.safe_load(Path('mine/mine.yaml').read_text())['/**']['ros__parameters']
    # The MuJoCo node serves the base that the policy is told of.
    assert whole['hardware']['ros2_control'] == {'odometry': 'cnoid_control_mujoco/root'}
    assert whole['policy']['base'] == 'hardware'
    assert main(['run', 'mine', '--duration', '3', '--json']) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary['exit'] == 'completed'
    assert not summary['fell']
    # 0.5 m/s for two seconds.
    assert 0.6 < summary['root_position'][0] < 1.4


@pytest.mark.parametrize(
    ('policy', 'robot'),
    [
        ('g1_walk_ppo', 'g1_holosoma'),
        ('g1_walk_sac', 'g1_holosoma'),
        ('t1_walk_ppo', 't1'),
        ('t1_walk_sac', 't1'),
    ],
)
def test_humanoids_walk_with_what_was_written(capsys, policy: str, robot: str) -> None:
    """Forward at about the speed of the script, upright, without a line that was edited."""
    for name in (policy, robot):
        if cached_model(name) is None:
            pytest.skip(f'{name} is not in the cache: cnoid_control get {name}')
    # The robot of a policy that can be had by its name is known.
    words = ['--robot', robot] if robot == 't1' else []
    assert main(['init', policy, *words]) == 0
    assert 'not yet to be run' not in capsys.readouterr().out
    assert main(['run', policy, '--duration', '6', '--json']) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary['exit'] == 'completed'
    assert not summary['fell']
    assert summary['max_tilt_deg'] < 10.0
    # 0.5 m/s for five seconds.
    assert 1.5 < summary['root_position'][0] < 3.0
    assert abs(summary['root_position'][1]) < 1.0


def test_ros_reads_what_is_written(folder) -> None:
    """Lists of one type, and quotes around what has a colon."""
    Path('arm').mkdir()
    Path('arm/mine.py').write_text('def tilt(situation):\n    return [0.0, 0.0, 0.0]\n')
    observations = 'observations=[joint_position, last_action, mine.py:tilt]'
    policy = network('policy.onnx', 2 * SIZE + 3, **MJLAB)
    assert init(policy, '--option', observations, '--option', 'action.clip=[-1, 0.5]') == 0
    text = Path('arm/arm.yaml').read_text()
    assert "observations: [joint_position, last_action, 'mine.py:tilt']" in text
    assert 'clip: [-1.0, 0.5]' in text
    assert section()['observations'][-1] == 'mine.py:tilt'
    start = pytest.importorskip('cnoid_control.ros.start', reason='rclpy is not installed')
    rclpy = pytest.importorskip('rclpy')
    start.init_ros(['it', '--ros-args', '--params-file', 'arm/arm.yaml'])
    rclpy.try_shutdown()
