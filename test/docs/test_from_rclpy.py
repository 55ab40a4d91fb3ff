"""docs/from_rclpy.md: the controller on the page holds a robot as the plain node would."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from cnoid_control import Simulation

TEXT = (Path(__file__).parents[2] / 'docs' / 'from_rclpy.md').read_text(encoding='utf-8')


def test_the_law_is_the_one_of_the_plain_node(tmp_path):
    """The efforts of a run are those of the formula, from what was measured."""
    found = re.search(r'<!-- runs: hold -->\n```python\n(.*?)```', TEXT, re.DOTALL)
    assert found is not None
    (tmp_path / 'hold.py').write_text(found[1])
    with Simulation('arm', f'{tmp_path / "hold.py"}:Hold') as simulation:
        start = simulation.robot.q.copy()
        assert simulation.run(0.3)['exit'] == 'completed'
        measured = simulation.recorded
        expected = 100.0 * (start - measured.q) - 5.0 * measured.dq
        limits = simulation.robot
        inside = (expected > limits.u_lower) & (expected < limits.u_upper)
        np.testing.assert_allclose(measured.u[inside], expected[inside], atol=1e-9)
        assert inside.mean() > 0.5
    # Both are written for the same gains.
    assert TEXT.count('100.0 * (self.q_ref - self') == 2
    assert TEXT.count('- 5.0 * self') == 2
