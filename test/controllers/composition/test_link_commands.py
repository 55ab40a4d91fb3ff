"""Poses, wrenches and devices as outputs of parts of a composition."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cnoid_control import Simulation
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.runtime.config import parse_config

BOX = """<robot name="box"><link name="box"><inertial><mass value="4"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lid"><inertial><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="box"/><child link="lid"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" velocity="10" effort="50"/></joint></robot>"""
MINE = """
import numpy as np
from cnoid_control import SimpleController, StateFlag
from cnoid_control.controllers.composition import BaseController, LambdaController

class Push(SimpleController):
    def initialize(self, io):
        self.io, self.root = io, io.body.root_link
        io.enable_output(self.root, StateFlag.LINK_EXT_WRENCH)
        return True
    def control(self):
        if self.io.current_time < 0.1 - 1e-9:
            self.root.F_ext[:3] = [5.0, 0.0, 0.0]
        return True

class Carry(SimpleController):
    def initialize(self, io):
        self.io, self.root = io, io.body.root_link
        io.enable_output(self.root, StateFlag.LINK_POSITION)
        self.start_p = self.root.p.copy()
        return True
    def control(self):
        self.root.p = self.start_p + [0.0, 0.3 * self.io.current_time, 0.0]
        return True

class PositionVelocity(SimpleController):
    def initialize(self, io):
        self.io = io
        io.enable_output(io.body.joints[0], StateFlag.JOINT_DISPLACEMENT|StateFlag.JOINT_VELOCITY)
        return True
    def control(self):
        self.io.body.q_target[0] = 0.5 * self.io.current_time
        self.io.body.dq_target[0] = 0.5
        return True

class Accelerate(SimpleController):
    def initialize(self, io):
        io.enable_output(io.body.root_link, StateFlag.LINK_ACCELERATION)
        return True
    def control(self):
        return True

def push(robot, force: float = 5.0, link: str = 'box'):
    wrench = np.array([force, 0, 0, 0, 0, 0])
    return LambdaController(lambda t: {f'wrench/{link}': wrench} if t < 0.0999 else {}, ['t'])

def pose(robot):
    def law(t):
        T = np.eye(4)
        T[0, 3] = 0.2 * t
        return {'pose/box': T}
    return LambdaController(law, ['t'])

def nonsense(robot):
    return LambdaController(lambda t: {'wrench/box': [1.0]}, ['t'])

def lamp(robot, name: str = 'LIGHT', field: str = 'on'):
    return LambdaController(lambda t: {f'device/{name}': {field: t < 0.0999}}, ['t'])
