"""Walking policies of others on their robots, where the cache has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip('onnxruntime', reason='needs onnxruntime')
pytest.importorskip('mujoco', reason='needs MuJoCo')

from cnoid_control import Simulation
from cnoid_control.catalog import cached_model
from cnoid_control.runtime.config import load_config, parse_config, read_parameter_file

PAGE = Path(__file__).resolve().parents[3] / 'docs' / 'policies.md'


def example(tmp_path: Path) -> Path:
    """Configuration of the page about policies."""
    text = PAGE.read_text().split('```yaml\n')[1].split('```')[0]
    path = tmp_path / 'g1_walk.yaml'
    path.write_text(text)
    assert yaml.safe_load(text)
    return path


@pytest.mark.parametrize('policy', ['g1_walk_ppo', 'g1_walk_sac'])
def test_g1_walks_by_the_configuration_of_the_page(tmp_path: Path, policy: str) -> None:
    """Forward at about the speed that is asked for, pushed on the way, and stays on its feet."""
    for name in ('g1_holosoma', policy):
        if cached_model(name) is None:
            pytest.skip(f'{name} is not in the cache: cnoid_control get {name}')
    sim = Simulation(load_config(example(tmp_path), {'policy.file': policy}))
    sim.run(6.0)
    before = sim.robot.root_link.p.copy()
    sim.push('pelvis', [0.0, 50.0, 0.0], 0.1)
    heights = []
    for _ in range(2000):
        sim.step()
        heights.append(sim.robot.root_link.p[2])
    after = sim.robot.root_link.p.copy()
    sim.close()
    assert min(heights) > 0.6
    assert 1.2 < before[0] < 2.6
    assert 2.5 < after[0] < 5.0


def test_g1_dances_by_the_terms_of_the_page(tmp_path: Path) -> None:
    """Its joints keep to the reference that the network puts out, and it stays on its feet."""
    for name in ('g1_holosoma', 'g1_dance_sac'):
        if cached_model(name) is None:
            pytest.skip(f'{name} is not in the cache: cnoid_control get {name}')
    values = read_parameter_file(example(tmp_path))
    text = PAGE.read_text().split('```yaml\n      file: g1_dance_sac')[1].split('```')[0]
    dance = yaml.safe_load('      file: g1_dance_sac' + text)
    values['policy'] = {
        **{key: values['policy'][key] for key in ('posture', 'period')},
        **dance,
        'action': {'output': 'actions'},
    }
    values['robot']['posture'] = values['policy']['posture']
    with Simulation(parse_config(values, 'dance')) as sim:
        errors = []
        for _ in range(8):
            sim.run(1.0)
            controller = sim.controller
            reference = controller.situation.outputs['joint_pos']
            errors.append(np.abs(sim.robot.q[controller.joints] - reference).mean())
        assert not sim.summary()['fell']
        # Its arms have gone up.
        assert np.ptp(sim.recorded.q, axis=0).max() > 1.0
    assert max(errors[1:]) < 0.2
