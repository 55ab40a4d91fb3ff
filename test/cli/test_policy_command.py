"""`cnoid_control policy`: what a policy is told, and what is wrong with a recorded observation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('onnxruntime', reason='needs onnxruntime')
pytest.importorskip('onnx', reason='needs onnx')
pytest.importorskip('mujoco', reason='needs MuJoCo')

from networks import linear

from cnoid_control import load_robot
from cnoid_control.cli.main import main

ARM = load_robot('arm').joint_names
SIZE = len(ARM)
# Another order than the robot's, distinct places, and a default posture.
ORDER = [*ARM[1::2], *ARM[::2]]
START = {name: 0.1 + 0.07 * i for i, name in enumerate(ARM)}
DEFAULT = {name: 0.03 * (i + 1) for i, name in enumerate(ARM)}
TERMS = ['projected_gravity', 'joint_position', 'joint_velocity', 'last_action', 'extra']
GRAVITY, EXTRA = [0.0, 0.0, -1.0], [1.0, 2.0]

CONFIG = """
/**:
  ros__parameters:
    robot:
      model: arm
      posture: {posture}
    rate: 100.0
    controller: policy
    policy:
      file: policy.onnx
      joints: {joints}
      observations: {terms}
      terms:
        joint_velocity: {{scale: 0.05}}
        extra: {{source: constant, value: {extra}, clip: [0.0, 1.5]}}
      posture: {default}
      action: {{scale: 0.5}}
      period: 0.02
      kp: 10.0
      kd: 1.0
      actuators: servo
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder with a configuration and a network."""
    size = len(GRAVITY) + 3 * SIZE + len(EXTRA)
    linear(tmp_path / 'policy.onnx', np.zeros((SIZE, size)), np.full(SIZE, 0.01))
    text = CONFIG.format(
        posture=json.dumps(START),
        joints=ORDER,
        terms=TERMS,
        extra=EXTRA,
        default=json.dumps(DEFAULT),
    )
    (tmp_path / 'arm_policy.yaml').write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def expected() -> np.ndarray:
    """The first observation, by hand."""
    positions = [START[name] - DEFAULT[name] for name in ORDER]
    return np.array([*GRAVITY, *positions, *[0.0] * SIZE, *[0.0] * SIZE, 1.0, 1.5])


def call(capsys: pytest.CaptureFixture, *words: str) -> tuple[int, dict]:
    """Exit status and JSON of the command."""
    status = main(['policy', 'arm_policy.yaml', '--json', *words])
    return status, json.loads(capsys.readouterr().out)


def test_layout(folder: Path, capsys: pytest.CaptureFixture) -> None:
    """Every value of the first observation has a term, a place and a name."""
    status, facts = call(capsys)
    assert status == 0
    assert facts['inputs'] == {'obs': 5 + 3 * SIZE}
    assert facts['outputs'] == {'actions': SIZE}
    assert (facts['period'], facts['action'], facts['metadata']) == (0.02, 'position', '')
    rows = facts['observation']
    assert [row['term'] for row in rows] == TERMS
    assert [row['first'] for row in rows] == np.cumsum([0, 3, SIZE, SIZE, SIZE]).tolist()
    values = np.concatenate([row['values'] for row in rows])
    np.testing.assert_allclose(values, expected(), atol=1e-9)
    assert rows[1]['elements'] == ORDER
    assert rows[2]['scale'] == [0.05] * SIZE
    assert (rows[4]['source'], rows[4]['clip']) == ('constant', [0.0, 1.5])
    joints = facts['joints']
    assert [row['joint'] for row in joints] == ORDER
    for row in joints:
        assert row['joint_id'] == ARM.index(row['joint'])
        assert row['default'] == row['offset'] == DEFAULT[row['joint']]
        assert (row['kp'], row['kd'], row['scale']) == (10.0, 1.0, 0.5)


def test_values_after_a_while(folder: Path, capsys: pytest.CaptureFixture) -> None:
    """They are those of the last inference before that time."""
    status, facts = call(capsys, '--duration', '0.5')
    assert status == 0
    assert facts['observation'][3]['values'] == pytest.approx([0.01] * SIZE)
    assert max(map(abs, facts['observation'][2]['values'])) > 1e-4


def test_table(folder: Path, capsys: pytest.CaptureFixture) -> None:
    """People get the same as two tables."""
    assert main(['policy', 'arm_policy.yaml']) == 0
    text = capsys.readouterr().out
    assert f'inputs: obs {5 + 3 * SIZE} (observation)' in text
    assert f'outputs: actions {SIZE} (position)' in text
    for word in ('0:3', 'projected_gravity', '0 to 1.5', *ORDER):
        assert word in text


def save(folder: Path, vector: np.ndarray) -> str:
    """Recorded file with a vector as its second row."""
    np.savez(folder / 'obs.npz', obs=np.vstack([0.0 * vector, vector]).astype(np.float32))
    return 'obs.npz'


JOINT = slice(3, 3 + SIZE)


def mistakes() -> dict[str, tuple[np.ndarray, str, str]]:
    """Recorded vectors with the usual mistakes: vector, element that differs first, hint."""
    right = expected()

    def changed(part: slice, values: object) -> np.ndarray:
        vector = right.copy()
        vector[part] = values
        return vector

    in_robot_order = [START[name] - DEFAULT[name] for name in ARM]
    signs = right[JOINT].copy()
    signs[2] *= -1.0
    return {
        'order': (
            changed(JOINT, in_robot_order),
            ORDER[0],
            f'another order, in the recorded one: {", ".join(ARM)}',
        ),
        'sign': (changed(JOINT, signs), ORDER[2], f'opposite sign at {ORDER[2]}'),
        'all signs': (changed(slice(0, 3), [0, 0, 1]), 'z', 'scale times -1'),
        'scale': (
            changed(JOINT, 0.25 * right[JOINT]),
            ORDER[0],
            'the recorded one is 0.25 times this one (terms.joint_position.scale: 0.25)',
        ),
        'absolute': (
            changed(JOINT, [START[name] for name in ORDER]),
            ORDER[0],
            'not relative to the default posture (absolute_joint_position)',
        ),
        'terms': (
            np.concatenate([right[3:-2], right[:3], right[-2:]]),
            'x',
            f'the values of projected_gravity are at {3 * SIZE} to {3 * SIZE + 2}',
        ),
        'unknown': (changed(slice(4, 5), 9.0), ORDER[1], ''),
    }


@pytest.mark.parametrize('name', list(mistakes()))
def test_the_usual_mistakes_are_named(folder: Path, capsys, name: str) -> None:
    """The first term and joint that differs, by how much, and what would make it equal."""
    vector, element, hint = mistakes()[name]
    status, facts = call(capsys, '--compare', save(folder, vector), '--row', '1')
    assert status == 1
    found = facts['difference']
    assert found['element'] == element
    index = int(np.flatnonzero(np.abs(vector - expected()) > 1e-3)[0])
    assert found['index'] == index
    assert found['ours'] == pytest.approx(expected()[index])
    assert found['recorded'] == pytest.approx(vector[index], rel=1e-6)
    assert any(hint in text for text in found['hints']) if hint else not found['hints']
    assert main(['policy', 'arm_policy.yaml', '--compare', 'obs.npz', '--row', '1']) == 1
    text = capsys.readouterr().out
    assert f'not equal to obs.npz row 1: first at {index}, {found["term"]} of {element}' in text
    assert hint in ' '.join(text.split())


@pytest.mark.parametrize('file', ['obs.npz', 'obs.npy', 'obs.csv', 'named.csv'])
def test_equal(folder: Path, capsys, file: str) -> None:
    """In each form of file: one vector, or rows."""
    vector = expected()
    if file == 'obs.npz':
        np.savez(folder / file, other=vector[:3], obs=vector)
    elif file == 'obs.npy':
        np.save(folder / file, vector[None, :].astype(np.float32))
    else:
        head = ','.join(f'o{i}' for i in range(vector.size)) + '\n' if file == 'named.csv' else ''
        (folder / file).write_text(head + ','.join(map(str, vector)) + '\n')
    status, facts = call(capsys, '--compare', file)
    assert (status, facts['difference']) == (0, None)
    assert main(['policy', 'arm_policy.yaml', '--compare', file]) == 0
    assert f'equal to {file} row 0' in capsys.readouterr().out


def test_recorded_states_are_repeated(folder: Path, capsys) -> None:
    """The observation is computed from the states of the file, with their histories."""
    rng = np.random.default_rng(3)
    positions, velocities, actions = rng.normal(size=(3, 4, SIZE))
    default = np.array([DEFAULT[name] for name in ORDER])
    angle = 0.4
    rows = []
    for row in range(4):
        before = max(0, row - 1)
        gravity = [0.0, -np.sin(angle), -np.cos(angle)]
        history = [*(positions[before] - default), *(positions[row] - default)]
        rows.append([*gravity, *history, *(0.05 * velocities[row]), *actions[row], 1.0, 1.5])
    quaternion = np.tile([np.cos(angle / 2.0), np.sin(angle / 2.0), 0.0, 0.0], (4, 1))
    size = 5 + 4 * SIZE
    linear(folder / 'policy.onnx', np.zeros((SIZE, size)), np.zeros(SIZE))
    state = {
        'joint_pos': positions,
        'joint_vel': velocities,
        'last_action': actions,
        'base_quat': quaternion,
    }
    np.savez(folder / 'obs.npz', obs=np.array(rows), **state)
    words = ('--set', 'policy.terms.joint_position.history=2', '--compare', 'obs.npz', '--row')
    for row in ('0', '3'):
        status, facts = call(capsys, *words, row)
        assert (status, facts['difference']) == (0, None)
    np.savez(folder / 'obs.npz', obs=np.array(rows), **{**state, 'joint_vel': -velocities})
    status, facts = call(capsys, *words, '3')
    assert status == 1
    assert facts['difference']['term'] == 'joint_velocity'
    assert any('opposite sign' in hint for hint in facts['difference']['hints'])


def test_a_base_at_another_place_is_told(folder: Path, capsys) -> None:
    """A recorded velocity is that of the IMU, and here it is that of the root."""
    (folder / 'box.xml').write_text(
        '<mujoco><worldbody><body pos="0 0 1"><freejoint/><geom size="0.1"/>'
        '<site name="imu" pos="0.2 0 0"/><body><joint name="wheel"/><geom size="0.1"/></body>'
        '</body></worldbody><sensor><gyro name="gyro" site="imu"/>'
        '<accelerometer name="acc" site="imu"/></sensor></mujoco>'
    )
    linear(folder / 'box.onnx', np.zeros((1, 3)), np.zeros(1))
    policy = {
        'file': 'box.onnx',
        'joints': ['wheel'],
        'observations': ['base_linear_velocity'],
        'period': 0.01,
        'kp': 1.0,
    }
    values = {
        'robot': {'model': 'box.xml', 'base': 'floating'},
        'rate': 100.0,
        'controller': 'policy',
        'policy': policy,
    }
    (folder / 'box.yaml').write_text(json.dumps({'/**': {'ros__parameters': values}}))
    # It moves forward and turns left at 1 rad/s: the IMU in front moves to the left besides.
    state = {'base_lin_vel': [0.5, 0.0, 0.0], 'base_ang_vel': [0.0, 0.0, 1.0]}
    np.savez(folder / 'box.npz', obs=[0.5, 0.2, 0.0], **state)
    words = ['policy', 'box.yaml', '--json', '--compare', 'box.npz']
    assert main(words) == 1
    found = json.loads(capsys.readouterr().out)['difference']
    assert (found['term'], found['element']) == ('base_linear_velocity', 'y')
    (hint,) = found['hints']
    name = hint.rpartition(' ')[2]
    assert 'may be of another place' in hint
    assert main([*words, '--option', f'imu={name}']) == 0


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['--compare', 'none.npz'], 'none.npz cannot be read'),
        (['--compare', 'obs.txt'], 'a .npz, .npy or .csv file was expected'),
        (['--compare', 'short.npy'], 'has 4 values, and this one has'),
        (['--compare', 'short.npy', '--row', '7'], 'has no row 7: it has 1, from 0'),
        (['--compare', 'two.npz'], "has no array 'obs' with observations; choose from: a, b"),
        (['--compare', 'state.npz'], 'joint_pos has 2 values'),
        (['--row', '3'], '--row and --key are for --compare'),
        (['--tolerance', '-1'], '--tolerance -1 is not a number of 0 or more'),
        (['--set', 'policy.file=none.onnx'], 'no policy file'),
        (
            ['--option', f'observations={TERMS[1:]}'],
            f'the observation has {2 + 3 * SIZE}: joint_position {SIZE}, joint_velocity {SIZE}',
        ),
        (['--controller', 'pd'], 'no controller of arm_policy is a policy'),
    ],
)
def test_what_cannot_be_shown_is_refused(folder: Path, capsys, words, message) -> None:
    """By name, with exit status 1 and nothing on the standard output."""
    np.save(folder / 'short.npy', np.zeros(4))
    np.savez(folder / 'two.npz', a=np.zeros(3), b=np.zeros(3))
    np.savez(folder / 'state.npz', obs=expected(), joint_pos=np.zeros(2))
    assert main(['policy', 'arm_policy.yaml', *words]) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert not captured.out


def test_a_history_of_the_other_kind_is_told(folder: Path, capsys) -> None:
    """Period by period instead of term by term, in both orders; nothing else is guessed then."""
    size = len(GRAVITY) + 3 * SIZE + len(EXTRA)
    linear(folder / 'policy.onnx', np.zeros((SIZE, 2 * size)), np.full(SIZE, 0.5))
    words = ('--set', 'policy.history=2', '--duration', '0.1')
    _, facts = call(capsys, *words)
    rows = [np.array(row['all_values']) for row in facts['observation']]
    assert [row.shape for row in rows] == [(2, row['size']) for row in facts['observation']]
    assert (rows[2][0] != rows[2][1]).any()
    for order, step in (('oldest_first', 1), ('newest_first', -1)):
        whole = np.concatenate([row[::step] for row in rows], axis=1).reshape(-1)
        status, facts = call(capsys, *words, '--compare', save(folder, whole), '--row', '1')
        assert status == 1
        (hint,) = facts['difference']['hints']
        assert hint.startswith('the values are those of another history: ')
        assert hint.endswith(f'history_of: whole and history_order: {order}')
        given = ('--set', 'policy.history_of=whole', '--set', f'policy.history_order={order}')
        assert call(capsys, *words, *given, '--compare', 'obs.npz', '--row', '1')[0] == 0
        term = np.concatenate([row[::step].reshape(-1) for row in rows])
        status, facts = call(capsys, *words, *given, '--compare', save(folder, term), '--row', '1')
        assert facts['difference']['hints'][0].endswith(
            f'history_of: term and history_order: {order}'
        )


def test_a_delay_is_shown(folder: Path, capsys) -> None:
    """In the table and in the data."""
    delayed = ('--set', 'policy.terms.joint_velocity.delay=3')
    _, facts = call(capsys, *delayed)
    assert [row['delay'] for row in facts['observation']] == [0, 0, 3, 0, 0]
    assert facts['imu'] == ''
    assert main(['policy', 'arm_policy.yaml', *delayed]) == 0
    assert ', 3 ticks old' in capsys.readouterr().out
