"""docs/controllers.md: the computed-torque law on the page holds an arm, and steers it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from cnoid_control import Simulation

TEXT = (Path(__file__).parents[2] / 'docs' / 'controllers.md').read_text()


def test_the_law_by_computed_torque(tmp_path):
    """A step is followed as by a double pole at 10 rad/s, whatever the robot's inertia is."""
    found = re.search(r'<!-- runs: computed_torque -->\n```python\n(.*?)```', TEXT, re.S)
    assert found is not None
    (tmp_path / 'law.py').write_text(found[1])
    changes = {'robot.posture': {'joint2': 0.4, 'joint4': 0.5}}
    with Simulation('arm', f'{tmp_path / "law.py"}:ComputedTorque', changes=changes) as simulation:
        held = simulation.robot.q.copy()
        simulation.run(0.5)
        assert np.abs(simulation.robot.q - held).max() < 1e-3
        simulation.controller.body.q_target += 0.05
        assert simulation.run(1.0)['exit'] == 'completed'
        t = np.arange(1000) * 0.001
        expected = 0.05 * (1.0 - (1.0 + 10.0 * t) * np.exp(-10.0 * t))
        moved = simulation.recorded.q[-1000:] - held
        assert np.abs(moved - expected[:, None]).max() < 0.002