"""


def simulate(folder: Path, parts: dict[str, Any], kind: str = 'multi', **more: Any) -> Simulation:
    """Simulation of a box with a lid in free fall without gravity, and a composition."""
    (folder / 'box.urdf').write_text(BOX)
    (folder / 'mine.py').write_text(MINE)
    section = 'states' if kind == 'state_machine' else 'stages'
    values = {
        'robot': {'model': 'box.urdf', 'position': [0.0, 0.0, 0.5], 'base': 'floating'},
        'rate': 200.0,
        'controller': kind,
        kind: {section: parts, **more},
        'hardware': {'mujoco': {'floor': False, 'gravity': 0.0}},
    }
    return Simulation(parse_config(values, 'box', folder), os=io.StringIO())


def part(name: str, **options: Any) -> dict[str, Any]:
    """One part."""
    return {'controller': f'mine.py:{name}', 'options': options}


@pytest.mark.parametrize(
    ('parts', 'force'),
    [
        ({'a': part('Push')}, 5.0),
        ({'a': part('push', force=3.0)}, 3.0),
        ({'a': part('Push'), 'b': part('push', force=3.0)}, 8.0),
        ({'a': part('Push'), 'b': part('Push')}, 10.0),
    ],
)
def test_wrenches_act_and_add_up(tmp_path: Path, parts: dict[str, Any], force: float) -> None:
    """The whole flies by the impulse of all, and of no more than what was commanded."""
    simulation = simulate(tmp_path, parts, links={'box': 'wrench'})
    summary = simulation.run(0.5)
    assert summary['exit'] == 'completed', summary
    velocity = simulation.recorded.root_velocity[-1, 0]
    assert velocity == pytest.approx(force * 0.1 / 5.0, rel=1e-3)


@pytest.mark.parametrize('kind', ['sequence', 'state_machine'])
def test_a_wrench_through_one_part_at_a_time(tmp_path: Path, kind: str) -> None:
    """Once the part has gone, so has its wrench."""
    first = part('Push') | ({'until': 0.05} if kind == 'sequence' else {'next': AFTER})
    second = {'controller': 'pd', **({'until': 1.0} if kind == 'sequence' else {})}
    simulation = simulate(tmp_path, {'a': first, 'b': second}, kind)
    assert simulation.run(0.3)['exit'] == 'completed'
    velocity = simulation.recorded.root_velocity[-1, 0]
    assert velocity == pytest.approx(5.0 * 0.05 / 5.0, rel=0.11)
    assert simulation.recorded.root_velocity[30, 0] == pytest.approx(velocity, rel=1e-6)


AFTER = {'b': {'after': 0.05}}


@pytest.mark.parametrize(
    ('name', 'axis', 'speed'), [('Carry', 1, 0.3), ('pose', 0, 0.2)], ids=['controller', 'block']
)
def test_a_pose_is_followed(tmp_path: Path, name: str, axis: int, speed: float) -> None:
    """The root is where the part says, one tick later."""
    links = {'box': 'pose'} if name == 'pose' else {}
    simulation = simulate(tmp_path, {'a': part(name)}, links=links)
    summary = simulation.run(1.0)
    assert summary['exit'] == 'completed', summary
    recorded = simulation.recorded
    expected = speed * (recorded.time[20:] - simulation.time_step)
    np.testing.assert_allclose(recorded.root_position[20:, axis], expected, atol=2e-3)


def test_position_with_a_velocity_target_in_a_part(tmp_path: Path) -> None:
    """Both are commanded; neither is lost."""
    simulation = simulate(tmp_path, {'a': part('PositionVelocity')}, kp=200.0, kd=20.0)
    assert simulation.run(1.0)['exit'] == 'completed'
    assert simulation.robot.q[0] == pytest.approx(0.5 * simulation.time, abs=0.02)


@pytest.mark.parametrize(
    ('name', 'options', 'more', 'words'),
    [
        ('push', {}, {}, 'wrench/box is commanded, and the output is not enabled'),
        ('nonsense', {}, {'links': {'box': 'wrench'}}, r'shape \(6,\) was expected'),
        ('push', {}, {'links': {'bux': 'wrench'}}, 'links.bux: unknown link; choose from: box'),
        ('push', {}, {'links': {'box': 'wench'}}, "unknown kind 'wench'; choose from: pose"),
        ('Accelerate', {}, {}, 'which cannot be composed'),
        ('lamp', {}, {}, "unknown sensor 'LIGHT'"),
    ],
)
def test_what_cannot_be_commanded_is_refused(tmp_path, name, options, more, words) -> None:
    """By name."""
    simulation = simulate(tmp_path, {'a': part(name, **options)}, **more)
    try:
        reason = simulation.run(0.1).get('reason', '')
    except CnoidControlError as error:
        reason = str(error)
    assert re.search(words, reason), reason


def test_a_device_is_switched_by_a_block(tmp_path: Path) -> None:
    """By the names of its fields; the robot's device has the value and says so."""
    (tmp_path / 'mine.py').write_text(MINE)
    lights = [
        one.name for one in Simulation('light_camera').robot.devices if hasattr(one, 'intensity')
    ]
    stage = {'controller': f'{tmp_path}/mine.py:lamp', 'options': {'name': lights[0]}}
    simulation = Simulation(
        'light_camera', 'multi', options={'stages': {'lamp': stage}}, os=io.StringIO()
    )
    light = next(one for one in simulation.robot.devices if one.name == lights[0])
    simulation.run(0.05)
    assert light.on is True
    simulation.run(0.2)
    assert light.on is False
    stage['options'] = {'name': lights[0], 'field': 'onn'}
    wrong = Simulation(
        'light_camera', 'multi', options={'stages': {'lamp': stage}}, os=io.StringIO()
    )
    assert "has no field 'onn'" in wrong.run(0.05)['reason']
