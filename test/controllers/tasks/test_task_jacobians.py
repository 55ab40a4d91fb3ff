"""Jacobians and errors of all tasks by finite differences, on an arm and on humanoids."""

import importlib.metadata
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from cnoid_control.body import Body, JointType, load_body
from cnoid_control.body.description import BodyDescription, LinkDescription, Mimic
from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks import (
    BodyPositionTask,
    BodyScrewTask,
    BodyVelocityTask,
    ComTask,
    JointPositionTask,
    LookAtTask,
    MomentumTask,
    RelativeBodyTask,
    Task,
)
from cnoid_control.controllers.tasks.kinematics import TaskKinematics

STEP = 1e-6


def move(body: Body, velocity: np.ndarray, kinematics: TaskKinematics) -> None:
    """Move a body by a small velocity of the unknowns times STEP, on the manifold."""
    full = np.zeros(body.model.nv)
    full[kinematics.columns] = velocity * STEP
    q = pin.integrate(body.model, body.pin_q().copy(), full)
    body.root_link.R = pin.Quaternion(q[3:7]).toRotationMatrix()
    body.root_link.p = q[:3]
    body.joint_arrays['q'][body.tree.slots_in_pin_order] = q[7:]
    kinematics.update()


def check(task: Task, body: Body, moving_root: bool, error_rate: bool = True) -> None:
    """Compare the task's Jacobian with the change of its error under small motions."""
    kinematics = TaskKinematics(body, body.joints, moving_root)
    random = np.random.default_rng(7)
    for _ in range(4):
        velocity = random.uniform(-1, 1, kinematics.num_unknowns)
        kinematics.update()
        saved = body.save_state()
        errors = []
        for sign in (-1.0, 1.0):
            body.restore_state(saved)
            kinematics.update()
            move(body, sign * velocity, kinematics)
            task.update(kinematics, 0.01)
            errors.append(task.error.copy())
        body.restore_state(saved)
        kinematics.update()
        task.update(kinematics, 0.01)
        rate = -(errors[1] - errors[0]) / (2 * STEP)
        np.testing.assert_allclose(task.jacobian(kinematics) @ velocity, rate, atol=2e-6)


def prepare(task: Task, body: Body, moving_root: bool) -> Task:
    """Start the task where the body is."""
    kinematics = TaskKinematics(body, body.joints, moving_root)
    kinematics.update()
    task.on_enable(kinematics)
    return task


@pytest.fixture(params=['arm', 'sr1'])
def robot(request, arm, sr1):
    """Give each robot with the names of two of its links."""
    if request.param == 'arm':
        return arm, 'hand', 'upper_arm', False
    return sr1, 'LARM_WRIST_R', 'RLEG_KNEE', True


def test_body_position_task_at_its_target(robot):
    """At the target the error changes as the Jacobian says."""
    body, link, reference, root = robot
    check(prepare(BodyPositionTask('t', body.link(link)), body, root), body, root)
    del reference


def test_body_position_task_is_exact_in_position_everywhere(robot):
    """The linear rows hold far from the target too, in the axes of a resting reference."""
    body, link, _, root = robot
    task = prepare(BodyPositionTask('t', body.link(link)), body, root)
    far = np.array(task.target.input)
    far[:3, 3] += [0.1, -0.2, 0.3]
    task.target.set(far)
    task.selection = [1, 1, 1, 0, 0, 0]
    kinematics = TaskKinematics(body, body.joints, root)
    kinematics.update()
    task.update(kinematics, 0.01)
    check_rows = task.jacobian(kinematics)[:3]
    assert check_rows.shape == (3, kinematics.num_unknowns)
    np.testing.assert_allclose(task.error[:3], [0.1, -0.2, 0.3], atol=1e-12)


def test_body_screw_task_far_from_its_target(robot):
    """The twist to a far target changes as the Jacobian says."""
    body, link, _, root = robot
    task = prepare(BodyScrewTask('t', body.link(link)), body, root)
    far = pin.SE3(np.array(task.target.input)) * pin.exp6(
        np.array([0.1, -0.2, 0.15, 0.5, 0.3, -0.6])
    )
    task.target.set(far.homogeneous)
    check(task, body, root)


def test_relative_body_task(robot):
    """Motion of both links changes the relative pose as the Jacobian says."""
    body, link, reference, root = robot
    task = RelativeBodyTask('t', body.link(link), body.link(reference))
    check(prepare(task, body, root), body, root)


def test_com_task(robot):
    """The centre of mass moves as its Jacobian says."""
    body, _, _, root = robot
    task = prepare(ComTask('t'), body, root)
    task.target.set(np.array([0.3, 0.1, 0.9]))
    check(task, body, root)


def test_look_at_task_far_from_its_target(robot):
    """The direction to a point changes as the Jacobian says."""
    body, link, _, root = robot
    task = prepare(LookAtTask('t', body.link(link), [0.0, 0.6, 0.8]), body, root)
    pose = body.link(link)
    ahead = pose.p + pose.R @ np.array([0.2, 0.7, 1.1])
    task.target.set(ahead)
    check(task, body, root)


