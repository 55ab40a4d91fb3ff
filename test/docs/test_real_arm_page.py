"""The controller of docs/real_arm.md, without a real arm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cnoid_control import Simulation

ROOT = Path(__file__).resolve().parents[2]
SWAY = f'{ROOT / "examples" / "sway.py"}:Sway'
SPEED = 2.0 * np.pi * 0.5


@pytest.mark.parametrize('interface', ['position', 'velocity'])
def test_every_joint_sways_and_comes_back(interface: str) -> None:
    """After half a period the joints are at the amplitude, after a whole one where they began."""
    options = {'interface': interface, 'amplitude': 0.2, 'frequency': 0.5}
    changes = {'hardware.type': 'kinematic', 'rate': 100.0}
    with Simulation(ROOT / 'urdf' / 'arm.urdf', SWAY, options=options, changes=changes) as made:
        start = made.robot.q.copy()
        made.run(1.0)
        assert made.robot.q - start == pytest.approx(0.2, abs=0.005)
        made.run(1.0)
        assert made.robot.q == pytest.approx(start, abs=0.005)
        speeds = np.abs(np.diff(made.recorded.q, axis=0)).max() / made.time_step
    assert speeds == pytest.approx(0.2 * 0.5 * SPEED, rel=0.03)


def test_the_scale_of_the_page_slows_it_down() -> None:
    """Velocities are a tenth: so is the way."""
    options = {'interface': 'velocity', 'amplitude': 0.2, 'frequency': 0.5, 'gain': 0.0}
    changes = {'hardware.type': 'kinematic', 'rate': 100.0, 'scale': 0.1}
    with Simulation(ROOT / 'urdf' / 'arm.urdf', SWAY, options=options, changes=changes) as made:
        start = made.robot.q.copy()
        made.run(1.0)
        assert made.robot.q - start == pytest.approx(0.02, abs=0.001)
