"""Policies: the right numbers in the right order go in, and what comes out moves the robot."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip('onnxruntime', reason='needs onnxruntime')
pytest.importorskip('onnx', reason='needs onnx')

from networks import counting, linear

from cnoid_control.body import Body, JointType, StateFlag
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.body.devices import Imu
from cnoid_control.controllers.policy import PolicyController, PolicyParameters
from cnoid_control.controllers.policy.network import Network
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import ParameterError, parse_parameters
from cnoid_control.plugin import ControllerIO
from cnoid_control.plugin.mailbox import Twist, Value
from cnoid_control.plugin.options import change_options

JOINTS = 3
TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


def robot() -> Body:
    """Floating base with three joints and an IMU that is turned by a right angle."""
    links = [LinkDescription('base', joint_type=JointType.FREE)]
    for i in range(JOINTS):
        links.append(
            LinkDescription(
                f'link{i}', 'base', f'joint{i}', JointType.REVOLUTE, i, kp=10.0 * (i + 1), kd=1.0
            )
        )
    place = np.eye(4)
    place[:3, :3], place[2, 3] = TURN, 0.1
    imu = Imu('imu', T_local=place)
    return Body(BodyDescription('robot', links, [('base', imu)]))


def identity(folder: Path, size: int = JOINTS, **metadata: Any) -> Path:
    """Network whose action is the first values of its observation."""
    stored = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in metadata.items()
    }
    return linear(folder / 'policy.onnx', np.eye(JOINTS, size), np.zeros(JOINTS), stored)


def make(values: dict[str, Any], body: Body | None = None) -> PolicyController:
    """Controller that is initialized, in a loop of 100 Hz."""
    body = body or robot()
    given = parse_parameters(PolicyParameters, values, 'policy')
    controller = PolicyController()
    out = io.StringIO()
    controller_io = ControllerIO('policy', body, 0.01, values, given, out)
    assert controller.initialize(controller_io)
    return controller


NAMES = [f'joint{i}' for i in range(JOINTS)]


def options(folder: Path, size: int = JOINTS, **values: Any) -> dict[str, Any]:
    """Options of a policy that puts out the first values that it observes."""
    defaults = {'joints': NAMES, 'observations': ['joint_position'], 'period': 0.01}
    return {'file': str(identity(folder, size)), **defaults, **values}


# --- observations ---------------------------------------------------------------------------


def test_joints_are_found_by_name(tmp_path: Path) -> None:
    """In the order of the policy, not in that of the robot: in and out."""
    order = ['joint2', 'joint0', 'joint1']
    controller = make(options(tmp_path, joints=order, posture={'joint0': 0.1}))
    controller.body.q[:] = 0.5, 0.6, 0.7
    controller.control()
    np.testing.assert_allclose(controller.action, [0.7, 0.4, 0.6], atol=1e-6)
    np.testing.assert_allclose(controller.q_target, [0.1 + 0.4, 0.6, 0.7], atol=1e-6)


def test_terms_of_joints_in_any_order_with_history_scale_and_origin(tmp_path: Path) -> None:
    """What is copied, picked or computed is the same as computed by hand."""
    terms = {
        'some': {'source': 'joint_position', 'joints': ['joint2', 'joint0'], 'scale': 2.0},
        'all': {'source': 'joint_velocity', 'scale': 0.5, 'clip': [-1.0, 1.0]},
        'one': {'source': 'absolute_joint_position', 'joints': ['joint1']},
    }
    given = options(tmp_path, 6, observations=list(terms), terms=terms, posture={'joint0': 0.25})
    controller = make(given)
    body = controller.body
    for q, dq in (((0.5, 0.6, 0.7), (0.1, -3.0, 1.5)), ((-0.5, 0.0, 2.0), (0.0, 0.2, 9.0))):
        body.q[:], body.dq[:] = q, dq
        controller.control()
        expected = [2.0 * q[2], 2.0 * (q[0] - 0.25), *(0.5 * np.clip(dq, -1.0, 1.0)), q[1]]
        np.testing.assert_allclose(controller.observation.vector, expected, rtol=1e-12)
        assert controller.observation.terms[0].read() == pytest.approx([q[2], q[0] - 0.25])


@pytest.mark.parametrize('where', ['observation', 'input'])
def test_a_delayed_term_is_what_it_was_so_many_ticks_ago(tmp_path: Path, where: str) -> None:
    """Of the ticks of the loop, also of those in which the network is not called."""
    file = counting(tmp_path / 'counting.onnx', JOINTS)
    late = {'source': 'absolute_joint_position', 'joints': ['joint1'], 'delay': 3}
    now = {'source': 'absolute_joint_position'}
    controller = make(
        {
            'file': str(file),
            'joints': NAMES,
            'observations': ['all'],
            'terms': {'all': {**now, 'delay': 3 if where == 'observation' else 0}, 'late': late},
            'inputs': {'h_in': 'state:h_out', 'time_step': 'late'},
            'period': 0.02,
        }
    )
    for tick in range(7):
        controller.body.q[:] = float(tick)
        controller.control()
        if tick % 2 == 0:
            assert controller.network.feed['time_step'][0] == max(tick - 3, 0)
            past = max(tick - 3, 0) if where == 'observation' else tick
            assert controller.observation.vector.tolist() == [past] * JOINTS


def base_state(body: Body) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Turn and move the base; its rotation, velocity and angular velocity in the world."""
    from cnoid_control.body.rotations import rotation_matrix

    rotation = rotation_matrix(([0.0, 1.0, 0.0], 0.3)) @ rotation_matrix(([0.0, 0.0, 1.0], 0.8))
    root = body.root_link
    root.R = rotation
    root.p = np.array([1.0, 2.0, 0.7])
    root.v = np.array([0.3, -0.2, 0.1])
    root.w = np.array([0.5, 0.4, -0.6])
    body.calc_forward_kinematics(velocity=True)
    return rotation, root.v.copy(), root.w.copy()


