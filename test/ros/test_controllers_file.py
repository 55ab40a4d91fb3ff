"""Parameter files for controller_manager: rcl itself reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

import rclpy
from rclpy.context import Context

from cnoid_control.body.gains import joint_gains
from cnoid_control.ros.controllers_file import mujoco_text, rate_text
from cnoid_control.runtime.config import RobotParameters
from cnoid_control.runtime.defaults import make_robot
from cnoid_control.strict_yaml import load_yaml, ros_yaml


def test_gains_of_a_simulator_are_read_by_rcl(tmp_path: Path) -> None:
    """Those that hold the robot, with its effort limits; a velocity is followed by the damping."""
    body = make_robot(RobotParameters(model='sr1.urdf'), None, 1e-3)
    text = mujoco_text(body, 1e-3)
    file = tmp_path / 'pids.yaml'
    file.write_text(text)
    context = Context()
    rclpy.init(args=['--ros-args', '--params-file', str(file)], context=context)
    rclpy.try_shutdown(context=context)
    given = load_yaml(text)['/**']['ros__parameters']
    plugins = given['mujoco_plugins']
    assert plugins == {
        'external_wrench': {'type': 'mujoco_ros2_control_plugins/ExternalWrenchPlugin'}
    }
    pids = given['pid_gains']
    gains = joint_gains(body, 1e-3)
    names = [joint.joint_name for joint in body.joints]
    assert list(pids['position']) == list(pids['velocity']) == names
    for i, name in enumerate(names):
        position, velocity = pids['position'][name], pids['velocity'][name]
        assert (position['p'], position['d']) == pytest.approx((gains.kp[i], gains.kd[i]))
        assert (velocity['p'], velocity['d']) == pytest.approx((gains.kd[i], 0.0))
        for one in (position, velocity):
            clamps = (one['u_clamp_min'], one['u_clamp_max'])
            assert clamps == (body.u_lower[i], body.u_upper[i])
            assert one['i'] == 0.0


def test_what_is_the_same_is_written_again() -> None:
    """Numbers stay numbers of their kind."""
    shared = {'p': 1e-5, 'n': 3}
    text = ros_yaml({'a': shared, 'b': shared})
    assert '&' not in text
    assert load_yaml(text) == {'a': shared, 'b': shared}
    assert load_yaml(rate_text(500.0)) == {
        '/**/controller_manager': {'ros__parameters': {'update_rate': 500}}
    }
