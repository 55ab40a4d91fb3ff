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


@pytest.mark.parametrize(('scale', 'sinks'), [(1.0, False), (0.5, True)])
def test_gravity_torques_alone_hold_the_arm(scale: float, sinks: bool) -> None:
    """Without gains `pd` commands the page's gravity torques; half of them do not hold it."""
    options = {'kp': 0.0, 'kd': 0.0}
    changes = {'rate': 500.0, 'scale': scale, 'robot.posture': {'joint2': 0.6, 'joint4': 1.2}}
    with Simulation(ROOT / 'urdf' / 'arm.urdf', 'pd', options=options, changes=changes) as made:
        start = made.robot.q.copy()
        made.run(2.0)
        moved = np.abs(made.robot.q - start).max()
        first = made.recorded.u[0]
    assert first == pytest.approx([0.0, -28.29, 0.0, -12.34, 0.0, -1.14, 0.0], abs=0.02)
    assert moved > 0.9 if sinks else moved < 0.3
