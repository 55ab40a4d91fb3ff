"""From a configuration to a robot, its controllers and a loop."""

from __future__ import annotations

import io

import numpy as np
import pytest

from cnoid_control import SimpleController
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import ParameterError
from cnoid_control.plugin.exceptions import ControllerLoadError
from cnoid_control.runtime.build import make_controllers, make_loop
from cnoid_control.runtime.config import RobotParameters, load_config, parse_config
from cnoid_control.runtime.defaults import make_robot
from cnoid_control.share import share_folder

SOURCE = """
from cnoid_control import SimpleController, StateFlag


class Leg(SimpleController):
    prefix = 'RLEG'

    def initialize(self, io):
        self.body = io.body
        self.mine = [j for j in io.body.joints if j.joint_name.startswith(self.prefix)]
        for joint in self.mine:
            joint.actuation_mode = StateFlag.JOINT_DISPLACEMENT
            io.enable_io(joint)
        io.get_or_create_shared_object('order', list).append(io.controller_name)
        self.order = io.find_shared_object('order')
        return True

    def control(self):
        return True


class OtherLeg(Leg):
    prefix = 'LLEG'
"""


@pytest.fixture
def folder(tmp_path):
    """Return a folder with controllers in a file."""
    (tmp_path / 'legs.py').write_text(SOURCE)
    return tmp_path


def config(folder, **values):
    """Config for SR1 with controllers of the file."""
    given = {'robot': {'model': 'sr1.urdf'}, 'controller': 'legs.py:Leg'}
    return parse_config({**given, **values}, 'legs', folder)


def test_robot_is_put_where_the_config_says():
    """Posture, position and orientation; what is not given is the model's."""
    given = RobotParameters(
        'sr1.urdf', position=[1.0, 2.0, 3.0], rpy=[0.1, 0.2, 0.3], posture=[0.01] * 29
    )
    body = make_robot(given, share_folder())
    np.testing.assert_array_equal(body.q, np.full(29, 0.01))
    np.testing.assert_array_equal(body.q_target, body.q)
    np.testing.assert_array_equal(body.root_link.p, [1.0, 2.0, 3.0])
    # Yaw about the world's z, then pitch, then roll: the first axis ends at these angles.
    x = body.root_link.R[:, 0]
    assert np.arctan2(x[1], x[0]) == pytest.approx(0.3)
    assert -np.arcsin(x[2]) == pytest.approx(0.2)
    assert np.arctan2(body.root_link.R[2, 1], body.root_link.R[2, 2]) == pytest.approx(0.1)
    plain = make_robot(RobotParameters('sr1.urdf'), share_folder())
    assert plain.root_link.p[2] == pytest.approx(0.7135)
    assert make_robot(RobotParameters('sr1.urdf', base='fixed'), share_folder()).is_fixed_root


@pytest.mark.parametrize(
    ('values', 'message'),
    [
        ({'posture': [0.0] * 28}, 'robot.posture: .*it needs 29 values or none, and has 28'),
        ({'position': [0.0]}, 'robot.position: .*it needs 3 values'),
        ({'rpy': [0.0] * 4}, 'robot.rpy: .*it needs 3 values'),
    ],
)
def test_sizes_are_checked(values, message):
    """The key and the size are named."""
    with pytest.raises(ParameterError, match=message):
        make_robot(RobotParameters('sr1.urdf', **values), share_folder())


def test_controllers_beside_and_below_each_other(folder):
    """A controller without a parent has a body of its own; one with a parent shares it."""
    others = {
        'left': {'type': 'legs.py:OtherLeg'},
        'child': {'type': 'legs.py:OtherLeg', 'parent': 'leg'},
        'grandchild': {'type': 'legs.py:OtherLeg', 'parent': 'child'},
    }
    top = make_controllers(config(folder, other_controllers=others))
    assert [managed.name for managed in top] == ['leg', 'left']
    assert [managed.name for managed in top[0].with_children()] == ['leg', 'child', 'grandchild']


def test_several_controllers_run_together(folder):
    """Each commands its own joints; a family shares its objects."""
    others = {'left': {'type': 'legs.py:OtherLeg'}, 'child': {'type': 'legs.py:OtherLeg'}}
    others['child']['parent'] = 'left'
    loop = make_loop(
        config(folder, other_controllers=others, hardware={'type': 'kinematic'}),
        os=io.StringIO(),
    )
    outcome = loop.run(0.01)
    assert (outcome.exit, outcome.reason) == ('completed', '')
    right, left = (managed.controller for managed in loop.host.controllers)
    assert right.order == ['leg']
    assert left.order == ['left', 'child']
    assert right.body is not left.body
    moved = [joint.joint_name for joint in loop.hardware.body.joints if joint.actuation_mode]
    assert len(moved) == 12


@pytest.mark.parametrize(
    'others',
    [
        {'a': {'type': 'legs.py:Leg', 'parent': 'nobody'}},
        {'a': {'type': 'legs.py:Leg', 'parent': 'a'}},
        {
            'a': {'type': 'legs.py:Leg', 'parent': 'b'},
            'b': {'type': 'legs.py:Leg', 'parent': 'a'},
        },
    ],
)
def test_parents_that_cannot_be_are_refused(folder, others):
    """Unknown ones, and circles."""
    with pytest.raises(CnoidControlError, match="sub-controller 'a' has parent"):
        make_controllers(config(folder, other_controllers=others))


def test_main_controller_is_none_of_the_others(folder):
    """One name is for one controller."""
    with pytest.raises(ParameterError, match="other_controllers: 'leg'"):
        make_controllers(config(folder, other_controllers={'leg': {'type': 'legs.py:Leg'}}))


def test_controllers_are_looked_for_at_once(folder):
    """An unknown one is found before anything runs."""
    with pytest.raises(ControllerLoadError, match="'nobody'"):
        make_controllers(config(folder, other_controllers={'nobody': {}}))


def test_options_that_wait_for_a_swap_are_checked_too(folder):
    """A mistake in the section of a controller that is not in use is found at load."""
    make_controllers(config(folder, sr1_walk={'mode': 'position'}))
    with pytest.raises(ParameterError, match=r"sr1_walk\.mode: 'run' is not allowed"):
        make_controllers(config(folder, sr1_walk={'mode': 'run'}))


def test_shipped_configs_can_be_assembled():
    """Each makes a robot, controllers and a loop."""
    names = sorted(path.stem for path in (share_folder() / 'config').glob('*.yaml'))
    assert 'sr1_pd' in names
    for name in names:
        loop = make_loop(load_config(name), os=io.StringIO())
        assert loop.hardware.time_step > 0.0
        loop.hardware.close()


def test_a_controller_that_is_made_already_is_the_main_one(folder):
    """The others are made by their names."""
    main = SimpleController()
    others = {'left': {'type': 'legs.py:OtherLeg'}}
    top = make_controllers(config(folder, other_controllers=others), main)
    assert [managed.controller is main for managed in top] == [True, False]


def test_controllers_that_stand_by_are_looked_for_at_once(folder):
    """One that cannot be had is found before anything runs, not when it is needed."""
    make_controllers(config(folder, standby={'rest': {'type': 'legs.py:Leg'}}))
    with pytest.raises(ControllerLoadError, match='Arm'):
        make_controllers(config(folder, standby={'rest': {'type': 'legs.py:Arm'}}))
