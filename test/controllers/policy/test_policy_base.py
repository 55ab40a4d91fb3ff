"""Where a policy's base comes from: the hardware, or an estimator."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip('onnxruntime', reason='needs onnxruntime')
pytest.importorskip('onnx', reason='needs onnx')
pytest.importorskip('mujoco', reason='needs MuJoCo')

from networks import linear

from cnoid_control import Simulation
from cnoid_control.body import load_body
from cnoid_control.controllers.policy.recorded import RecordedObservations
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.runtime.config import load_config

SR1 = load_body('package://cnoid_control/urdf/sr1.urdf')
BASE = ['base_linear_velocity', 'base_angular_velocity', 'projected_gravity', 'height']
BASE += ['quaternion_wxyz']


def changes(folder: Path, **options: Any) -> dict[str, Any]:
    """SR1 stands by a policy whose actions are zero, and observes its base."""
    size = 14
    network = linear(folder / 'zero.onnx', np.zeros((29, size)), np.zeros(29))
    return {
        'controller': 'policy',
        'policy': {
            'file': str(network),
            'joints': SR1.joint_names,
            'observations': BASE,
            'period': 0.01,
            'kp': 3000.0,
            'kd': 60.0,
            **options,
        },
    }


def errors(folder: Path, duration: float, **options: Any) -> tuple[np.ndarray, float]:
    """Largest error of each value of the base against the truth, pushed; largest speed."""
    sim = Simulation(load_config('sr1_pd', changes(folder, base='estimator', **options)))
    truth = Simulation(load_config('sr1_pd', changes(folder, **options)))
    found, speeds = [], []
    for one in (sim, truth):
        one.run(0.3)
        one.push('WAIST', [60.0, 20.0, 0.0], 0.1)
    for _ in range(round(duration / sim.time_step)):
        sim.step()
        truth.step()
        if sim.controller._tick % 10 == 1:
            seen = sim.controller.observation.vector
            found.append(np.abs(seen - truth.controller.observation.vector))
            speeds.append(np.linalg.norm(truth.robot.root_link.v))
    for one in (sim, truth):
        one.close()
    return np.max(found, axis=0), max(speeds)


@pytest.mark.parametrize('imu', ['', 'WaistIMU'])
def test_the_estimator_says_what_the_truth_is(tmp_path: Path, imu: str) -> None:
    """Of SR1, pushed so that it sways: in the same axes, to a part of the motion."""
    error, speed = errors(tmp_path, 0.5, imu=imu)
    assert speed > 0.03
    assert error[:3].max() < 0.2 * speed
    assert error[3:6].max() < 0.02
    assert error[6:9].max() < 0.003
    assert error[9] < 0.003
    assert error[10:].max() < 0.003


@pytest.mark.parametrize('contact', ['force', 'height'])
def test_trotter_walks_by_the_estimator(contact: str) -> None:
    """At the commanded speed within a fifth; velocity and tilt close to the truth."""
    velocity = [0.5, 0.0, 0.0]
    script = {'go': {'time': 1.0, 'velocity': velocity}}
    options = {
        'file': 'trotter_walk',
        'base': 'estimator',
        'estimator': {'contact': contact},
        'velocity': {'script': script},
    }
    sim = Simulation('trotter.urdf', 'policy', options=options, changes={'rate': 500.0})
    root, errors, tilts = sim.robot.root_link, [], []
    sim.run(2.0)
    start = root.p[0]
    for _ in range(2000):
        sim.step()
        said = sim.controller.base.said
        errors.append(said['root_v'] - root.v)
        tilts.append(said['root_R'][2] @ root.R[2])
    speed = (root.p[0] - start) / 4.0
    assert not sim.summary()['fell']
    sim.close()
    assert speed == pytest.approx(0.5, rel=0.2)
    assert np.sqrt(np.square(errors).mean(axis=0)).max() < 0.03
    assert np.degrees(np.arccos(min(tilts))) < 1.0


def test_nothing_of_the_truth_is_read(tmp_path: Path) -> None:
    """A robot has no root pose: with the estimator the root link is not asked for."""
    sim = Simulation(load_config('sr1_pd', changes(tmp_path, base='estimator')))
    sim.run(0.01)
    request = sim.loop.host.request()
    assert 'WAIST' not in request.inputs
    assert {'WaistIMU', 'LeftAnkleForceSensor', 'RightAnkleForceSensor'} <= request.devices
    sim.close()


@pytest.mark.parametrize('base', ['hardware', 'estimator'])
def test_a_function_has_read_what_it_asks_of_the_base(tmp_path: Path, base: str) -> None:
    """Though no other term reads the base: it would stand still, and nobody would know."""
    own = tmp_path / 'own.py'
    own.write_text('def down(situation):\n    return situation.base.gravity()\n')
    seen = []
    for term in (f'{own}:down', 'projected_gravity'):
        given = changes(tmp_path, base=base, observations=[term])
        linear(tmp_path / 'zero.onnx', np.zeros((29, 3)), np.zeros(29))
        with Simulation(load_config('sr1_pd', given)) as sim:
            sim.push('WAIST', [60.0, 20.0, 0.0], 0.1)
            sim.run(0.3)
            seen.append(sim.controller.observation.vector.copy())
            assert ('WAIST' in sim.loop.host.request().inputs) == (base == 'hardware')
    assert np.abs(seen[0][:2]).max() > 1e-4
    assert seen[0].tolist() == seen[1].tolist()


@pytest.mark.parametrize(
    ('name', 'message'),
    [
        ('bad', "own.py:bad': AttributeError: 'Situation' object has no attribute 'nothing'"),
        ('absent', "no class or function 'absent'; choose from: bad"),
    ],
)
def test_a_function_that_fails_is_named(tmp_path: Path, name: str, message: str) -> None:
    """The term, and what there is in its file."""
    own = tmp_path / 'own.py'
    own.write_text('def bad(situation):\n    return situation.nothing\n')
    given = changes(tmp_path, observations=[f'{own}:{name}'])
    sim = Simulation(load_config('sr1_pd', given))
    with pytest.raises(CnoidControlError, match=re.escape(message)):
        sim.step()
    sim.close()


def test_an_estimator_cannot_be_told_a_recorded_base(tmp_path: Path) -> None:
    """It is said, and how to compare then."""
    np.savez(tmp_path / 'obs.npz', obs=np.zeros((1, 14)), base_quat=np.eye(4)[:1])
    sim = Simulation(load_config('sr1_pd', changes(tmp_path, base='estimator')))
    with pytest.raises(CnoidControlError, match=r'base_quat, .* policy.base: hardware'):
        RecordedObservations(tmp_path / 'obs.npz').repeat(sim.controller, 0)
    sim.close()


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'imu': 'LeftCamera'}, r'is no IMU; choose from: WaistIMU'),
        (
            {'imu': 'WaistImu'},
            r"imu: 'WaistImu' is not allowed; no such device; choose from: WaistIMU",
        ),
        ({'imu': 'WaistIMU', 'estimator': {'imu': 'Other'}}, 'the base can be but one'),
        ({'estimator': {'feet': ['Tail']}}, "unknown foot 'Tail'"),
    ],
)
def test_what_the_estimator_lacks_is_named(tmp_path: Path, options: Any, message: str) -> None:
    """Before anything moves."""
    sim = Simulation(load_config('sr1_pd', changes(tmp_path, base='estimator', **options)))
    with pytest.raises(CnoidControlError, match=message):
        sim.run(0.01)


def test_a_function_keeps_its_size(tmp_path: Path) -> None:
    """One value would be spread over two places, and nobody would know."""
    own = tmp_path / 'own.py'
    own.write_text(
        'def shrinks(situation):\n    return [1.0, 2.0] if situation.time < 0.05 else [1.0]\n'
    )
    given = changes(tmp_path, observations=[f'{own}:shrinks'])
    linear(tmp_path / 'zero.onnx', np.zeros((29, 2)), np.zeros(29))
    with Simulation(load_config('sr1_pd', given)) as sim:
        sim.run(0.2)
        summary = sim.summary()
    assert summary['exit'] == 'failed'
    reason = str(summary['reason'])
    assert "own.py:shrinks' returned 1 values at 0.0" in reason
    assert 'and 2 in its first call' in reason