def test_joint_position_task(robot):
    """Errors of joints change as the joints do."""
    body, _, _, root = robot
    group = JointGroup('some', [body.joint(4), body.joint(1)])
    check(prepare(JointPositionTask('t', group), body, root), body, root)


def test_momentum_task_maps_velocity_to_momentum(robot):
    """Mass times rows times velocity is the momentum that the body itself computes."""
    body, _, _, root = robot
    kinematics = TaskKinematics(body, body.joints, root)
    velocity = np.random.default_rng(1).uniform(-1, 1, kinematics.num_unknowns)
    full = np.zeros(body.model.nv)
    full[kinematics.columns] = velocity
    if root:
        body.root_link.v = body.root_link.R @ full[:3]
        body.root_link.w = body.root_link.R @ full[3:6]
    body.joint_arrays['dq'][body.tree.slots_in_pin_order] = full[6:]
    body.calc_forward_kinematics(velocity=True)
    linear, angular = np.zeros(3), np.zeros(3)
    com = body.calc_center_of_mass()
    for link in body.links:
        momentum = link.m * (link.v + np.cross(link.w, link.R @ link.c))
        linear += momentum
        angular += np.cross(link.wc - com, momentum) + link.R @ link.I @ link.R.T @ link.w
    kinematics.update()
    found = MomentumTask('m').jacobian(kinematics) @ velocity * body.mass
    np.testing.assert_allclose(found, [*linear, *angular], atol=1e-9)


def romeo() -> Path:
    """Find the Romeo model of example-robot-data."""
    try:
        files = importlib.metadata.files('example-robot-data') or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip('the models of example-robot-data (0.4 GB) are not installed')
    return Path(next(file for file in files if file.name == 'romeo_small.urdf').locate())


def test_fixed_links_on_a_robot_of_other_people(monkeypatch):
    """Jacobians of links on fixed joints hold on a model that was not made for this package."""
    model = romeo()
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(model.parents[5]))
    body = load_body(model, JointType.FREE)
    body.q[:] = np.clip(0.3, body.q_lower, body.q_upper)
    body.calc_forward_kinematics()
    for link in ('l_wrist', 'r_sole', 'CameraDepth_frame'):
        check(prepare(BodyScrewTask('t', body.link(link)), body, True), body, True)


def test_body_velocity_task_has_the_rows_of_the_link(robot):
    """Rows times velocities is the velocity that forward kinematics give, in the reference."""
    body, link, reference, root = robot
    kinematics = TaskKinematics(body, body.joints, False)
    velocity = np.random.default_rng(2).uniform(-1, 1, kinematics.num_unknowns)
    body.joint_arrays['dq'][kinematics.joint_slots] = velocity
    body.calc_forward_kinematics(velocity=True)
    moving, axes = body.link(link), body.link(reference).R
    expected = [*(axes.T @ moving.v), *(axes.T @ moving.w)]
    kinematics.update()
    task = BodyVelocityTask('t', body.link(link), body.link(reference))
    np.testing.assert_allclose(task.jacobian(kinematics) @ velocity, expected, atol=1e-9)
    del root


def test_mimic_joints_move_with_those_they_follow():
    """Velocities, centre of mass and momentum count in what follows a controlled joint."""
    axis = np.array([0.0, 1.0, 0.0])
    chain = [LinkDescription('base', joint_type=JointType.FIXED)]
    for name, parent, more in (
        ('a', 'base', {'joint_id': 0}),
        ('b', 'a', {'mimic': Mimic('a', -2.0, 0.1)}),
        ('c', 'b', {'joint_id': 1}),
    ):
        chain.append(
            LinkDescription(
                name,
                parent,
                joint_type=JointType.REVOLUTE,
                joint_axis=axis,
                translation=np.array([0.1, 0.0, 0.3]),
                center_of_mass=np.array([0.0, 0.1, 0.2]),
                **more,
            )
        )
    body = Body(BodyDescription('r', chain))
    body.q[:] = 0.4, -0.3
    body.dq[:] = 0.7, 1.1
    kinematics = TaskKinematics(body, body.joint_group('all').joints, False)
    body.calc_forward_kinematics(velocity=True)
    link = body.link('c')
    twist = np.concatenate([link.v, link.w])
    linear, angular = body.calc_total_momentum('com')
    kinematics.update()
    assert kinematics.jacobian(link) @ body.dq == pytest.approx(twist)
    local = kinematics.local_jacobian(link) @ body.dq
    assert local[3:] == pytest.approx(link.R.T @ twist[3:])
    momentum = kinematics.select(kinematics.momentum_matrix()) @ body.dq
    assert momentum == pytest.approx(np.concatenate([linear, angular]))
    com = kinematics.select(kinematics.com_jacobian()) @ body.dq
    assert com * body.mass == pytest.approx(linear)
