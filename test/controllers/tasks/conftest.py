"""Robots that the tests of tasks and constraints move."""

import numpy as np
import pytest

from cnoid_control.body import Body, load_body
from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks.sum_solver import SumSolver
from cnoid_control.controllers.tasks.task_solver import TaskSolver

PERIOD = 0.01


@pytest.fixture
def arm() -> Body:
    """Give the seven-joint arm in a bent posture, far from singularities and limits."""
    body = load_body('package://cnoid_control/urdf/arm.urdf')
    body.q[:] = [0.3, 0.5, -0.4, 1.1, 0.6, 0.8, -0.2]
    body.calc_forward_kinematics()
    return body


@pytest.fixture
def sr1() -> Body:
    """Give SR1 in a bent posture with its root turned."""
    body = load_body('package://cnoid_control/urdf/sr1.urdf')
    random = np.random.default_rng(3)
    middle = 0.5 * (body.q_lower + body.q_upper)
    body.q[:] = middle + 0.2 * (body.q_upper - body.q_lower) * random.uniform(-1, 1, 29)
    body.root_link.rotation = ([1.0, 2.0, -1.0], 0.4)
    body.calc_forward_kinematics()
    return body


@pytest.fixture
def all_joints(arm: Body) -> JointGroup:
    """Give all joints of the arm as a group."""
    return JointGroup('all', arm.joints)


@pytest.fixture
def controller(arm: Body, all_joints: JointGroup) -> TaskSolver:
    """Give a controller of the arm that adds tasks up."""
    return TaskSolver(arm, all_joints, PERIOD, SumSolver())
