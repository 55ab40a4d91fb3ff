"""The training of the package's own policy: it learns, its seed tells all, and what it writes."""

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs MuJoCo')
pytest.importorskip('onnxruntime', reason='needs onnxruntime')
pytest.importorskip('onnx', reason='needs onnx')

import train_trotter as training
import trotter_network as own

from cnoid_control import Simulation
from cnoid_control.controllers.policy.network import Network
from cnoid_control.controllers.policy.terms import Gait


@pytest.fixture(scope='module')
def trainer() -> training.Trainer:
    """One that plays in the test's own thread."""
    return training.Trainer(seed=3, threads=0)


def test_the_network_computes_what_was_trained(trainer, tmp_path) -> None:
    """Features and weights in numpy and in the file give the same actions."""
    random = np.random.default_rng(0)
    weights = random.normal(size=(12, own.FEATURES))
    own.save(tmp_path / 'policy.onnx', weights, trainer.robot.posture, 'a test')
    network = Network(tmp_path / 'policy.onnx')
    for _ in range(5):
        observation = random.normal(size=own.OBSERVATION)
        phases = random.uniform(-np.pi, np.pi, 2)
        observation[own.SINE], observation[own.COSINE] = np.sin(phases), np.cos(phases)
        expected = weights @ own.features(observation[None])[0]
        assert network(obs=observation)['actions'] == pytest.approx(expected, abs=1e-4)


def test_a_mirrored_robot_acts_as_in_a_mirror(trainer) -> None:
    """What is symmetric stays so, and the first trot is: left and right are alike in the robot."""
    weights = np.random.default_rng(1).normal(size=(12, own.FEATURES))
    once = own.symmetric(weights)
    assert np.abs(once - weights).max() > 0.1
    assert own.symmetric(once) == pytest.approx(once)
    first = trainer.robot.first_weights()
    assert own.symmetric(first) == pytest.approx(first, abs=1e-6)


def test_the_clock_is_the_one_of_the_controller() -> None:
    """Phases are those of `Gait`, through standing and walking."""
    gait = Gait(own.CYCLE, own.OFFSETS, own.STANDING)
    ticks = np.full(1, -1)
    going, resting = np.array([0.3, 0.0, 0.0]), np.zeros(3)
    for step, command in enumerate([going] * 5 + [resting] * 3 + [going] * 30):
        ticks, phases = training.clock(ticks, command[None])
        if step or not command.any():
            gait.advance(command)
        assert np.exp(1j * phases[0]) == pytest.approx(np.exp(1j * gait.phases))


def test_a_few_steps_of_the_search_help_and_are_the_same_again(monkeypatch) -> None:
    """The reward in scenes that were not trained with grows; the same seed gives the same."""
    monkeypatch.setattr(training, 'EPISODE', 1.6)
    found = []
    for _ in range(2):
        trainer = training.Trainer(seed=5, threads=0)
        before = trainer.assess(own.symmetric(trainer.robot.first_weights()), 16)
        steps = trainer.search(3, 12, 6, 0.05, 0.03)
        found.append([weights for weights, _ in steps][-1])
    after = trainer.assess(found[0], 16)
    assert after.rewards.mean() > before.rewards.mean()
    assert (found[0] == found[1]).all()


def test_the_script_writes_a_policy_that_stands(monkeypatch, tmp_path, capsys) -> None:
    """After one small step its file runs in the package, and it was told how it goes."""
    monkeypatch.setattr(training, 'EPISODE', 0.8)
    out = tmp_path / 'policy.onnx'
    training.main(
        ['--out', str(out), '--iterations', '1', '--pairs', '4', '--best', '2', '--threads', '0']
    )
    assert 'open loop' in capsys.readouterr().out
    with Simulation('trotter.urdf', 'policy', options={'file': str(out)}) as simulation:
        simulation.run(1.0)
        assert not simulation.summary()['fell']
