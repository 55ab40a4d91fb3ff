"""Tracks in the MuJoCo node: which controllers have them."""

from __future__ import annotations

import pytest

from cnoid_control.parameters import ParameterError
from cnoid_control.ros.robot.parameters import CommandParameters, Ros2ControlParameters
from cnoid_control.ros.sim.assembly import make_controllers
from cnoid_control.runtime.build import make_robot
from cnoid_control.runtime.config import load_config


def robot_of(name):
    """Robot of a shipped configuration."""
    config = load_config(name)
    return make_robot(config.parameters.robot, config.folder)


def test_tracks_have_a_velocity_interface_only():
    """Of the default controllers the one for velocities has the tracks, the others the rest."""
    body = robot_of('tank')
    made = make_controllers(body, Ros2ControlParameters(), {}, [])
    rest = ('turret_yaw', 'turret_pitch')
    assert tuple(made['effort_controller'].joints) == rest
    assert tuple(made['position_controller'].joints) == rest
    assert tuple(made['velocity_controller'].joints) == ('left_track', 'right_track', *rest)


def test_robot_of_tracks_alone_has_one_controller():
    """A controller without joints is not loaded, and is not to be activated."""
    body = robot_of('conveyor')
    made = make_controllers(body, Ros2ControlParameters(), {}, ['velocity_controller'])
    assert [one.name for one in made if one.interface] == ['velocity_controller']
    with pytest.raises(ParameterError, match=r'effort_controller.*velocity_controller'):
        make_controllers(body, Ros2ControlParameters(), {}, ['effort_controller'])


def test_track_under_another_interface_is_refused():
    """The configuration's key, the track and its interface are named."""
    commands = {'belts': CommandParameters(interface='effort', joints=['first_belt'])}
    with pytest.raises(ParameterError, match=r'commands\.belts\.joints.*first_belt.*velocity'):
        make_controllers(robot_of('conveyor'), Ros2ControlParameters(commands=commands), {}, [])
