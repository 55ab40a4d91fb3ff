"""The control law of the summing solver: every term and factor against plain formulas."""

import numpy as np
import pytest

from cnoid_control.body import Body
from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks import (
    BodyVelocityConstraint,
    BodyVelocityTask,
    ControllerResult,
    JointVelocityConstraint,
    JointVelocityTask,
    TaskSolver,
)
from cnoid_control.controllers.tasks.sum_solver import SumSolver

TWIST = np.array([0.1, -0.05, 0.02, 0.2, 0.1, -0.3])


def world_jacobian(body: Body, link_name: str) -> np.ndarray:
    """Geometric Jacobian from axes and origins of the joints alone, world axes."""
    end = body.link(link_name)
    jacobian = np.zeros((6, body.num_joints))
    link = end
    while link.parent is not None:
        if link.joint_id >= 0:
            axis = link.R @ link.joint_axis
            jacobian[:3, link.joint_id] = np.cross(axis, end.p - link.p)
            jacobian[3:, link.joint_id] = axis
        link = link.parent
    return jacobian


def joint_velocity(controller: TaskSolver) -> np.ndarray:
    """Velocities of the last tick in joint-id order."""
    target = np.zeros(controller.body.num_joints)
    controller.write_velocities(target)
    return target


def add_joint_task(controller: TaskSolver, group: JointGroup, velocity: object) -> None:
    """Add a joint velocity task with a target."""
    task = controller.add_task(JointVelocityTask(f'joints {len(controller.tasks)}', group))
    task.target.set(np.broadcast_to(np.asarray(velocity, dtype=float), (group.dofs,)))


def test_a_joint_task_gives_its_target(controller, all_joints):
    """A joint velocity task alone is the command."""
    add_joint_task(controller, all_joints, np.arange(7) / 10)
    assert controller.compute() is ControllerResult.SOLUTION_FOUND
    np.testing.assert_allclose(joint_velocity(controller), np.arange(7) / 10, atol=1e-15)


def test_a_group_maps_to_its_own_joints_in_its_own_order(controller, arm):
    """A task of a group in another order moves just those joints."""
    add_joint_task(controller, JointGroup('two', [arm.joint(5), arm.joint(2)]), [0.5, -0.3])
    controller.compute()
    np.testing.assert_allclose(joint_velocity(controller), [0, 0, -0.3, 0, 0, 0.5, 0], atol=1e-15)


def test_joints_that_are_not_controlled_are_dropped(arm):
    """A task's joints outside the controlled group get nothing."""
    controlled = JointGroup('wrist', [arm.joint(4), arm.joint(5), arm.joint(6)])
    controller = TaskSolver(arm, controlled, 0.01, SumSolver())
    add_joint_task(controller, JointGroup('all', arm.joints), 0.2)
    controller.compute()
    np.testing.assert_allclose(joint_velocity(controller), [0, 0, 0, 0, 0.2, 0.2, 0.2], atol=1e-15)


def test_a_body_task_uses_the_pseudo_inverse(controller, arm):
    """The command of a body task is pinv(J) v."""
    task = controller.add_task(BodyVelocityTask('hand', arm.link('hand')))
    task.target.set(TWIST)
    controller.compute()
    expected = np.linalg.pinv(world_jacobian(arm, 'hand')) @ TWIST
    np.testing.assert_allclose(joint_velocity(controller), expected, atol=1e-9)


def test_a_body_task_inverts_over_all_joints_of_its_path(arm):
    """Joints that are not controlled take part in the inverse and are dropped after it."""
    controlled = JointGroup('shoulder', [arm.joint(0), arm.joint(1), arm.joint(2)])
    controller = TaskSolver(arm, controlled, 0.01, SumSolver())
    task = controller.add_task(BodyVelocityTask('hand', arm.link('hand')))
    task.target.set(TWIST)
    controller.compute()
    expected = np.linalg.pinv(world_jacobian(arm, 'hand')) @ TWIST
    expected[3:] = 0.0
    np.testing.assert_allclose(joint_velocity(controller), expected, atol=1e-9)