def test_a_network_writes_in_place_and_is_the_same_as_by_run(tmp_path: Path) -> None:
    """Against onnxruntime's plain call; what a call has returned stays as it was."""
    import onnxruntime

    random = np.random.default_rng(1)
    matrix = random.normal(size=(4, 6))
    file = linear(tmp_path / 'policy.onnx', matrix, random.normal(size=4))
    network = Network(file)
    session = onnxruntime.InferenceSession(str(file), providers=['CPUExecutionProvider'])
    before = []
    for _ in range(3):
        values = random.normal(size=6)
        (expected,) = session.run(None, {'obs': values.astype(np.float32)[np.newaxis]})
        before.append((network(obs=values)['actions'], expected[0]))
        network.feed['obs'][:] = values
        network.infer()
        np.testing.assert_array_equal(network.results['actions'], expected[0])
    for kept, expected in before:
        np.testing.assert_allclose(kept, expected, rtol=1e-6)
    network._run = network._run_unbound
    np.testing.assert_allclose(network(obs=values)['actions'], before[-1][1], rtol=1e-6)


@pytest.mark.parametrize('imu', ['', 'imu'])
def test_the_state_of_the_base_is_in_its_own_axes(tmp_path: Path, imu: str) -> None:
    """Of the root link, or of an IMU that is named, with the velocity of its own place."""
    terms = ['base_linear_velocity', 'projected_gravity', 'base_angular_velocity', 'height']
    terms += ['quaternion_wxyz', 'quaternion_xyzw']
    body = robot()
    controller = make(options(tmp_path, 18, observations=terms, imu=imu), body)
    own = controller.body
    rotation, v, w = base_state(own)
    if imu:
        v = v + np.cross(w, rotation @ [0.0, 0.0, 0.1])
        own.devices[0].w = np.array([7.0, 8.0, 9.0])
        rotation = rotation @ TURN
    seen = controller.observation.refresh()
    np.testing.assert_allclose(seen[:3], rotation.T @ v, atol=1e-12)
    np.testing.assert_allclose(seen[3:6], -rotation[2], atol=1e-12)
    np.testing.assert_allclose(seen[6:9], [7.0, 8.0, 9.0] if imu else rotation.T @ w, atol=1e-12)
    assert seen[9] == 0.7
    quaternion = seen[10:14]
    np.testing.assert_array_equal(seen[14:18], np.roll(quaternion, -1))
    np.testing.assert_allclose(_matrix(*quaternion), rotation, atol=1e-12)


