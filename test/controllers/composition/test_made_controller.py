"""A function that makes a controller, and a block, in the place of a controller class."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.plugin.exceptions import ControllerLoadError
from cnoid_control.plugin.registry import find_controller
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import RunConfig, parse_config

URDF = """<robot name="arm">
<link name="base"/>
<link name="upper"><inertial><mass value="2"/><origin xyz="0 0 -0.15"/>
<inertia ixx="0.05" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
<axis xyz="0 1 0"/><origin xyz="0 0 1"/>
<limit lower="-2" upper="2" velocity="4" effort="80"/></joint></robot>"""

SOURCE = '''
from pathlib import Path
import numpy as np
from cnoid_control import SimpleController, StateFlag
from cnoid_control.controllers.composition import BaseController, LambdaController

robots = []

def make(robot, goal: float = 0.25, file: Path | None = None):
    """Holds a goal."""
    robots.append(robot)
    if file is not None:
        goal = float(file.read_text())
    return LambdaController(lambda t: {'qcmd': np.full(robot.num_joints, goal)}, ['t'])

class Goal(BaseController):
    """Holds a goal."""
    def __init__(self, goal: float):
        self.goal = goal
    def output(self, **inputs):
        return {'qcmd': np.full(len(inputs['q']), self.goal)}

class Near(BaseController):
    """Goes on from where the robot is, as Klamp't's blocks do."""
    def __init__(self, robot, step: float = 0.1):
        self.goal = robot.q + step
    def output(self, **inputs):
        return {'qcmd': self.goal}

class Misspelt(BaseController):
    def output(self, **inputs):
        return {'qcmdd': inputs['q']}

class Hold(SimpleController):
    goal = 0.0
    def initialize(self, io):
        self.body = io.body
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_DISPLACEMENT
            io.enable_io(joint)
        return True
    def control(self):
        self.body.q_target[:] = self.goal
        return True

def make_simple(robot, goal):
    controller = Hold()
    controller.goal = goal
    return controller

def nothing(robot):
    return 3

def without():
    return Goal(0.0)

def broken(robot):
    return 1 / 0

def only_by_place(robot, goal, /):
    return Goal(goal)
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a model and controllers."""
    (tmp_path / 'arm.urdf').write_text(URDF)
    (tmp_path / 'mine.py').write_text(SOURCE)
    (tmp_path / 'goal.txt').write_text('-0.4')
    return tmp_path


def config_of(folder: Path, controller: str, options: dict | None = None, **more) -> RunConfig:
    """Configuration of the arm."""
    name = controller.rpartition(':')[2] or controller
    section = {name.lower(): options} if options else {}
    values = {
        'robot': {'model': 'arm.urdf', 'base': 'fixed'},
        'rate': 200.0,
        'controller': controller,
        'hardware': {'mujoco': {'floor': False, 'gravity': 0.0, 'time_step': 0.001}},
        **section,
        **more,
    }
    return parse_config(values, 'test', folder)


def angle_after(config: RunConfig, duration: float = 1.5) -> float:
    """Angle of the arm after a run."""
    loop = make_loop(config, os=io.StringIO())
    outcome = loop.run(duration)
    assert outcome.exit == 'completed', outcome.reason
    return float(loop.hardware.body.q[0])


@pytest.mark.parametrize(
    ('controller', 'options', 'goal'),
    [
        ('mine.py:make', {}, 0.25),
        ('mine.py:make', {'goal': 0.5}, 0.5),
        ('mine.py:make', {'goal': 0.5, 'kp': 400.0, 'kd': 40.0}, 0.5),
        ('mine.py:make', {'file': 'goal.txt'}, -0.4),
        ('mine.py:Goal', {'goal': 0.3}, 0.3),
        ('mine.py:Near', {}, 0.1),
        ('mine.py:Near', {'step': 0.2}, 0.2),
    ],
)
def test_it_runs_as_the_controller_of_a_robot(folder, controller, options, goal) -> None:
    """A function that makes a block, and a block; the arguments are options."""
    assert angle_after(config_of(folder, controller, options)) == pytest.approx(goal, abs=2e-3)


def test_a_class_that_takes_the_robot_is_no_part(folder: Path) -> None:
    """Parts are made without it; the message says what to name instead."""
    part = {'controller': 'mine.py:Near', 'options': {}}
    loop = make_loop(config_of(folder, 'multi', {'stages': {'it': part}}), os=io.StringIO())
    assert 'name a function make(robot, ...)' in loop.run(0.1).reason


def test_outputs_that_command_nothing_are_told_once(folder: Path) -> None:
    """With what there is to choose from."""
    told = io.StringIO()
    make_loop(config_of(folder, 'mine.py:Misspelt'), os=told).run(0.1)
    assert told.getvalue().count('the outputs qcmdd command nothing; choose from: qcmd, ') == 1
    make_loop(config_of(folder, 'mine.py:make'), os=told).run(0.1)
    assert told.getvalue().count('command nothing') == 1