def test_tasks_add_up(controller, arm, all_joints):
    """Joint and body tasks in conflict are summed, not resolved."""
    add_joint_task(controller, all_joints, 0.1)
    add_joint_task(controller, all_joints, 0.2)
    for name in ('hand', 'forearm'):
        controller.add_task(BodyVelocityTask(name, arm.link(name))).target.set(TWIST)
    controller.compute()
    expected = np.full(7, 0.3)
    for name in ('hand', 'forearm'):
        jacobian = world_jacobian(arm, name)
        expected += np.linalg.pinv(jacobian, rcond=1e-8) @ TWIST
    np.testing.assert_allclose(joint_velocity(controller), expected, atol=1e-8)


def test_a_reference_turns_the_axes(controller, arm):
    """A target in the axes of a link is that target turned into the world, with no lever arm."""
    arm.q[0] = np.pi / 2
    arm.calc_forward_kinematics()
    task = controller.add_task(
        BodyVelocityTask('hand', arm.link('hand'), reference=arm.link('shoulder_yaw'))
    )
    task.target.set([0.1, 0, 0, 0, 0, 0.2])
    controller.compute()
    np.testing.assert_allclose(task.last_velocity_in_reference, [0.1, 0, 0, 0, 0, 0.2])
    np.testing.assert_allclose(task.last_velocity_in_world, [0, 0.1, 0, 0, 0, 0.2], atol=1e-15)
    task.reference = None
    controller.compute()
    np.testing.assert_allclose(task.last_velocity_in_world, [0.1, 0, 0, 0, 0, 0.2])


def test_selection_zeroes_axes_of_the_target(controller, arm):
    """Axes that are not selected are asked to rest."""
    task = controller.add_task(BodyVelocityTask('hand', arm.link('hand')))
    task.target.set(TWIST)
    task.selection = [1, 0, 0, 0, 0, 1]
    controller.compute()
    wanted = TWIST * [1, 0, 0, 0, 0, 1]
    np.testing.assert_allclose(task.last_velocity_in_world, wanted)
    reached = world_jacobian(arm, 'hand') @ joint_velocity(controller)
    np.testing.assert_allclose(reached, wanted, atol=1e-9)


def test_joint_velocity_constraint_scales_all_joints(controller, arm, all_joints):
    """One joint at its limit slows all joints by the same factor, even those of other groups."""
    add_joint_task(controller, all_joints, [0.4, 0.2, 0, 0, 0, 0, 1.0])
    constraint = controller.add_constraint(
        JointVelocityConstraint('slow', JointGroup('one', [arm.joint(0)]))
    )
    constraint.max_velocity = 0.1
    controller.compute()
    assert controller.scaling_factor == pytest.approx(0.25)
    assert constraint.scaling_factor == pytest.approx(0.25)
    np.testing.assert_allclose(
        joint_velocity(controller), [0.1, 0.05, 0, 0, 0, 0, 0.25], atol=1e-15
    )
    np.testing.assert_allclose(
        controller.desired_velocity, [0.4, 0.2, 0, 0, 0, 0, 1.0], atol=1e-15
    )


def test_the_smallest_factor_wins(controller, arm, all_joints):
    """With several constraints the whole is scaled by the smallest factor."""
    add_joint_task(controller, all_joints, 1.0)
    for name, limit in (('a', 0.5), ('b', 0.2), ('c', 3.0)):
        constraint = controller.add_constraint(JointVelocityConstraint(name, all_joints))
        constraint.max_velocity = limit
    controller.compute()
    assert controller.scaling_factor == pytest.approx(0.2)
    assert {item.constraint.name for item in controller.limitations()} == {'b'}
    assert controller.constraints['c'].scaling_factor == 1.0