def _matrix(w: float, x: float, y: float, z: float) -> np.ndarray:
    """Rotation matrix of a unit quaternion, from its definition."""
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def test_terms_have_scale_clip_and_a_choice_of_joints(tmp_path: Path) -> None:
    """Clipped first, scaled then; the size follows the choice."""
    controller = make(
        options(
            tmp_path,
            6,
            observations=['few', 'joint_velocity', 'fixed'],
            terms={
                'few': {
                    'source': 'absolute_joint_position',
                    'joints': ['joint2', 'joint0'],
                    'clip': [-1.0, 1.0],
                    'scale': [2.0, 3.0],
                },
                'joint_velocity': {'scale': 0.5},
                'fixed': {'source': 'constant', 'value': [4.0]},
            },
        )
    )
    controller.body.q[:] = 0.5, 0.0, 9.0
    controller.body.dq[:] = 1.0, 2.0, 3.0
    seen = controller.observation.refresh()
    assert seen.tolist() == [2.0, 1.5, 0.5, 1.0, 1.5, 4.0]
    assert controller.observation.layout() == [
        ('few', 0, 2),
        ('joint_velocity', 2, 3),
        ('fixed', 5, 1),
    ]


@pytest.mark.parametrize(
    ('of', 'order', 'expected'),
    [
        ('term', 'oldest_first', [1, 2, 3, 10, 20, 30]),
        ('term', 'newest_first', [3, 2, 1, 30, 20, 10]),
        ('whole', 'oldest_first', [1, 10, 2, 20, 3, 30]),
        ('whole', 'newest_first', [3, 30, 2, 20, 1, 10]),
    ],
)
def test_histories(tmp_path: Path, of: str, order: str, expected: list[float]) -> None:
    """Of each term or of the whole, the oldest or the newest first; the first one fills all."""
    term = {'source': 'absolute_joint_position', 'history': 3}
    controller = make(
        options(
            tmp_path,
            6,
            observations=['a', 'b'],
            terms={'a': {**term, 'joints': ['joint0']}, 'b': {**term, 'joints': ['joint1']}},
            history_of=of,
            history_order=order,
        )
    )
    controller.observation.reset()
    for step in (1.0, 2.0, 3.0):
        controller.body.q[:2] = step, 10.0 * step
        seen = controller.observation.refresh().tolist()
        if step == 1.0:
            assert sorted(seen) == [1.0] * 3 + [10.0] * 3
    assert seen == expected


def test_one_history_for_all_terms(tmp_path: Path) -> None:
    """Of terms that say no number; also of those that nobody has said anything of."""
    terms = {'a': {'source': 'absolute_joint_position', 'joints': ['joint0'], 'history': 2}}
    given = options(tmp_path, 11, observations=['a', 'joint_velocity'], terms=terms, history=3)
    controller = make(given)
    assert controller.observation.layout() == [('a', 0, 2), ('joint_velocity', 2, 9)]


def test_terms_of_devices_mailboxes_and_functions(tmp_path: Path) -> None:
    """Whatever the robot measures, whoever sends it, or a function of one's own."""
    own = tmp_path / 'own.py'
    own.write_text('def twice(situation):\n    return 2.0 * situation.body.q[:2]\n')
    controller = make(
        options(
            tmp_path,
            6,
            observations=['device:imu.dv', 'mailbox:slope', 'mine'],
            terms={'mine': {'source': f'{own}:twice'}},
        )
    )
    controller.body.devices[0].dv = np.array([1.0, 2.0, 3.0])
    controller.body.q[:] = 0.1, 0.2, 0.3
    assert 'imu' in controller.io.device_inputs
    assert controller.observation.refresh().tolist() == [1.0, 2.0, 3.0, 0.0, 0.2, 0.4]
    controller.io.mailboxes['slope'].post(Value(value=0.5))
    assert controller.observation.refresh()[3] == 0.5


# --- actions --------------------------------------------------------------------------------


