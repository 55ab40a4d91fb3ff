"""Parameter files for controller_manager: rcl itself reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

import rclpy
from rclpy.context import Context

from cnoid_control.ros.controllers_file import force_sign_text, rate_text
from cnoid_control.strict_yaml import load_yaml, ros_yaml


def test_the_file_of_several_force_sensors_is_read_by_rcl(tmp_path: Path) -> None:
    """It has no aliases, which rcl refuses, though all sensors are turned alike."""
    text = force_sign_text(['left', 'right'])
    file = tmp_path / 'signs.yaml'
    file.write_text(text)
    context = Context()
    rclpy.init(args=['--ros-args', '--params-file', str(file)], context=context)
    rclpy.try_shutdown(context=context)
    for side in ('left', 'right'):
        turned = load_yaml(text)[f'/**/{side}']['ros__parameters']['multiplier']
        assert turned == {
            'force': dict.fromkeys('xyz', -1.0),
            'torque': dict.fromkeys('xyz', -1.0),
        }


def test_what_is_the_same_is_written_again() -> None:
    """Numbers stay numbers of their kind."""
    shared = {'p': 1e-5, 'n': 3}
    text = ros_yaml({'a': shared, 'b': shared})
    assert '&' not in text
    assert load_yaml(text) == {'a': shared, 'b': shared}
    assert load_yaml(rate_text(500.0)) == {
        '/**/controller_manager': {'ros__parameters': {'update_rate': 500}}
    }
