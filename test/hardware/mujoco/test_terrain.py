"""Uneven ground."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from cnoid_control import Simulation
from cnoid_control.evaluation.runner import Runner, load_runs
from cnoid_control.exceptions import CnoidControlError

KEY = 'hardware.mujoco.terrain'


def standing(config: str, seed: int = 3, **terrain: float) -> Simulation:
    """A robot on uneven ground, before its first tick."""
    changes = {f'{KEY}.{name}': value for name, value in terrain.items()}
    return Simulation(config, changes={**changes, 'hardware.mujoco.seed': seed}, record=False)


@pytest.mark.parametrize(
    'terrain',
    [{'roughness': 0.2}, {'slope': 12.0, 'heading': 30.0}, {'slope': 30.0, 'roughness': 0.5}],
)
def test_heights_are_where_rays_hit(terrain):
    """The function of the ground and MuJoCo's own geometry agree everywhere."""
    simulation = standing('block', **terrain)
    model, data = simulation.hardware.model, simulation.hardware.data
    mujoco.mj_forward(model, data)
    random = np.random.default_rng(0)
    geom = np.zeros(1, dtype=np.int32)
    own = int(simulation.hardware._mapping.links[0])
    for x, y in random.uniform(-9.9, 9.9, (200, 2)):
        start = np.array([x, y, 20.0])
        distance = mujoco.mj_ray(
            model, data, start, np.array([0.0, 0.0, -1.0]), None, 1, own, geom
        )
        assert simulation.hardware.terrain.height(x, y) == pytest.approx(20.0 - distance, abs=1e-5)


def test_a_slope_rises_where_it_is_told_to():
    """By the tangent, in the direction of the heading."""
    ground = standing('block', slope=10.0, heading=90.0).hardware.terrain
    assert ground.height(0.0, 2.0) == pytest.approx(2.0 * np.tan(np.radians(10.0)), abs=1e-5)
    assert ground.height(2.0, 0.0) == pytest.approx(0.0, abs=1e-5)


def test_bumps_follow_from_the_seed():
    """Between the lowest and the highest is the roughness."""
    one, same, other = (
        standing('block', seed, roughness=0.1).hardware.terrain for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.heights, same.heights)
    assert not np.array_equal(one.heights, other.heights)
    assert np.ptp(one.heights) == pytest.approx(0.1, abs=1e-3)


@pytest.mark.parametrize('terrain', [{'roughness': 0.05}, {'slope': 8.0}, {'slope': 20.0}])
@pytest.mark.parametrize('config', ['sr1_pd', 'trotter'])
def test_a_robot_begins_at_the_surface(config, terrain):
    """It touches the ground and is not in it; elsewhere it is as high above the ground."""
    for place in ([0.0, 0.0, 0.0], [3.0, 2.0, 0.0]):
        changes = {f'{KEY}.{name}': value for name, value in terrain.items()}
        changes['hardware.mujoco.deviations.position'] = place
        simulation = Simulation(config, changes=changes, record=False)
        simulation.step()
        model, data = simulation.hardware.model, simulation.hardware.data
        depths = [-contact.dist for contact in data.contact]
        assert max(depths, default=0.0) < 1e-4
        # SR1 begins 5.5 mm above the floor.
        data.qpos[2] -= 8e-3
        mujoco.mj_forward(model, data)
        assert max(-contact.dist for contact in data.contact) > 1e-3


def test_downhill_is_no_fall():
    """A robot is as high as it is above the ground below it."""
    place = {'hardware.mujoco.deviations.position': [-8.0, 0.0, 0.0], f'{KEY}.slope': 15.0}
    simulation = Simulation('sr1_pd', changes=place, record=False)
    assert simulation.robot.root_link.p[2] < -1.0
    assert not simulation.run(0.05)['fell']


def test_randomised_ground_shares_a_compiled_model():
    """Every run has its own ground, the same as alone."""
    section = {
        'terrain.roughness': {'uniform': [0.01, 0.05]},
        'terrain.slope': {'uniform': [0.0, 5.0]},
        'terrain.heading': {'uniform': [-180.0, 180.0]},
        'com.WAIST': {'normal': [0.0, 0.01]},
    }
    runner = Runner(load_runs('sr1_pd', section, duration=0.05))
    models = set()
    for run in (0, 1, 2, 1):
        simulation = runner.simulation(run, record=True)
        models.add(id(simulation.hardware.model))
        simulation.run(0.05)
        alone = Simulation(runner.config(run))
        alone.run(0.05)
        np.testing.assert_array_equal(simulation.recorded.rows, alone.recorded.rows)
    assert len(models) == 1


def test_ground_that_cannot_be_is_refused(tmp_path):
    """Without a floor, under a file that has one, and what is too steep."""
    with pytest.raises(CnoidControlError, match='none without a floor'):
        Simulation('sr1_pd', changes={f'{KEY}.slope': 5.0, 'hardware.mujoco.floor': False})
    with pytest.raises(CnoidControlError, match='must lie in'):
        Simulation('sr1_pd', changes={f'{KEY}.slope': 50.0})
    path = tmp_path / 'own.xml'
    path.write_text(
        '<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="b" pos="0 0 1">'
        '<freejoint/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    with pytest.raises(CnoidControlError, match='has a ground of its own'):
        Simulation(path, changes={f'{KEY}.slope': 5.0})
    with pytest.raises(CnoidControlError, match='rough: unknown; choose from: roughness'):
        Runner(load_runs('sr1_pd', {'terrain.rough': 0.1}, duration=0.1))