def test_body_velocity_constraint_acts_in_its_axes(controller, arm, all_joints):
    """Each axis of the reference has its own limit; the tightest ratio counts."""
    arm.q[0] = np.pi / 2
    arm.calc_forward_kinematics()
    controller.add_task(BodyVelocityTask('hand', arm.link('hand'))).target.set(
        [0.0, 0.3, 0.1, 0, 0, 0]
    )
    constraint = controller.add_constraint(
        BodyVelocityConstraint('hand', arm.link('hand'), reference=arm.link('shoulder_yaw'))
    )
    constraint.max_velocity = [0.1, 9, 9, 9, 9, 9]
    controller.compute()
    assert controller.scaling_factor == pytest.approx(1 / 3)
    assert controller.limitations()[0].row == 'hand.x'
    reached = world_jacobian(arm, 'hand') @ joint_velocity(controller)
    np.testing.assert_allclose(reached[:3], [0, 0.1, 0.1 / 3], atol=1e-9)


def test_no_constraint_means_no_scaling(controller, all_joints):
    """Without constraints the factor is 1."""
    add_joint_task(controller, all_joints, 50.0)
    controller.compute()
    assert controller.scaling_factor == 1.0


@pytest.mark.parametrize(
    ('limit', 'velocity', 'factor'),
    [
        (1.0, 0.0, 1.0),
        (0.0, 0.0, 1.0),
        (0.0, 0.5, 0.0),
        (-1.0, 0.5, 0.0),
        (0.25, -0.5, 0.5),
        (np.inf, 0.5, 1.0),
    ],
)
def test_zero_velocities_and_limits(controller, all_joints, limit, velocity, factor):
    """A joint that does not move limits nothing, even at a zero limit; nothing becomes NaN."""
    add_joint_task(controller, all_joints, velocity)
    controller.add_constraint(JointVelocityConstraint('v', all_joints)).max_velocity = limit
    controller.compute()
    assert controller.scaling_factor == pytest.approx(factor)
    np.testing.assert_allclose(joint_velocity(controller), factor * velocity)


def test_a_forgotten_limit_freezes_the_robot(controller, all_joints, arm):
    """The limits of new constraints are zero."""
    add_joint_task(controller, all_joints, 0.5)
    controller.add_constraint(JointVelocityConstraint('v', all_joints))
    controller.compute()
    assert not joint_velocity(controller).any()
    controller.remove_constraint('v')
    controller.add_constraint(BodyVelocityConstraint('b', arm.link('hand')))
    controller.compute()
    assert not joint_velocity(controller).any()


def test_parameters_change_while_running(controller, all_joints):
    """A limit that changes counts from the next tick on."""
    add_joint_task(controller, all_joints, 1.0)
    constraint = controller.add_constraint(JointVelocityConstraint('v', all_joints))
    for limit in (0.5, 0.1, 2.0):
        constraint.max_velocity = limit
        controller.compute()
        assert controller.scaling_factor == pytest.approx(min(limit, 1.0))


def test_pseudo_inverse_is_exact_away_from_singularities():
    """No damping acts where all singular values are above the threshold."""
    matrix = np.random.default_rng(0).normal(size=(6, 9))
    np.testing.assert_allclose(
        SumSolver().pseudo_inverse(matrix), np.linalg.pinv(matrix), atol=1e-12
    )


def test_pseudo_inverse_is_bounded_at_singularities():
    """Near a singularity velocities stay bounded and continuous, and vanish at it."""
    solver = SumSolver(threshold=0.02, damping=0.05)
    values = np.linspace(0.0, 0.05, 4000)
    norms = [
        np.linalg.norm(solver.pseudo_inverse(np.diag([1.0, value])) @ [0.0, 1.0])
        for value in values
    ]
    assert norms[0] == 0.0
    assert max(norms) <= 1.0 / 0.02 + 1e-9
    assert np.abs(np.diff(norms)).max() < 0.5
