"""Operational space control: two levels, limits of the joints, feedback with integral action."""

import io as streams
import json

import numpy as np
import pytest

from cnoid_control.body import load_body
from cnoid_control.cli.main import main
from cnoid_control.controllers.operational_space import (
    OperationalSpaceController,
    OperationalSpaceParameters,
)
from cnoid_control.controllers.tasks.exceptions import TaskError
from cnoid_control.controllers.tasks.task import VelocityShaper
from cnoid_control.parameters import parse_parameters
from cnoid_control.plugin.controller_io import ControllerConfig, ControllerIO
from cnoid_control.plugin.mailbox import Pose

DT = 0.002


def make(level=1):
    """Make a controller of the arm's hand, and the arm."""
    arm = load_body('package://cnoid_control/urdf/arm.urdf')
    arm.q[:] = [0.3, 0.5, -0.4, 1.1, 0.6, 0.8, -0.2]
    arm.initialize_state()
    tasks = {
        'hand': {'type': 'body_position', 'link': 'hand', 'priority': level, 'gain': 10.0},
        'rest': {'type': 'joint_position', 'joint_group': 'all', 'priority': 2},
    }
    options = {'joint_group': 'all', 'tasks': tasks, 'state': 'measured'}
    return arm, parse_parameters(OperationalSpaceParameters, options, 'operational_space')


def test_levels_are_one_and_two():
    """Any other level is refused by name."""
    arm, parameters = make(level=0)
    with pytest.raises(TaskError, match=r'hand\.priority: level 1 or 2 expected, got 0'):
        OperationalSpaceController().configure(ControllerConfig('os', arm, '', parameters))


def test_joints_keep_their_limits_on_the_way():
    """A far target is approached within speeds, ranges and accelerations, and level 1 wins."""
    arm, parameters = make()
    io = ControllerIO('os', arm, DT, '', parameters, streams.StringIO())
    controller = OperationalSpaceController()
    assert controller.initialize(io)
    goal = np.array(arm.link('hand').T)
    goal[:3, 3] += [-0.1, 0.2, -0.2]
    io.mailboxes['hand/target'].post(Pose(T=goal))
    last = np.zeros(7)
    for _ in range(2500):
        controller.control()
        assert (np.abs(controller.model.dq) <= arm.dq_upper + 1e-6).all()
        assert (np.abs(controller.model.dq - last) <= 50.0 * DT + 1e-6).all()
        last = controller.model.dq.copy()
        arm.q[:] = arm.q_target
    arm.calc_forward_kinematics()
    np.testing.assert_allclose(arm.link('hand').p, goal[:3, 3], atol=1e-4)


def test_it_runs_in_physics(capsys):
    """The shipped configuration keeps the hand near its moving target."""
    assert main(['run', 'operational_space', '--duration', '4', '--json']) == 0
    result = json.loads(capsys.readouterr().out)
    assert result['exit'] == 'completed'
    assert result['reports']['operational_space']['hand.error'] < 0.05


def test_integral_action_removes_a_constant_disturbance():
    """With a constant pull, a gain alone keeps an error and the integral removes it."""
    left = {}
    for integral_gain in (0.0, 4.0):
        shaper = VelocityShaper(integral_gain=integral_gain)
        position = np.zeros(1)
        for _ in range(5000):
            error = 1.0 - position
            position = position + (shaper.shape(2.0 * error, error, DT) - 0.5) * DT
        left[integral_gain] = abs(1.0 - position.item())
    assert left[0.0] == pytest.approx(0.25, abs=1e-3)
    assert left[4.0] < 1e-3


def test_speed_and_change_are_limited_by_their_norm():
    """What is asked for keeps its direction and its limits."""
    shaper = VelocityShaper(max_speed=0.5, max_change=1.0)
    wish, error = np.array([3.0, 4.0]), np.zeros(2)
    outputs = [np.zeros(2), *(shaper.shape(wish, error, 0.1) for _ in range(10))]
    changes = np.linalg.norm(np.diff(outputs, axis=0), axis=1)
    assert changes.max() <= 0.1 + 1e-12
    np.testing.assert_allclose(outputs[-1], [0.3, 0.4])
