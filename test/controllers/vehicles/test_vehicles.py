"""The vehicles and conveyors of the samples: where they go and what they carry."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import pytest
from controllers.runs import main_controller, open_loop, run_for

from cnoid_control.body import Body
from cnoid_control.body.devices import Camera, Light, SpotLight
from cnoid_control.controllers.vehicles.car import CarController
from cnoid_control.parameters import ParameterError
from cnoid_control.plugin.mailbox import Joy, Twist, Value
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.loop import ControlLoop


def heading(body: Body) -> float:
    """Direction of the root about the vertical [rad]."""
    R = body.root_link.R
    return math.atan2(R[1, 0], R[0, 0])


def object_place(loop: ControlLoop, name: str) -> np.ndarray:
    """Where a thing in the world is [m]."""
    hardware: Any = loop.hardware
    return hardware.data.body(f'object/{name}').xpos


def post(loop: ControlLoop, mailbox: str, message: Any) -> None:
    """Send the main controller a message."""
    loop.host.controllers[0].io.mailboxes[mailbox].post(message)


def test_tank_drives_turns_aims_and_switches() -> None:
    """The script brings the tank where its kinematics say, and its lamps off."""
    loop = open_loop('tank', hardware__mujoco__camera_renderer='rays')
    body = loop.hardware.body
    lights = {light.name: light for light in body.devices_of(Light)}
    assert not lights['LeftLamp'].on
    run_for(loop, 2.4)
    # 0.25 s of acceleration cost half of that time.
    assert body.root_link.p[0] == pytest.approx(0.5 * (1.9 - 0.125), rel=0.02)
    assert abs(heading(body)) < 0.01
    assert all(light.on for light in lights.values())
    run_for(loop, 4.5)
    assert heading(body) == pytest.approx(1.6, rel=0.1)
    np.testing.assert_allclose(body.q[2:], [-1.0, 0.5], atol=0.03)
    assert not any(light.on for light in lights.values())
    run_for(loop, 2.1)
    assert lights['Light'].on
    np.testing.assert_allclose(body.root_link.v, 0.0, atol=1e-3)
    report = main_controller(loop).report()
    assert (report['switched_Light'], report['switched_LeftLamp']) == (2, 1)
    loop.close()


def test_tank_stops_when_the_joystick_falls_silent() -> None:
    """A message drives it, its buttons switch and narrow the beam; then it comes to rest."""
    loop = open_loop(
        'tank',
        tank_joystick_light__velocity__joystick__source='messages',
        hardware__mujoco__camera_renderer='rays',
    )
    body = loop.hardware.body
    camera, light = body.devices_of(Camera)[0], body.find_device(SpotLight, 'Light')
    assert light is not None
    run_for(loop, 0.1)
    for _ in range(10):
        post(loop, 'joy', Joy(axes=np.array([0.0, 1.0]), buttons=(0, 1, 0, 0, 0, 0, 1)))
        run_for(loop, 0.1)
    assert body.root_link.v[0] == pytest.approx(0.5, rel=0.02)
    assert (camera.on, light.on) == (False, True)
    assert light.beam_width == pytest.approx(0.1)
    run_for(loop, 1.0)
    np.testing.assert_allclose(body.root_link.v, 0.0, atol=1e-3)
    loop.close()


def test_crawler_climbs_the_ramp() -> None:
    """It stands level on the platform, half a metre up, after the way that its tracks went."""
    loop = open_loop('crawler')
    body = loop.hardware.body
    start = body.root_link.p[2]
    run_for(loop, 4.0)
    # On the ramp it goes at the speed of its tracks.
    assert np.linalg.norm(body.root_link.v) == pytest.approx(0.4, rel=0.02)
    assert math.asin(-body.root_link.R[2, 0]) == pytest.approx(-math.radians(20), abs=0.01)
    run_for(loop, 5.0)
    assert body.root_link.p[2] - start == pytest.approx(0.5, abs=0.005)
    assert 2.0 < body.root_link.p[0] < 2.7
    assert body.root_link.R[2, 2] == pytest.approx(1.0, abs=1e-3)
    np.testing.assert_allclose(body.root_link.v, 0.0, atol=1e-3)
    loop.close()


@pytest.mark.parametrize('mode', ['torque', 'velocity'])
def test_car_goes_round_a_circle(mode: str) -> None:
    """Ahead it goes straight; steered, on a circle of one over the curvature."""
    loop = open_loop('car', car__mode=mode, car__curvature=0.5)
    body = loop.hardware.body
    run_for(loop, 2.5)
    assert abs(body.root_link.p[1]) < 0.01
    run_for(loop, 1.0)
    places = []
    for _ in range(8):
        run_for(loop, 0.5)
        # The middle of the rear axle.
        places.append((body.root_link.p + body.root_link.R @ [-0.3, 0.0, 0.0])[:2])
    points = np.array(places)
    # Circle through the points by least squares.
    left = np.column_stack([2.0 * points, np.ones(len(points))])
    cx, cy, c = np.linalg.lstsq(left, (points**2).sum(axis=1), rcond=None)[0]
    assert math.sqrt(c + cx**2 + cy**2) == pytest.approx(2.0, rel=0.06)
    loop.close()


def test_twists_that_are_not_finite_are_refused() -> None:
    """Whoever sends one is told; the vehicle goes on with what it was told before."""
    loop = open_loop('car', car__velocity__joystick__source='messages')
    with pytest.raises(ParameterError, match=r'cmd_vel: .*finite values expected'):
        post(loop, 'cmd_vel', Twist(linear=np.array([np.nan, 0.0, 0.0])))
    run_for(loop, 0.1)
    assert main_controller(loop).command.velocity[0] == 0.0
    loop.close()


def test_car_rolls_about_one_point() -> None:
    """The axes of both steered wheels meet on the line of the rear axle."""
    loop = open_loop('car', car__velocity__joystick__source='messages')
    controller = main_controller(loop)
    assert isinstance(controller, CarController)
    for _ in range(8):
        post(loop, 'cmd_vel', Twist(linear=np.array([0.5, 0, 0]), angular=np.array([0, 0, 0.3])))
        run_for(loop, 0.25)
    assert controller.curvature == pytest.approx(0.6)
    left, right = (loop.hardware.body.joint(f'{side}_steering').q for side in ('left', 'right'))
    radius = 1.0 / 0.6
    assert math.tan(left) == pytest.approx(0.6 / (radius - 0.25), rel=0.03)
    assert math.tan(right) == pytest.approx(0.6 / (radius + 0.25), rel=0.03)
    run_for(loop, 2.0)
    np.testing.assert_allclose(loop.hardware.body.root_link.v, 0.0, atol=5e-3)
    loop.close()


def test_conveyor_carries_and_hands_over() -> None:
    """Boxes go at belt speed, fall on the second belt and go on across; then all stands still."""
    loop = open_loop('conveyor')
    run_for(loop, 1.0)
    before = object_place(loop, 'red').copy()
    run_for(loop, 1.0)
    np.testing.assert_allclose(object_place(loop, 'red') - before, [0.3, 0.0, 0.0], atol=0.005)
    run_for(loop, 4.0)
    before = object_place(loop, 'red').copy()
    run_for(loop, 1.0)
    np.testing.assert_allclose(object_place(loop, 'red') - before, [0.0, 0.3, 0.0], atol=0.005)
    assert object_place(loop, 'blue')[2] == pytest.approx(0.49, abs=0.01)
    post(loop, 'speed', Value(value=0.0))
    run_for(loop, 0.5)
    before = object_place(loop, 'red').copy()
    run_for(loop, 1.0)
    np.testing.assert_allclose(object_place(loop, 'red'), before, atol=1e-3)
    loop.close()


@pytest.mark.parametrize(
    ('config', 'changes', 'words'),
    [
        ('tank', {'left_wheel_names': []}, 'left_wheel_names: a side needs at least one'),
        ('tank', {'left_wheel_names': ['chain']}, "has no joint 'chain'; choose from: left_track"),
        ('tank', {'left_wheel_names': ['turret_yaw'], 'wheel_radius': 0.1}, 'does not point to'),
        (
            'tank',
            {'left_wheel_names': ['right_track'], 'right_wheel_names': ['left_track']},
            'exchange the names',
        ),
        ('tank', {'mode': 'torque'}, 'is a track: it takes velocities only'),
        ('tank', {'switches': {'Sun': 1}}, 'switches.Sun: unknown device'),
        ('tank', {'turret': {'joints': ['turret_yaw'], 'axes': []}}, 'one per joint'),
        ('car', {'axle': ['front_left_wheel']}, 'front_left_wheel are steered'),
        ('car', {'steering': ['rear_left_wheel']}, 'does not point up'),
        ('car', {'driven': []}, 'driven: a car needs at least one'),
        ('conveyor', {'belts': ['frame']}, "has no joint 'frame'"),
    ],
)
def test_what_cannot_be_driven_is_refused(
    config: str, changes: dict[str, Any], words: str
) -> None:
    """The option is named, and what is wrong with it."""
    messages = io.StringIO()
    name = load_config(config).parameters.controller
    given = {f'{name}.{key}': value for key, value in changes.items()}
    summary = make_loop(load_config(config, given), os=messages).run(0.01)
    assert summary.exit == 'failed'
    assert words in summary.reason + messages.getvalue()


def test_another_robot_is_driven_by_its_names() -> None:
    """The drive is not bound to one model: the car turns as a cart whose sides differ."""
    loop = open_loop(
        'car',
        controller='differential_drive',
        differential_drive={
            'left_wheel_names': ['rear_left_wheel', 'front_left_wheel'],
            'right_wheel_names': ['rear_right_wheel', 'front_right_wheel'],
            'stick_joints': {
                'joints': ['left_steering', 'right_steering'],
                'axes': [3, 3],
                'mode': 'position',
            },
            'wheel_separation_multiplier': 2.0,
        },
    )
    body = loop.hardware.body
    for _ in range(8):
        post(loop, 'cmd_vel', Twist(linear=np.array([0.4, 0, 0])))
        run_for(loop, 0.25)
    assert body.root_link.p[0] == pytest.approx(0.4 * (2.0 - 0.1), rel=0.06)
    post(loop, 'cmd_vel', Twist(linear=np.array([0.4, 0, 0]), angular=np.array([0, 0, 0.5])))
    run_for(loop, 0.2)
    # Half the width of 0.5 m, counted twice, on wheels of 0.1 m.
    left, right = (body.link(f'rear_{side}_wheel').dq_target for side in ('left', 'right'))
    assert (left, right) == pytest.approx(((0.4 - 0.25) / 0.1, (0.4 + 0.25) / 0.1))
    loop.close()
