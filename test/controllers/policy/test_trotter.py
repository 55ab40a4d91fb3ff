"""The package's own policy: Trotter goes where it is told to, stands, and bears a push."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('onnxruntime', reason='needs onnxruntime')
pytest.importorskip('mujoco', reason='needs MuJoCo')
pytest.importorskip('onnx', reason='needs onnx')

from networks import linear

from cnoid_control import Simulation


def trotter(velocity: list[float], rate: float = 500.0, base: str = 'hardware') -> Simulation:
    """Trotter that is told a velocity after one second."""
    script = {'go': {'time': 1.0, 'velocity': velocity}}
    options = {'file': 'trotter_walk', 'base': base, 'velocity': {'script': script}}
    return Simulation('trotter.urdf', 'policy', options=options, changes={'rate': rate})


def heading(simulation: Simulation) -> float:
    """Direction in which the trunk looks [rad]."""
    forward = simulation.robot.root_link.R[:, 0]
    return float(np.arctan2(forward[1], forward[0]))


def mean_velocity(simulation: Simulation, duration: float) -> np.ndarray:
    """Forward and to the left [m/s], turning left [rad/s], in the mean of a time [s]."""
    robot, moved = simulation.robot, np.zeros(3)
    ticks = round(duration / simulation.time_step)
    for _ in range(ticks):
        place, angle = robot.root_link.p.copy(), heading(simulation)
        simulation.step()
        way = robot.root_link.p - place
        moved[0] += np.cos(angle) * way[0] + np.sin(angle) * way[1]
        moved[1] += np.cos(angle) * way[1] - np.sin(angle) * way[0]
        turn = heading(simulation) - angle
        moved[2] += (turn + np.pi) % (2.0 * np.pi) - np.pi
    return moved / duration


@pytest.mark.parametrize('base', ['hardware', 'estimator'])
@pytest.mark.parametrize('rate', [250.0, 500.0, 1000.0])
def test_it_walks_at_the_commanded_speed(rate: float, base: str) -> None:
    """Five seconds forward, within a fifth of the command, and on its feet."""
    with trotter([0.5, 0.0, 0.0], rate, base) as simulation:
        simulation.run(2.0)
        reached = mean_velocity(simulation, 5.0)
        summary = simulation.summary()
    assert not summary['fell']
    assert summary['max_tilt_deg'] < 15.0
    assert reached[0] == pytest.approx(0.5, rel=0.2)
    assert abs(reached[1]) < 0.1
    assert abs(reached[2]) < 0.1


@pytest.mark.parametrize('velocity', [[-0.3, 0.0, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, -0.6]])
def test_it_walks_backward_and_sideways_and_turns(velocity: list[float]) -> None:
    """What is commanded is reached within a fifth; what is not stays small."""
    with trotter(velocity) as simulation:
        simulation.run(2.0)
        reached = mean_velocity(simulation, 4.0)
        assert not simulation.summary()['fell']
    wanted = np.array(velocity)
    assert (np.abs(reached - wanted) < np.where(wanted, 0.2 * np.abs(wanted), 0.1)).all(), reached


def test_it_stands_where_nothing_is_commanded() -> None:
    """Neither its place nor its joints move once it stands."""
    with trotter([0.0, 0.0, 0.0]) as simulation:
        simulation.run(1.0)
        place = simulation.robot.root_link.p.copy()
        simulation.run(3.0)
        assert np.abs(simulation.robot.root_link.p - place).max() < 0.01
        assert np.abs(simulation.recorded.dq[-500:]).max() < 0.05


@pytest.mark.parametrize('velocity', [[0.0, 0.0, 0.0], [0.4, 0.0, 0.0]])
@pytest.mark.parametrize('force', [[50.0, 0.0, 0.0], [0.0, 50.0, 0.0], [0.0, -50.0, 0.0]])
def test_it_bears_a_push(velocity: list[float], force: list[float]) -> None:
    """50 N for 0.1 s, half of its weight, while it stands and while it walks."""
    with trotter(velocity) as simulation:
        simulation.run(2.5)
        simulation.push('trunk', force, 0.1)
        simulation.run(2.0)
        reached = mean_velocity(simulation, 1.0)
        assert not simulation.summary()['fell']
    assert reached[0] == pytest.approx(velocity[0], abs=0.1)


def test_the_configuration_is_the_file_alone() -> None:
    """Joints, gains, posture, terms, ranges, period and gait are what the file says."""
    with Simulation('trotter.urdf', 'policy', options={'file': 'trotter_walk'}) as simulation:
        controller = simulation.controller
        known = controller.known
        assert known.joints == simulation.robot.joint_names
        assert set(known.kp.values()) == {60.0}
        assert set(known.kd.values()) == {1.5}
        assert known.default['front_left_knee'] == -1.5
        assert len(known.observations) == 7
        assert len(controller.observation.refresh()) == 37
        assert known.lower == [-0.4, -0.25, -0.8]
        assert known.upper == [0.6, 0.25, 0.8]
        assert known.period == 0.02
        assert known.gait['steps'] == 20.0
        simulation.run(1.0)
        assert not simulation.summary()['fell']
    file = controller.network.file
    assert file.name == 'trotter_walk.onnx'
    assert file.stat().st_size < 200_000


def test_its_posture_is_not_the_one_in_which_it_takes_over(tmp_path: Path) -> None:
    """Where nobody states the default posture it is that of the start, also after a swap."""
    options = {
        'file': str(linear(tmp_path / 'zero.onnx', np.zeros((12, 12)), np.zeros(12))),
        'observations': ['joint_position'],
        'period': 0.02,
        'kp': 60.0,
        'kd': 1.5,
    }
    with trotter([0.4, 0.0, 0.0]) as simulation:
        names = simulation.robot.joint_names
        start = simulation.robot.q.copy()
        simulation.run(2.11)
        assert np.abs(simulation.robot.q - start).max() > 0.1
        simulation.swap('policy', {**options, 'joints': names, 'terms': {}})
        assert simulation.controller.default == pytest.approx(start)
