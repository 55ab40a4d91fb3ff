"""Several robots in one run: sections, groups, and two arms that share one task list."""

import io

import numpy as np
import pytest

from cnoid_control.body import Body
from cnoid_control.body.exceptions import ModelError
from cnoid_control.parameters import ParameterError
from cnoid_control.runtime.build import make_loop, make_robot
from cnoid_control.runtime.config import load_config, parse_config

ARM = {'model': 'arm.urdf', 'posture': [0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0]}


def robot(**changes):
    """Robot of a configuration with these options in its section."""
    config = parse_config({'robot': changes, 'controller': 'pd'})
    return make_robot(config.parameters.robot, config.folder)


def test_each_robot_has_its_place_posture_and_group():
    """As its own section says, and as the joint group of its name."""
    place = {'position': [0.5, 1.0, 0.2], 'rpy': [0.0, 0.0, np.pi / 2]}
    body = robot(models={'a': ARM, 'b': {**ARM, **place}}, name='pair')
    alone = robot(**ARM)
    assert body.name == 'pair'
    assert body.q.tolist() == 2 * ARM['posture']
    assert body.joint_group('b').joint_names == [f'b_{name}' for name in alone.joint_names]
    x, y, z = alone.link('hand').p
    np.testing.assert_allclose(body.link('b_hand').p, [0.5 - y, 1.0 + x, 0.2 + z], atol=1e-9)
    assert body.clone().joint_group('a').dofs == 7


@pytest.mark.parametrize(
    ('section', 'error', 'message'),
    [
        ({}, ParameterError, r'robot\.model: is missing'),
        ({'models': {'a': {}}}, ParameterError, r'robot\.models\.a\.model: is missing'),
        (
            {'models': {'a': {**ARM, 'posture': [0.0]}}},
            ParameterError,
            r'robot\.models\.a\.posture: .*it needs 7 values',
        ),
        (
            {'models': {'a': ARM}, 'model': 'arm.urdf'},
            ParameterError,
            r'robot\.model: has no effect beside robot\.models; choose from: a',
        ),
        (
            {'models': {'a': ARM}, 'position': [0.0] * 3},
            ParameterError,
            r'robot\.position: has no effect',
        ),
        ({'models': {'a': {**ARM, 'name': 'b'}}}, ParameterError, r"a\.name: its name is 'a'"),
        ({'models': {'a': {'mode': 1}}}, ParameterError, r'robot\.models\.a\.mode: unknown'),
        (
            {'models': {'a': ARM, 'walker': {'model': 'sr1.urdf'}}},
            ModelError,
            'walker: a robot with a floating base cannot be one of several',
        ),
    ],
)
def test_a_wrong_section_is_refused_by_key(section, error, message):
    """The key of the robot that it is about is named."""
    with pytest.raises(error, match=message):
        robot(**section)


def test_two_arms_carry_a_frame():
    """In physics the hands keep their pose to each other, and the frame goes round its circle."""
    loop = make_loop(load_config('two_arms'), os=io.StringIO())
    loop.open()
    body = loop.hardware.body
    body.calc_forward_kinematics()
    start = body.link('left_hand').p.copy()
    grip = np.linalg.inv(body.link('left_hand').T) @ body.link('right_hand').T
    centre = start.copy()
    slips, turns, radii, path = [], [], [], []
    for tick in range(8000):
        loop.step()
        if tick % 20:
            continue
        body.calc_forward_kinematics()
        left, right = body.link('left_hand'), body.link('right_hand')
        now = np.linalg.inv(left.T) @ right.T
        slips.append(np.linalg.norm(now[:3, 3] - grip[:3, 3]))
        turns.append(np.arccos(np.clip((np.trace(now[:3, :3].T @ grip[:3, :3]) - 1) / 2, -1, 1)))
        path.append(left.p.copy())
    loop.close()
    path = np.array(path)
    centre = 0.5 * (path.max(axis=0) + path.min(axis=0))
    radii = np.linalg.norm((path - centre)[:, [0, 2]], axis=1)
    assert max(slips) < 1.5e-3
    assert max(turns) < 0.01
    assert np.abs(radii - 0.08).max() < 5e-3
    assert np.ptp(path[:, 1]) < 3e-3


def test_both_arms_give_way_to_the_grip():
    """A relative task alone is served by both arms: neither stands still, no pose is asked for."""
    config = load_config('two_arms', {'tasks.tasks.frame.enabled': False})
    loop = make_loop(config, os=io.StringIO())
    loop.open()
    body = loop.hardware.body
    body.calc_forward_kinematics()
    tasks = loop.host.controllers[0].controller.tasks
    before = {side: body.link(f'{side}_hand').p.copy() for side in ('left', 'right')}
    for name in ('left_rest', 'right_rest'):
        tasks.tasks[name].disable()
    for _ in range(3):
        loop.step()
    grip = tasks.tasks['grip']
    goal = grip.target.input.copy()
    goal[:3, 3] *= 0.8
    grip.target.set(goal)
    for _ in range(1500):
        loop.step()
    body.calc_forward_kinematics()
    after = {side: body.link(f'{side}_hand').p.copy() for side in ('left', 'right')}
    gap = np.linalg.norm(after['left'] - after['right'])
    assert gap == pytest.approx(0.8 * np.linalg.norm(before['left'] - before['right']), abs=2e-3)
    moved = {side: np.linalg.norm(after[side] - before[side]) for side in before}
    assert moved['left'] == pytest.approx(moved['right'], rel=0.1)
    assert moved['left'] > 0.01
    loop.close()


def test_the_description_for_others_has_both_arms(tmp_path):
    """What a launch file publishes as robot_description, with tags for ros2_control."""
    pytest.importorskip('launch', reason='launch is not installed')
    from cnoid_control.body.formats.urdf import parse_urdf
    from cnoid_control.ros.launch_files import LaunchFiles

    config = load_config('two_arms')
    text = LaunchFiles(config, 'mock', 1000.0, tmp_path).description
    names = [f'{side}_joint{i}' for side in ('left', 'right') for i in range(1, 8)]
    body = Body(parse_urdf(text, 'two arms', folder=tmp_path))
    assert body.joint_names == names
    for name in names:
        assert f'<joint name="{name}">' in text
    original = make_robot(config.parameters.robot, config.folder)
    body.q[:] = original.q
    body.calc_forward_kinematics()
    hands = [robot.link('right_hand').T for robot in (body, original)]
    np.testing.assert_allclose(hands[0], hands[1], atol=1e-6)