def test_a_function_may_make_a_simple_controller(folder: Path) -> None:
    """It commands the joints itself."""
    config = config_of(folder, 'mine.py:make_simple', None, make_simple={'goal': 0.3})
    assert angle_after(config) == pytest.approx(0.3, abs=2e-3)


@pytest.mark.parametrize('name', ['make', 'make_simple', 'Goal'])
def test_it_runs_as_a_part(folder: Path, name: str) -> None:
    """In a composition, the same names mean the same."""
    part = {'controller': f'mine.py:{name}', 'options': {'goal': 0.3}}
    config = config_of(folder, 'multi', {'stages': {'it': part}})
    assert angle_after(config) == pytest.approx(0.3, abs=5e-3)


def test_the_robot_is_a_model_of_ones_own(folder: Path) -> None:
    """What a function does to it does not move the robot."""
    loop = make_loop(config_of(folder, 'mine.py:make'), os=io.StringIO())
    loop.open()
    made = loop.host.controllers[0].controller
    robot = made.maker.found.__globals__['robots'][-1]
    assert robot is not loop.hardware.body
    assert robot.joint_names == ['shoulder']
    loop.close()


def test_gains_change_while_it_runs_and_arguments_do_not(folder: Path) -> None:
    """What was given to the function is gone with the call."""
    loop = make_loop(config_of(folder, 'mine.py:make', {'goal': 0.5}), os=io.StringIO())
    loop.open()
    managed = loop.host.controllers[0]
    changed = {'goal': 0.5, 'kp': 300.0}
    managed.change_options(changed, managed.check(changed))
    changed = {'goal': 0.6, 'kp': 300.0}
    with pytest.raises(CnoidControlError, match=r'make\.goal'):
        managed.change_options(changed, managed.check(changed))
    loop.close()


@pytest.mark.parametrize(
    ('name', 'words'),
    [
        ('without', r'without arguments; it must take the robot: control\(robot, t\) or make\('),
        ('only_by_place', "argument 'goal' is positional only"),
        ('robots', 'neither a controller class nor a function'),
        ('Path', 'not a class derived from SimpleController or BaseController'),
        ('absent', "no class or function 'absent'"),
    ],
)
def test_what_cannot_make_controllers_is_refused_when_it_is_named(folder, name, words) -> None:
    """Before a robot is there."""
    with pytest.raises(ControllerLoadError, match=words):
        find_controller(f'mine.py:{name}', folder)


@pytest.mark.parametrize(
    ('name', 'words'),
    [
        ('nothing', 'returned 3; it must return a BaseController or a SimpleController'),
        ('broken', 'ZeroDivisionError'),
    ],
)
def test_a_function_that_makes_none_ends_the_run(folder: Path, name: str, words: str) -> None:
    """With what it returned or raised."""
    outcome = make_loop(config_of(folder, f'mine.py:{name}'), os=io.StringIO()).run(0.1)
    assert outcome.exit == 'failed'
    assert words in outcome.reason


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        ({'gaol': 0.5}, 'make.gaol: unknown option'),
        ({'goal': 'far'}, 'make.goal: float expected'),
    ],
)
def test_wrong_options_are_refused_by_name(folder, options, words) -> None:
    """As those of any controller."""
    with pytest.raises(CnoidControlError, match=words):
        make_loop(config_of(folder, 'mine.py:make', options))


def test_a_missing_argument_is_named(folder: Path) -> None:
    """It has no default."""
    with pytest.raises(CnoidControlError, match=r'make_simple\.goal: is missing'):
        make_loop(config_of(folder, 'mine.py:make_simple'))


def test_gains_of_a_simple_controller_are_refused(folder: Path) -> None:
    """Nobody would use them."""
    options = {'goal': 0.3, 'kp': 3.0}
    config = config_of(folder, 'mine.py:make_simple', None, make_simple=options)
    outcome = make_loop(config, os=io.StringIO()).run(0.1)
    assert outcome.exit == 'failed'
    assert 'has no such option' in outcome.reason


def test_posture_of_the_part_is_that_of_the_robot(folder: Path) -> None:
    """A function may look where the robot stands."""
    (folder / 'here.py').write_text(
        'from cnoid_control.controllers.composition import LambdaController\n'
        'def stay(robot):\n'
        '    q = robot.q.copy()\n'
        "    return LambdaController(lambda t: {'qcmd': q}, ['t'])\n"
    )
    config = config_of(
        folder, 'here.py:stay', robot={'model': 'arm.urdf', 'base': 'fixed', 'posture': [0.7]}
    )
    np.testing.assert_allclose(angle_after(config), 0.7, atol=2e-3)
