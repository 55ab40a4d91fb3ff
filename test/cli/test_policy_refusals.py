"""Whatever file says it: a wrong size, joint or gain is refused by name, before anything moves."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

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

# What a policy of each form is told: positions and velocities of the joints.
Files = tuple[dict[str, str], str, dict[str, Any]]


def by_options(joints: list[str], kp: list[float]) -> Files:
    """Everything in the configuration."""
    given = {'joints': joints, 'kp_of': dict(zip(joints, kp, strict=False))}
    return {}, '', {**given, 'observations': ['joint_position', 'joint_velocity']}


def by_mjlab(joints: list[str], kp: list[float]) -> Files:
    """Metadata of mjlab."""
    metadata = {
        'joint_names': ','.join(joints),
        'joint_stiffness': ','.join(map(str, kp)),
        'observation_names': 'joint_pos,joint_vel',
    }
    return metadata, '', {}


def by_holosoma(joints: list[str], kp: list[float]) -> Files:
    """Metadata of holosoma, which does not say what is observed."""
    metadata = {'dof_names': json.dumps(joints), 'kp': json.dumps(kp)}
    return metadata, '', {'observations': ['joint_position', 'joint_velocity']}


def by_deploy(joints: list[str], kp: list[float]) -> Files:
    """deploy.yaml, which does not name the joints."""
    term = '{params: {}, clip: null, scale: null, history_length: 1}'
    text = (
        f'joint_ids_map: {list(range(len(joints)))}\nstiffness: {kp}\n'
        f'observations: {{joint_pos_rel: {term}, joint_vel_rel: {term}}}\n'
    )
    return {}, text, {'joints': joints}


def by_env(joints: list[str], kp: list[float]) -> Files:
    """env.yaml, which does not say the order of the joints."""
    gains = dict(zip(joints, kp, strict=False))
    actuators = {'all': {'joint_names_expr': joints, 'stiffness': gains, 'damping': None}}
    terms = {
        name: {'func': f'isaaclab.envs.mdp.observations:{name}', 'params': {}}
        for name in ('joint_pos_rel', 'joint_vel_rel')
    }
    content = {
        'sim': {'dt': 0.005},
        'decimation': 4,
        'scene': {'robot': {'actuators': actuators}},
        'observations': {'policy': terms},
    }
    return {}, json.dumps(content), {'joints': joints}


FORMS = [by_options, by_mjlab, by_holosoma, by_deploy, by_env]
Form = Callable[[list[str], list[float]], Files]


def refusal(
    form: Form, capsys, inputs: int, joints: list[str], kp: list[float] | None = None
) -> str:
    """What the command says of a policy in one of the forms."""
    gains = [100.0] * len(joints) if kp is None else kp
    metadata, beside, options = form(joints, gains)
    linear(Path('policy.onnx'), np.zeros((SIZE, inputs)), np.zeros(SIZE), metadata)
    policy = {'file': 'policy.onnx', 'period': 0.02, 'kd': 1.0, **options}
    if beside:
        Path('beside.yaml').write_text(beside)
        policy['metadata'] = 'beside.yaml'
    values = {'robot': {'model': 'arm'}, 'rate': 500.0, 'controller': 'policy', 'policy': policy}
    Path('config.yaml').write_text(json.dumps({'/**': {'ros__parameters': values}}))
    status = main(['policy', 'config.yaml', '--option', 'actuators=servo'])
    captured = capsys.readouterr()
    assert (status == 0) == (not captured.err)
    return captured.err


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder of its own."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize('form', FORMS)
def test_what_fits_is_accepted(form: Form, capsys) -> None:
    """Each of the forms says enough."""
    assert not refusal(form, capsys, 2 * SIZE, ARM)


@pytest.mark.parametrize('form', FORMS)
@pytest.mark.parametrize('more', [-1, 1])
def test_observations_of_another_size(form: Form, capsys, more: int) -> None:
    """The terms and their sizes are listed."""
    text = refusal(form, capsys, 2 * SIZE + more, ARM)
    wanted = f"input 'obs' wants {2 * SIZE + more} values, and the observation has {2 * SIZE}: "
    assert wanted in text
    names = ['joint_position', 'joint_velocity']
    if form is by_mjlab:
        names = ['joint_pos', 'joint_vel']
    elif form in (by_deploy, by_env):
        names = ['joint_pos_rel', 'joint_vel_rel']
    assert ', '.join(f'{name} {SIZE}' for name in names) in text


@pytest.mark.parametrize('form', FORMS)
def test_unknown_joints(form: Form, capsys) -> None:
    """By name, with the joints that there are."""
    text = refusal(form, capsys, 2 * SIZE, [*ARM[:-1], 'elbow'])
    assert 'elbow' in text
    assert f'choose from: {", ".join(ARM)}' in text


@pytest.mark.parametrize('form', FORMS)
def test_another_number_of_joints(form: Form, capsys) -> None:
    """Than the network has actions."""
    text = refusal(form, capsys, 2 * SIZE - 2, ARM[:-1])
    assert f"output 'actions' of policy.onnx has {SIZE} values" in text
    assert f'the policy has {SIZE - 1} joints: {", ".join(ARM[:-1])}' in text


@pytest.mark.parametrize('form', [by_mjlab, by_holosoma, by_deploy])
def test_lists_of_gains_of_another_size(form: Form, capsys) -> None:
    """The list and the sizes are named."""
    text = refusal(form, capsys, 2 * SIZE, ARM, [100.0] * (SIZE - 1))
    assert f'has {SIZE - 1} values' in text


@pytest.mark.parametrize('form', FORMS)
def test_missing_gains(form: Form, capsys) -> None:
    """A joint without one would fall: it is named, where gains are used."""
    text = refusal(form, capsys, 2 * SIZE, ARM, [*[100.0] * (SIZE - 1), 0.0])
    assert not text
    assert main(['policy', 'config.yaml']) == 1
    assert f'neither the policy nor the model has a gain for {ARM[-1]}' in capsys.readouterr().err
