"""How a policy ends: its successor, nonsense, and a network that stalls."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip('onnxruntime', reason='needs onnxruntime')
pytest.importorskip('mujoco', reason='needs MuJoCo')

from cnoid_control import Simulation
from cnoid_control.runtime.config import load_config

# The angular velocity of the base, until something is wrong.
TERM = """
import math
import time

import numpy as np


def spoilt(situation):
    rate = situation.body.root_link.w @ situation.body.root_link.R
    if situation.time < 2.0:
        return rate
    {then}
"""


def walk(**changes: Any) -> Simulation:
    """Trotter walks from the first second on; who comes then stands by PD."""
    values = {
        'then': 'stand',
        'standby': {'stand': {'type': 'pd'}},
        'stand': {'move_time': 0.5, 'kp': 60.0, 'kd': 1.5},
        **changes,
    }
    return Simulation(load_config('trotter_walk', values), os=io.StringIO())


def spoil(folder: Path, then: str) -> dict[str, Any]:
    """Changes with which the policy observes something else after two seconds."""
    (folder / 'terms.py').write_text(TERM.format(then=then))
    term = {'source': f'{folder / "terms.py"}:spoilt', 'scale': 0.25}
    return {'policy.terms': {'base_ang_vel': term}}


def commands(sim: Simulation, duration: float) -> np.ndarray:
    """Efforts that are sent [N m], shape (ticks, joints)."""
    sent = []
    for _ in range(round(duration / sim.time_step)):
        sim.step()
        sent.append(sim.robot.u.copy())
    return np.array(sent)


def test_a_clip_that_ends_is_followed_by_its_successor() -> None:
    """It holds its last target until the successor is ready; the two are blended; it stands."""
    sim = walk(**{'policy.steps': 150})
    before = commands(sim, 2.9)
    sent = commands(sim, 3.0)
    summary = sim.summary()
    assert (summary['exit'], summary['controller']) == ('completed', 'stand')
    assert not summary['fell']
    (change,) = summary['took_over']
    assert change['time'] == pytest.approx(3.0)
    # No step that walking has not as well.
    assert np.abs(np.diff(sent, axis=0)).max() <= np.abs(np.diff(before, axis=0)).max()
    assert np.abs(sim.robot.dq).max() < 0.2
    sim.close()


def test_a_clip_without_a_successor_ends_the_run() -> None:
    """In a simulation; on a robot the safe state holds it."""
    sim = walk(then='', **{'policy.steps': 50})
    assert sim.run(2.0)['exit'] == 'finished'
    sim.close()
    sim = walk(then='', on_fault='hold', **{'policy.steps': 50})
    summary = sim.run(2.0)
    assert sim.loop.safe_state.reason == 'the controllers have finished'
    assert not summary['fell']
    sim.close()


@pytest.mark.parametrize(
    ('then', 'reason'),
    [
        ('return rate * math.nan', 'the observation is not finite: base_ang_vel'),
        ('return rate + 1e6', r'the action of \w+ is .*: no network .* more than 100'),
        ('raise RuntimeError("broken")', 'broken'),
    ],
)
def test_the_successor_of_a_policy_that_talks_nonsense(
    tmp_path: Path, then: str, reason: str
) -> None:
    """While it walks: none of it becomes a command, and the robot does not fall."""
    sim = walk(**spoil(tmp_path, then), **{'policy.action.clip': []})
    before = commands(sim, 2.0)
    sent = commands(sim, 2.0)
    summary = sim.summary()
    (change,) = summary['took_over']
    assert re.search(reason, change['reason'])
    assert (summary['exit'], summary['controller']) == ('completed', 'stand')
    assert not summary['fell']
    assert np.isfinite(sent).all()
    assert np.abs(sent).max() <= 2.0 * np.abs(before).max()
    sim.close()


def test_a_network_that_stalls_is_caught(tmp_path: Path) -> None:
    """100 ms: the watchdog takes the robot from it in the middle of its tick, and says so."""
    changes = spoil(tmp_path, 'time.sleep(0.1 if situation.time < 2.01 else 0.0)\n    return rate')
    sim = walk(**changes, **{'watchdog.control_timeout': 0.05})
    summary = sim.complete(4.0)
    assert summary['exit'] == 'failed'
    assert 'control()' in summary['reason']
    assert sim.loop.host.is_abandoned
    assert np.isfinite(sim.robot.u).all()