def test_the_network_is_called_once_per_period_and_followed_in_every_tick(tmp_path: Path) -> None:
    """PD control goes on in between: no term is read then, no command, nothing is logged."""
    controller = make(options(tmp_path, period=0.04, kp=100.0, kd=2.0))
    calls: list[str] = []

    def counted(name: str, function: Any) -> Any:
        return lambda *values: calls.append(name) or function(*values)

    for owner, name in (
        (controller.network, 'infer'),
        (controller.observation, 'refresh'),
        (controller._command, 'read'),
        (controller.situation.gait, 'advance'),
    ):
        setattr(owner, name, counted(name, getattr(owner, name)))
    body = controller.body
    for tick in range(9):
        body.q[:] = 0.1 * tick
        body.dq[:] = 0.5
        controller.io.log_fields.clear()
        controller.control()
        wanted = ['read', 'advance', 'refresh', 'infer'] * (tick // 4 + 1)
        assert calls == wanted
        assert bool(controller.io.log_fields) == (tick % 4 == 0)
        inferred = 0.1 * 4 * (tick // 4)
        np.testing.assert_allclose(body.u, 100.0 * (inferred - body.q) - 2.0 * 0.5, atol=1e-4)


@pytest.mark.parametrize(
    ('kind', 'actuators', 'mode', 'array'),
    [
        ('position', 'hardware', StateFlag.JOINT_PID, 'q_target'),
        ('position', 'servo', StateFlag.JOINT_DISPLACEMENT, 'q_target'),
        ('velocity', 'controller', StateFlag.JOINT_VELOCITY, 'dq_target'),
        ('effort', 'controller', StateFlag.JOINT_EFFORT, 'u'),
    ],
)
def test_what_the_action_is(tmp_path: Path, kind, actuators, mode, array) -> None:
    """A target of the hardware's actuators or servos, a velocity or an effort."""
    action = {'kind': kind, 'scale': 0.5, 'offset': {'joint1': 1.0}, 'clip': [-0.3, 0.3]}
    controller = make(options(tmp_path, action=action, actuators=actuators))
    body = controller.body
    body.q[:] = 0.1, 0.2, 0.9
    controller.control()
    np.testing.assert_allclose(getattr(body, array), [0.05, 1.1, 0.15], atol=1e-6)
    assert {joint.actuation_mode for joint in body.joints} == {mode}
    if mode == StateFlag.JOINT_PID:
        assert body.kp.tolist() == [10.0, 20.0, 30.0]


def test_a_residual_is_added_to_the_present_position(tmp_path: Path) -> None:
    """And to no offset."""
    controller = make(
        options(tmp_path, action={'kind': 'position_residual', 'scale': 0.5}, actuators='servo')
    )
    controller.body.q[:] = 0.1, 0.2, 0.4
    controller.control()
    np.testing.assert_allclose(controller.body.q_target, [0.15, 0.3, 0.6], atol=1e-6)


def test_joints_that_the_policy_does_not_know_are_held(tmp_path: Path) -> None:
    """In the default posture, by the model's gains."""
    policy = linear(tmp_path / 'two.onnx', np.eye(2), np.zeros(2))
    values = {
        'file': str(policy),
        'joints': ['joint0', 'joint2'],
        'observations': ['joint_position'],
        'posture': {'joint1': 0.5},
        'period': 0.01,
    }
    controller = make(values)
    controller.control()
    assert controller.body.u.tolist() == [0.0, 10.0, 0.0]
    with pytest.raises(CnoidControlError, match='does not know joint1'):
        make({**values, 'action': {'kind': 'effort'}})


def test_the_robot_goes_to_the_posture_first(tmp_path: Path) -> None:
    """From where it is, smoothly, and the network is called after that."""
    controller = make(
        options(tmp_path, posture={'joint0': 1.0}, approach_time=0.1, actuators='servo')
    )
    targets = []
    for tick in range(12):
        controller.control()
        targets.append(controller.body.q_target[0])
        assert controller._situation.time_step == max(0, tick - 9)
    assert targets[4] == pytest.approx(0.5)
    assert np.all(np.diff(targets[:10]) > 0.0)
    assert max(np.diff([0.0, *targets[:10]])) < 0.16


def test_a_clip_ends(tmp_path: Path) -> None:
    """After so many inferences the controller has finished, and goes on to hold the target."""
    controller = make(options(tmp_path, steps=2, period=0.02))
    assert [controller.control() for _ in range(6)] == [True] * 4 + [False, False]


def test_actions_that_are_not_finite_are_named(tmp_path: Path) -> None:
    """They never become a command."""
    controller = make(options(tmp_path))
    controller.body.q[1] = np.nan
    with pytest.raises(CnoidControlError, match='the observation is not finite: joint_position'):
        controller.control()
    assert np.isfinite(controller.body.u).all()
    controller = make(options(tmp_path))
    controller.body.q[1] = 1e200
    controller._scales[:] = 1e200
    with np.errstate(over='ignore'), pytest.raises(CnoidControlError, match='is not finite'):
        controller.control()


@pytest.mark.parametrize('kind', ['velocity', 'effort'])
def test_policies_of_velocities_and_efforts_reach_the_posture_first(tmp_path: Path, kind) -> None:
    """A point mass per joint that does what it is told is there, at rest, in time."""
    controller = make(
        options(
            tmp_path,
            posture={'joint0': 1.0},
            approach_time=2.0,
            action={'kind': kind},
            kp=400.0,
            kd=40.0,
        )
    )
    body, step = controller.body, 0.01
    for _ in range(200):
        controller.control()
        inputs = controller.io.inputs['link0']
        if kind == 'velocity':
            body.q += step * body.dq_target
        else:
            # What is not enabled is not measured.
            assert inputs & StateFlag.JOINT_VELOCITY
            body.dq += step * body.u
            body.q += step * body.dq
    assert controller._situation.time_step == 0
    assert body.q.tolist() == pytest.approx([1.0, 0.0, 0.0], abs=0.02)
    assert body.dq.tolist() == pytest.approx([0.0, 0.0, 0.0], abs=0.05)


def test_metadata_does_not_name_code(tmp_path: Path) -> None:
    """A network is data: only the options may have a file or a module loaded."""
    trap = tmp_path / 'trap.py'
    trap.write_text(f'open({str(tmp_path / "sprung")!r}, "w")\ndef term(situation):\n    pass\n')
    for name in (f'{trap}:term', 'os:abort', 'mailbox:x'):
        file = identity(
            tmp_path, joint_names=','.join(NAMES), observation_names=name, action_scale='1.0'
        )
        with pytest.raises(
            CnoidControlError, match='would be code, which only the options may name'
        ):
            make({'file': str(file), 'period': 0.01})
        deploy = tmp_path / 'deploy.yaml'
        deploy.write_text(f'joint_ids_map: [0, 1, 2]\nobservations: {{"{name}": {{}}}}\n')
        with pytest.raises(
            CnoidControlError, match='would be code, which only the options may name'
        ):
            make(
                {
                    'file': str(file),
                    'metadata': str(deploy),
                    'joints': NAMES,
                    'period': 0.01,
                }
            )
    assert not (tmp_path / 'sprung').exists()


# --- several inputs, state ------------------------------------------------------------------


def test_several_inputs_and_state(tmp_path: Path) -> None:
    """The state of a recurrent network is carried, and the number of the step is an input."""
    values = {
        'file': str(counting(tmp_path / 'rnn.onnx', JOINTS)),
        'joints': NAMES,
        'observations': ['joint_position'],
        'inputs': {'h_in': 'state:h_out', 'time_step': 'time_step'},
        'period': 0.01,
    }
    controller = make(values)
    for step in range(3):
        controller.control()
        assert controller.action.tolist() == [step + 1.0] * JOINTS
        assert controller._situation.outputs['reference'].tolist() == [float(step)] * JOINTS
    with pytest.raises(CnoidControlError, match='say of all but the observation what they are'):
        make({**values, 'inputs': {'h_in': 'state:h_out'}})
    with pytest.raises(CnoidControlError, match="has no output 'h'; choose from: actions, h_out"):
        make({**values, 'inputs': {**values['inputs'], 'h_in': 'state:h'}})
    with pytest.raises(CnoidControlError, match='it cannot be carried'):
        make({**values, 'inputs': {**values['inputs'], 'h_in': 'state:actions'}})


# --- commands -------------------------------------------------------------------------------


def test_velocity_commands(tmp_path: Path) -> None:
    """A script until a message comes; within the ranges; zero when the message is old."""
    velocity = {
        'timeout': 0.025,
        'lower': [-0.5, -0.5, -1.0],
        'upper': [0.5, 0.5, 1.0],
        'script': {
            'go': {'time': 0.02, 'velocity': [0.3, 0.0, 0.0]},
            'turn': {'time': 0.03, 'velocity': [0.0, 0.0, 2.0]},
        },
    }
    controller = make(
        options(tmp_path, observations=['velocity_command'], velocity=velocity, actuators='servo')
    )
    seen = []
    for tick in range(9):
        if tick == 4:
            twist = Twist(linear=np.array([1.0, 0.2, 0.0]), angular=np.array([0.0, 0.0, 0.1]))
            controller.io.mailboxes['cmd_vel'].post(twist)
        controller.control()
        seen.append(controller.action.round(6).tolist())
    assert seen[:4] == [[0, 0, 0], [0, 0, 0], [0.3, 0, 0], [0, 0, 1]]
    assert seen[4:7] == [[0.5, 0.2, 0.1]] * 3
    assert seen[7:] == [[0, 0, 0]] * 2
    with pytest.raises(ParameterError, match='finite'):
        controller.io.mailboxes['cmd_vel'].post(Twist(linear=np.array([np.nan, 0, 0])))


def test_the_gait_stands_while_nothing_is_commanded(tmp_path: Path) -> None:
    """And goes on from its beginning afterwards."""
    velocity = {'script': {'go': {'time': 0.02, 'velocity': [0.3, 0.0, 0.0]}}}
    policy = linear(tmp_path / 'g.onnx', np.eye(JOINTS, 4), np.zeros(JOINTS))
    controller = make(
        options(
            tmp_path,
            file=str(policy),
            observations=['sin_phase', 'cos_phase'],
            velocity=velocity,
            gait={'steps': 4.0},
            actuators='servo',
        )
    )
    phases = []
    for _ in range(5):
        controller.control()
        phases.append(np.arctan2(*controller.observation.vector.reshape(2, 2)[:, :1])[0])
    expected = [np.pi, np.pi, np.pi / 2.0, np.pi, -np.pi / 2.0]
    np.testing.assert_allclose(np.cos(phases), np.cos(expected), atol=1e-9)
    np.testing.assert_allclose(np.sin(phases), np.sin(expected), atol=1e-9)


# --- metadata -------------------------------------------------------------------------------


def test_metadata_of_holosoma(tmp_path: Path) -> None:
    """Joints, gains and ranges are read; what it does not say must be given."""
    file = identity(
        tmp_path,
        dof_names=['joint1', 'joint2', 'joint0'],
        kp=[1.0, 2.0, 3.0],
        kd=[0.1, 0.2, 0.3],
        command_ranges={'lin_vel_x': [-1, 2], 'lin_vel_y': [-3, 4], 'ang_vel_yaw': [-5, 6]},
    )
    controller = make({'file': str(file), 'observations': ['joint_position'], 'period': 0.01})
    assert controller.joints.tolist() == [1, 2, 0]
    assert controller._kp.tolist() == [3.0, 1.0, 2.0]
    assert controller._kd.tolist() == [0.3, 0.1, 0.2]
    assert controller._command._upper.tolist() == [2.0, 4.0, 6.0]
    with pytest.raises(CnoidControlError, match='does not say what it observes'):
        make({'file': str(file), 'period': 0.01})


def test_metadata_of_mjlab(tmp_path: Path) -> None:
    """Joints, gains, posture, scales and terms: nothing else need be given but the period."""
    file = identity(
        tmp_path,
        9,
        joint_names='joint2,joint1,joint0',
        joint_stiffness='5,6,7',
        joint_damping='1,2,3',
        default_joint_pos='0.1,0.2,0.3',
        action_scale='0.5,0.6,0.7',
        observation_names='joint_pos,actions',
        observation_terms_scale='1;2;3,1',
        observation_terms_clip='None,-9;9',
        observation_terms_history_length='1,2',
    )
    controller = make({'file': str(file), 'period': 0.01})
    assert controller.default.tolist() == [0.3, 0.2, 0.1]
    assert controller._kp.tolist() == [7.0, 6.0, 5.0]
    assert controller.observation.layout() == [('joint_pos', 0, 3), ('actions', 3, 6)]
    controller.body.q[:] = 1.0, 1.0, 1.0
    controller.control()
    np.testing.assert_allclose(controller.action, [0.9, 1.6, 2.1], atol=1e-6)
    targets = [0.3 + 0.7 * 2.1, 0.2 + 0.6 * 1.6, 0.1 + 0.5 * 0.9]
    np.testing.assert_allclose(controller.q_target, targets, atol=1e-6)


def test_a_deployed_policy_runs_with_every_number_in_its_place(tmp_path: Path) -> None:
    """Through the controller: the action of joint i of the network arrives at the joint i."""
    deploy = tmp_path / 'deploy.yaml'
    deploy.write_text(
        """
joint_ids_map: [2, 0, 1]
step_dt: 0.02
stiffness: [5.0, 6.0, 7.0]
damping: [1.0, 2.0, 3.0]
default_joint_pos: [0.3, 0.1, 0.2]
actions:
  JointPositionAction: {scale: [0.5, 0.5, 0.25], offset: [0.3, 0.1, 0.2],
                        clip: [[-9, 9], [-9, 1.0], [-9, 9]], joint_ids: null}
observations:
  joint_pos_rel: {scale: [2.0, 2.0, 2.0], clip: null, history_length: 1}
  last_action: {scale: null, clip: [-1.0, 1.0], history_length: 2}
  gait_phase: {params: {period: 0.08}, scale: null, clip: null, history_length: 1}
"""
    )
    network = linear(tmp_path / 'policy.onnx', np.eye(3, 11), np.zeros(3))
    values = {'file': str(network), 'metadata': str(deploy)}
    with pytest.raises(
        CnoidControlError, match=r'deploy\.yaml does not name the joints: give the 3'
    ):
        make(values, robot())
    order = ['joint2', 'joint0', 'joint1']
    controller = make({**values, 'joints': order}, robot())
    # Motor 2 is joint2, motor 0 is joint0.
    assert controller._kp.tolist() == [5.0, 6.0, 7.0]
    assert controller.default.tolist() == [0.1, 0.2, 0.3]
    controller.body.q[:] = 1.1, 1.2, 1.3
    controller.control()
    np.testing.assert_allclose(controller.action, [2.0, 2.0, 2.0], atol=1e-5)
    # Scale and offset first; then joint0 is bounded by 1.
    np.testing.assert_allclose(controller.q_target, [1.0, 0.7, 1.3], atol=1e-5)
    np.testing.assert_allclose(controller.observation.vector[-2:], [0.0, 1.0], atol=1e-12)
    for _ in range(2):
        controller.control()
    np.testing.assert_allclose(controller.observation.vector[-2:], [1.0, 0.0], atol=1e-12)
    # What the configuration says of a term leaves the rest of it; it has the last word.
    changed = {'joint_pos_rel': {'clip': [-0.5, 0.5]}, 'last_action': {'history': 1}}
    network = linear(tmp_path / 'shorter.onnx', np.eye(3, 8), np.zeros(3))
    controller = make({**values, 'file': str(network), 'joints': order, 'terms': changed}, robot())
    controller.body.q[:] = 1.1, 1.2, 1.3
    controller.control()
    np.testing.assert_allclose(controller.action, [1.0, 1.0, 1.0], atol=1e-5)
    other = {**values, 'joints': order, 'period': 0.01, 'action': {'scale': 1.0}}
    controller = make(other, robot())
    assert controller._ticks == 1
    assert controller._scales.tolist() == [1.0] * 3


def test_lists_are_in_the_order_of_the_network(tmp_path: Path) -> None:
    """Gains and posture, as trainers have them; a joint that is not the policy's has its own."""
    policy = linear(tmp_path / 'two.onnx', np.eye(2), np.zeros(2))
    values = {
        'file': str(policy),
        'joints': ['joint2', 'joint0'],
        'observations': ['joint_position'],
        'period': 0.01,
        'kp': [50.0, 60.0],
        'kd': [5.0, 6.0],
        'posture': [0.2, 0.4],
    }
    controller = make(values)
    assert controller._kp.tolist() == [60.0, 20.0, 50.0]
    assert controller._kd.tolist() == [6.0, 1.0, 5.0]
    assert controller.default.tolist() == [0.4, 0.0, 0.2]
    for key in ('kp', 'kd', 'posture'):
        with pytest.raises(ParameterError, match='one value for each of joint2, joint0'):
            make({**values, key: [1.0, 2.0, 3.0]})


# --- refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('values', 'message'),
    [
        ({'file': 'missing.onnx'}, r'no policy file .*missing\.onnx.*g1_walk_ppo'),
        ({'joints': []}, 'does not name the joints: give the 3 .*joint0, joint1, joint2'),
        ({'joints': ['joint0', 'elbow', 'joint2']}, r'joints\.elbow.*choose from: joint0'),
        ({'joints': ['joint0', 'joint0', 'joint2']}, 'named twice: joint0'),
        ({'joints': ['joint0']}, 'has 3 values, and the policy has 1 joints: joint0'),
        ({'observations': []}, 'does not say what it observes'),
        (
            {'observations': ['joint_position', 'height']},
            "input 'obs' wants 3 values, and the observation has 4: joint_position 3, height 1",
        ),
        ({'observations': ['speed']}, "unknown term 'speed'; choose from: base_linear_velocity"),
        ({'terms': {'height': {'scale': 2.0}}}, r'terms\.height.*choose from: joint_position'),
        ({'terms': {'joint_position': {'scale': [1.0, 2.0]}}}, 'it needs 1 or 3 values'),
        ({'terms': {'joint_position': {'clip': [1.0]}}}, 'a lower and an upper bound'),
        ({'period': 0.0}, r'policy\.onnx does not say it: give it in seconds'),
        ({'period': 0.015}, r'a whole number of ticks of 0\.01 s.*multiple of 66\.6667 Hz'),
        ({'posture': {'elbow': 1.0}}, r'posture\.elbow'),
        ({'action': {'scale': [1.0]}}, 'it needs 1 or 3 values'),
        ({'action': {'scale_of': {'elbow': 1.0}}}, r'action\.scale_of\.elbow'),
        ({'action': {'output': 'x'}}, "has no output 'x'; choose from: actions"),
        ({'kp_of': {'elbow': 1.0}}, r'kp_of\.elbow'),
        ({'kp': 0.0}, 'neither the policy nor the model has a gain for joint0, joint1, joint2'),
        (
            {'kp': 0.0, 'actuators': 'hardware'},
            'neither the policy nor the model has a gain for joint0, joint1, joint2',
        ),
        ({'kp': -1.0}, r'kp: -1\.0 is not allowed'),
        ({'imu': 'gyro'}, "imu: 'gyro' is not allowed; no such device; choose from: imu"),
        ({'velocity': {'lower': [1.0]}}, 'it needs vx, vy and the yaw rate'),
        (
            {'velocity': {'lower': [1.0, 0.0, 0.0], 'upper': [0.5, 1.0, 1.0]}},
            r'velocity\.lower.*it is above velocity\.upper',
        ),
        (
            {'kp': 0.0, 'approach_time': 1.0, 'action': {'kind': 'effort'}},
            'neither the policy nor the model has a gain',
        ),
        ({'observations': ['device:imu.x']}, "device 'imu' measures no 'x'; choose from: "),
    ],
)
def test_what_does_not_fit_is_refused_by_name(tmp_path: Path, values, message) -> None:
    """Before anything moves, with the value and the choices."""
    observations = {'observations': ['base_angular_velocity']} if 'imu' in values else {}
    with pytest.raises(CnoidControlError, match=message):
        make(options(tmp_path, **observations) | values)


def test_a_file_that_is_no_network_is_refused(tmp_path: Path) -> None:
    """With its name."""
    file = tmp_path / 'text.onnx'
    file.write_text('hello')
    with pytest.raises(CnoidControlError, match=r'text\.onnx is no network that onnxruntime runs'):
        make({'file': str(file), 'joints': NAMES, 'observations': ['height']})


def test_options_that_change_while_it_runs(tmp_path: Path) -> None:
    """Gains, scales and velocities at once; what defines the network is refused."""
    values = options(tmp_path)
    controller = make(values)
    old = controller.io.parameters

    def change(**changes: Any) -> None:
        new = parse_parameters(PolicyParameters, {**values, **changes}, 'policy')
        change_options('policy', controller, old, new)

    change(kp_of={'joint1': 99.0}, action={'scale': 0.1})
    assert controller._kp.tolist() == [10.0, 99.0, 30.0]
    assert controller._scales.tolist() == [0.1] * 3
    for changes in (
        {'joints': NAMES[::-1]},
        {'period': 0.02},
        {'posture': {'joint0': 1.0}},
        {'gait': {'steps': 3.0}},
        {'action': {'kind': 'effort'}},
        {'kp_of': {'elbow': 1.0}},
    ):
        with pytest.raises(ParameterError, match=next(iter(changes)).split('_')[0]):
            change(**changes)
    assert controller._kp.tolist() == [10.0, 99.0, 30.0]
