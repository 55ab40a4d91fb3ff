from __future__ import annotations

import io
import math

import numpy as np
import pytest
from controllers.runs import main_controller, open_loop, run_for

from cnoid_control.body.devices import Light
from cnoid_control.controllers.samples.circle import LinkPositionController
from cnoid_control.controllers.samples.light_camera import LightCameraController
from cnoid_control.plugin.mailbox import Twist
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config


def test_pendulum_is_turned_upright() -> None:
    """The pendulum settles near the upright, where gravity and the spring balance."""
    loop = open_loop('pendulum')
    run_for(loop, 3.0)
    assert loop.hardware.body.q[0] == pytest.approx(0.0, abs=1e-3)
    loop.close()


def test_spring_swings_with_its_own_frequency() -> None:
    """The block swings with sqrt(k / m) and loses energy by the damper."""
    loop = open_loop('spring')
    body = loop.hardware.body
    positions = []
    for _ in range(3000):
        loop.step()
        positions.append(float(body.q[0]))
    loop.close()
    signs = np.sign(positions)
    crossings = np.flatnonzero(np.diff(signs)) * 0.001
    decay = 2.0 / (2.0 * 2.0)
    frequency = math.sqrt(200.0 / 2.0 - decay**2)
    assert np.diff(crossings).mean() == pytest.approx(math.pi / frequency, rel=0.01)
    envelope = 0.2 * math.exp(-decay * 3.0)
    assert max(np.abs(positions[-700:])) < 1.5 * envelope


def test_lamp_brightens_the_picture() -> None:
    """The camera sees the lamp's light, at the camera's own rate."""
    loop = open_loop('light_camera', hardware__mujoco__camera_renderer='rays')
    run_for(loop, 1.0)
    controller = main_controller(loop)
    assert isinstance(controller, LightCameraController)
    report = controller.report()
    assert report['pictures'] == 10
    assert report['brightness_on'] > report['brightness_off'] + 50
    lamp = loop.hardware.body.devices_of(Light)[0]
    assert not lamp.on
    loop.close()


def test_robot_without_a_lamp_is_refused() -> None:
    """What the robot has is named where a camera or a lamp is missing."""
    messages = io.StringIO()
    config = load_config('light_camera', {'light_camera.light': 'Sun'})
    assert make_loop(config, os=messages).run(0.01).exit == 'failed'
    assert 'a camera and a lamp are needed, lantern has: Camera, Lamp' in messages.getvalue()


@pytest.mark.parametrize('hardware', ['mujoco', 'kinematic'])
def test_root_goes_round_on_a_circle(hardware: str) -> None:
    """The commanded root is where the circle says, on every hardware."""
    loop = open_loop('link_position', hardware__type=hardware)
    run_for(loop, 6.004)
    # Half a round in the first 4 s, a quarter in 1 s each: 2 pi * (0.5 + 0.5) at 6 s.
    np.testing.assert_allclose(loop.hardware.body.root_link.p, [0.0, 0.0, 0.5], atol=5e-3)
    assert loop.hardware.body.root_link.v[1] == pytest.approx(2 * math.pi / 4 * 0.3, rel=0.01)
    loop.close()


def test_twist_takes_the_root_over() -> None:
    """A received twist moves the root in its own axes for half a second, then it stays."""
    loop = open_loop('link_position', hardware__type='kinematic')
    run_for(loop, 1.0)
    controller = main_controller(loop)
    assert isinstance(controller, LinkPositionController)
    root = loop.hardware.body.root_link
    place, forward = root.p.copy(), root.R[:, 0].copy()
    controller.twists.post(Twist(linear=np.array([0.2, 0.0, 0.0])))
    run_for(loop, 1.0)
    np.testing.assert_allclose(root.p, place + 0.1 * forward, atol=2e-3)
    np.testing.assert_allclose(root.v, 0.0, atol=1e-9)
    loop.close()


def test_force_carries_the_block() -> None:
    """The block follows the circle in the air within a centimetre or so."""
    loop = open_loop('link_force')
    run_for(loop, 6.0)
    report = main_controller(loop).report()
    assert report['distance_from_circle'] < 0.015
    assert loop.hardware.body.root_link.p[2] == pytest.approx(0.5, abs=1e-3)
    loop.close()


def test_sub_controllers_follow_their_parent() -> None:
    """Two sub-controllers share the joints and follow one reference."""
    loop = open_loop('sub_controllers')
    run_for(loop, 1.5)
    body = loop.hardware.body
    start = np.array([0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0])
    np.testing.assert_allclose(body.q, start + 0.3, atol=0.03)
    assert main_controller(loop).report() == {'joints_led': 7}
    loop.close()


def test_part_without_a_parent_is_refused() -> None:
    """A part that stands alone says whose sub-controller it must be."""
    messages = io.StringIO()
    part = 'cnoid_control.controllers.samples.sub_controllers:PartController'
    config = load_config('pd', {'controller': part})
    assert make_loop(config, os=messages).run(0.01).exit == 'failed'
    assert 'must be a sub-controller of sub_controllers' in messages.getvalue()


def test_part_with_an_unknown_joint_is_left_out() -> None:
    """A part that names a joint that is not there says so; the others go on."""
    messages = io.StringIO()
    config = load_config('sub_controllers', {'shoulder.joints': ['joint9']})
    assert make_loop(config, os=messages).run(0.01).exit == 'completed'
    assert "unknown joint 'joint9'" in messages.getvalue()
