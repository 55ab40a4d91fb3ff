"""Policies are swapped while they walk: no step that the blend does not allow, and no fall."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

pytest.importorskip('onnxruntime', reason='needs onnxruntime')
pytest.importorskip('mujoco', reason='needs MuJoCo')

from cnoid_control import Simulation
from cnoid_control.catalog import cached_model
from cnoid_control.runtime.config import parse_config

PAGE = Path(__file__).resolve().parents[3] / 'docs' / 'policies.md'
BLEND = 0.2


def simulate(model: str, first: str, sections: dict[str, tuple[str, Any]]) -> Simulation:
    """Simulation at 500 Hz with controllers that wait, by name: type and options."""
    values: dict[str, Any] = {
        'robot': {'model': model},
        'rate': 500.0,
        'controller': first,
        'standby': {name: {'type': kind} for name, (kind, _) in sections.items()},
    }
    values |= {name: options for name, (_, options) in sections.items()}
    return Simulation(parse_config(values, 'swap'), record=False, os=io.StringIO())


def swap(sim: Simulation, name: str) -> float:
    """Swap, and see that what is sent is the blend of what the two say, and no more.

    Returns:
        Largest step of a command in the blend [N m].
    """
    robot, ticks = sim.robot, round(BLEND / sim.time_step)
    sent, old, new = [robot.u.copy()], [], []
    sim.swap(name, blend_time=BLEND)
    transition = sim.loop.transition
    hosts = transition.old, transition.new
    bodies = [host.controllers[0].io.body for host in hosts]
    for tick in range(ticks):
        if tick:
            sim.step()
        sent.append(robot.u.copy())
        for said, body in zip((old, new), bodies, strict=True):
            said.append(body.u.copy())
    part = np.arange(1, ticks + 1)[:, np.newaxis] / ticks
    part = 3.0 * part**2 - 2.0 * part**3
    before, after = np.array(old), np.array(new)
    blend = np.clip((1.0 - part) * before + part * after, robot.u_lower, robot.u_upper)
    np.testing.assert_allclose(np.array(sent[1:]), blend, atol=1e-9)
    # A step is that of the two controllers themselves, and that of the part of the new one.
    steps = np.abs(np.diff(sent[1:], axis=0))
    own = np.maximum(np.abs(np.diff(before, axis=0)), np.abs(np.diff(after, axis=0)))
    allowed = own + np.diff(part, axis=0) * np.abs(after - before)[1:]
    assert (steps <= allowed + 1e-9).all()
    # In its first tick the new one has next to nothing to say.
    first = np.abs(sent[1] - before[0])
    assert (first <= part[0] * np.abs(after[0] - before[0]) + 1e-9).all()
    return float(steps.max())


def test_trotter_is_handed_on_while_it_walks() -> None:
    """From a policy to itself with other gains, and to PD that stops it; it stays on its feet."""
    script = {'go': {'time': 0.0, 'velocity': [0.4, 0.0, 0.0]}}
    policy = {'file': 'trotter_walk', 'velocity': {'script': script}}
    stand = {'kp': 60.0, 'kd': 1.5, 'move_time': 0.5}
    sections = {
        'walk': ('policy', policy),
        'stiff': ('policy', {**policy, 'kp': 80.0, 'kd': 2.0, 'base': 'estimator'}),
        'stand': ('pd', stand),
    }
    sim = simulate('trotter.urdf', 'walk', sections)
    sim.run(2.0)
    swap(sim, 'stiff')
    start = sim.robot.root_link.p[0]
    sim.run(2.0)
    assert sim.robot.root_link.p[0] - start > 0.5
    swap(sim, 'stand')
    sim.run(2.0)
    assert not sim.summary()['fell']
    assert np.abs(sim.robot.dq).max() < 0.1
    sim.close()


def g1() -> dict[str, Any]:
    """Options of G1's walking policy of the page; the test is skipped where it is not there."""
    for name in ('g1_holosoma', 'g1_walk_ppo', 'g1_walk_sac', 'g1_dance_sac'):
        if cached_model(name) is None:
            pytest.skip(f'{name} is not in the cache: cnoid_control get {name}')
    text = PAGE.read_text().split('```yaml\n# g1_walk.yaml')[1].split('```')[0]
    return yaml.safe_load(text)['/**']['ros__parameters']['policy']


def test_g1_goes_on_by_another_policy_and_stands_by_pd() -> None:
    """PPO, FastSAC, and PD once it stands: PD alone cannot catch a robot that walks."""
    policy = g1()
    script = {
        'go': {'time': 0.0, 'velocity': [0.5, 0.0, 0.0]},
        'stop': {'time': 3.0, 'velocity': [0.0, 0.0, 0.0]},
    }
    stand = {'kp': 400.0, 'kd': 8.0}
    sections = {
        'ppo': ('policy', {**policy, 'velocity': {'script': script}}),
        'sac': ('policy', {**policy, 'file': 'g1_walk_sac', 'velocity': {'script': script}}),
        'stand': ('pd', stand),
    }
    sim = simulate('g1_holosoma', 'ppo', sections)
    sim.run(2.5)
    start = sim.robot.root_link.p[0]
    step = swap(sim, 'sac')
    # As large as the steps of walking are.
    assert step < 30.0
    sim.run(3.0)
    assert sim.robot.root_link.p[0] - start > 0.8
    sim.run(3.0)
    swap(sim, 'stand')
    sim.run(3.0)
    assert not sim.summary()['fell']
    sim.close()


def test_g1_stands_when_its_clip_ends() -> None:
    """Ten seconds of the dance; then a walking policy that is told nothing."""
    policy = g1()
    text = PAGE.read_text().split('```yaml\n      file: g1_dance_sac')[1].split('```')[0]
    dance = {
        **yaml.safe_load('      file: g1_dance_sac' + text),
        'steps': 500,
        'posture': policy['posture'],
        'period': 0.02,
        'action': {'output': 'actions'},
    }
    values = {
        'robot': {'model': 'g1_holosoma'},
        'rate': 500.0,
        'controller': 'dance',
        'then': 'stand',
        'standby': {'dance': {'type': 'policy'}, 'stand': {'type': 'policy'}},
        'dance': dance,
        'stand': {name: value for name, value in policy.items() if name != 'velocity'},
    }
    sim = Simulation(parse_config(values, 'dance'), record=False, os=io.StringIO())
    summary = sim.run(14.0)
    assert (summary['exit'], summary['controller']) == ('completed', 'stand')
    assert summary['took_over'][0]['time'] == pytest.approx(10.0)
    assert not summary['fell']
    assert sim.robot.root_link.p[2] > 0.7
    sim.close()
