"""Several robots in one simulated world."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cnoid_control import SimpleController, Simulation, StateFlag
from cnoid_control.cli.main import main
from cnoid_control.exceptions import CnoidControlError

WORLD = """
/**:
  ros__parameters:
    rate: 200.0
    duration: 0.5
    robots:
      left: {config: arm.yaml, controller: mine.py:Torque, options: {torque: 0.5}}
      right: {config: arm.yaml, position: [1.2, 0.0, 0.0], rpy: [0.0, 0.0, 3.14159]}
    hardware: {mujoco: {floor: false, gravity: 0.0, time_step: 0.001}}
"""
MINE = """
from dataclasses import dataclass
from cnoid_control import SimpleController, StateFlag, parameter
@dataclass
class Options:
    torque: float = parameter(0.0, 'torque')
class Torque(SimpleController):
    Parameters = Options
    def initialize(self, io):
        self.io = io
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_TORQUE
            io.enable_io(joint)
        return True
    def control(self):
        self.io.body.u[:] = self.io.parameters.torque
        return True
"""


class Torque(SimpleController):
    """The same torque for ever."""

    torque = 0.5

    def initialize(self, io: Any) -> bool:
        """Command torques."""
        self.body = io.body
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_TORQUE
            io.enable_io(joint)
        return True

    def control(self) -> bool:
        """Command it."""
        self.body.u[:] = self.torque
        return True


class Idle(Torque):
    """No torque at all."""

    torque = 0.0


@pytest.fixture
def world(folder: Path) -> Path:
    """Return the file of a world with two arms."""
    (folder / 'mine.py').write_text(MINE)
    (folder / 'world.yaml').write_text(WORLD)
    return folder / 'world.yaml'


def arm(folder: Path, controller: Any, **place: Any) -> dict[str, Any]:
    """One of several arms."""
    return {'config': folder / 'arm.yaml', 'controller': controller, **place}


def quiet(**arguments: Any) -> Simulation:
    """Simulation without messages."""
    return Simulation(os=io.StringIO(), **arguments)


def test_robots_far_from_each_other_move_as_if_alone(folder: Path) -> None:
    """Each by its own controller; the same as in a world of its own."""
    both = quiet(
        robots={
            'a': arm(folder, Torque),
            'b': arm(folder, Idle, position=[0.0, 5.0, 0.0]),
        }
    )
    alone = Simulation(folder / 'arm.yaml', Torque, os=io.StringIO())
    both.run(0.5)
    alone.run(0.5)
    np.testing.assert_allclose(both.robots['a'].recorded.q, alone.recorded.q, atol=1e-12)
    assert not both.robots['b'].recorded.q.any()
    assert both.robots['b'].body.root_link.p[1] == 5.0
    assert both.time == alone.time


def test_places_keep_the_posture_and_the_height() -> None:
    """Two numbers are a place on the ground; a wrong number of them is refused."""
    alone = Simulation('sr1_pd').robot
    pair = quiet(
        robots={
            'a': {'config': 'sr1_pd', 'position': [1.0, 2.0], 'rpy': [0.0, 0.0, np.pi / 2]},
            'b': 'sr1_pd',
        }
    )
    a = pair.robots['a'].body
    np.testing.assert_allclose(a.root_link.p, [1.0, 2.0, alone.root_link.p[2]])
    np.testing.assert_allclose(a.root_link.R[:, 0], [0.0, 1.0, 0.0], atol=1e-12)
    np.testing.assert_array_equal(a.q, alone.q)
    np.testing.assert_array_equal(pair.robots['b'].body.root_link.p, alone.root_link.p)
    assert not pair.run(0.5)['fell']
    with pytest.raises(CnoidControlError, match=r'robots\.a\.position: .*2 or 3 finite values'):
        quiet(robots={'a': {'config': 'sr1_pd', 'position': [1.0]}})


def test_robots_push_each_other(folder: Path) -> None:
    """The moved arm hits the idle one and takes it along; angular momentum goes over."""
    robots = {
        'hits': arm(folder, Torque),
        'is_hit': arm(folder, Idle, position=[0.9, 0.15, 0.0], rpy=[0.0, 0.0, np.pi]),
    }
    simulation = quiet(robots=robots)
    simulation.run(1.5)
    hit = simulation.robots['is_hit'].recorded.q[:, 0]
    assert abs(hit[-1]) > 0.1
    began = np.flatnonzero(np.abs(hit) > 1e-4)[0]
    assert np.abs(simulation.robots['hits'].recorded.q[began, 0]) > 0.05


def test_they_step_together_and_reset_to_the_bit(folder: Path) -> None:
    """A tick is a tick of all, and the order does not matter."""
    robots = {
        'hits': arm(folder, Torque),
        'is_hit': arm(folder, Idle, position=[0.9, 0.15, 0.0], rpy=[0.0, 0.0, np.pi]),
    }
    simulation = quiet(robots=robots)
    for _ in range(200):
        assert simulation.step()
        assert len({robot.loop.tick for robot in simulation.robots.values()}) == 1
    first = {name: robot.recorded.rows.copy() for name, robot in simulation.robots.items()}
    simulation.reset()
    simulation.run(1.0)
    for name, robot in simulation.robots.items():
        np.testing.assert_array_equal(robot.recorded.rows, first[name])
    q = simulation.robots['hits'].recorded.q
    turned = quiet(robots=dict(reversed(robots.items())))
    turned.run(1.0)
    np.testing.assert_allclose(turned.robots['hits'].recorded.q, q, rtol=0, atol=1e-6)


def test_each_is_pushed_and_swapped_by_its_name(folder: Path) -> None:
    """The others stay as they are."""
    simulation = quiet(
        robots={'a': arm(folder, Idle), 'b': arm(folder, Idle, position=[0.0, 5.0, 0.0])}
    )
    simulation.robots['b'].push('upper', [0.0, 0.2, 0.0], 0.05)
    simulation.run(0.2)
    expected = 0.2 * 0.05 * 0.25 / (0.05 + 2.0 * 0.25**2)
    assert simulation.robots['b'].body.dq[0] == pytest.approx(expected, rel=1e-3)
    assert simulation.robots['a'].body.dq[0] == 0.0
    simulation.swap(Torque, robot='a')
    simulation.run(0.2)
    assert simulation.robots['a'].body.dq[0] > 0.1
    with pytest.raises(CnoidControlError, match='several robots'):
        _ = simulation.robot
    with pytest.raises(CnoidControlError, match="unknown robot 'c'"):
        simulation.swap(Torque, robot='c')


def test_a_world_in_a_file(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From Python and on the command line; paths start at the file's folder."""
    simulation = Simulation(world, os=io.StringIO())
    simulation.run(0.5)
    assert simulation.robots['left'].recorded.q[-1, 0] > 0.2
    assert main(['run', str(world), '--json']) == 0
    told = json.loads(capsys.readouterr().out)
    assert told['exit'] == 'completed'
    assert told['ticks'] == 100
    assert told['robots']['left']['controller'] == 'torque'
    assert told['robots']['right']['controller'] == 'pd'
    assert main(['run', str(world), '--duration', '0.1']) == 0
    assert 'left' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('old', 'new', 'words'),
    [
        ('config: arm.yaml,', 'konfig: arm.yaml,', 'robots.left.konfig: unknown option'),
        ('rate: 200.0', 'raet: 200.0', 'raet: unknown option'),
        ('config: arm.yaml,', 'config: leg.yaml,', 'leg.yaml'),
        ('left:', '"l/eft":', 'robots.l/eft'),
    ],
)
def test_mistakes_in_the_file_are_named(world: Path, old: str, new: str, words: str) -> None:
    """By the key."""
    world.write_text(WORLD.replace(old, new, 1))
    with pytest.raises(CnoidControlError, match=words):
        Simulation(world)


@pytest.mark.parametrize(
    'argument', ['--log=x.mcap', '--plot=x.png', '--controller=pd', '--set=rate=100.0']
)
def test_arguments_for_one_robot_are_refused(world: Path, argument: str, capsys: Any) -> None:
    """They would be ignored."""
    assert main(['run', str(world), argument]) != 0
    assert 'describes several' in capsys.readouterr().err


def test_robots_of_different_rates_are_refused(folder: Path) -> None:
    """Unless the world has one."""
    (folder / 'fast.yaml').write_text((folder / 'arm.yaml').read_text().replace('200.0', '500.0'))
    robots = {'a': folder / 'arm.yaml', 'b': folder / 'fast.yaml'}
    with pytest.raises(CnoidControlError, match=r'robots\.b\.rate: 500'):
        quiet(robots=robots)
    assert quiet(robots=robots, changes={'rate': 100.0}).time_step == 0.01


def test_a_failure_of_one_ends_the_run(folder: Path) -> None:
    """And says which."""

    class Failing(Torque):
        def control(self) -> bool:
            raise RuntimeError('no more')

    simulation = quiet(
        robots={'a': arm(folder, Idle), 'b': arm(folder, Failing, position=[0.0, 5.0, 0.0])}
    )
    summary = simulation.run(1.0)
    assert summary['exit'] == 'failed'
    assert summary['reason'].startswith('b: ')
    assert summary['ticks'] == 1
