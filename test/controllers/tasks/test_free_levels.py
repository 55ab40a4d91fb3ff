"""Rows by one product, and strict levels without bounds, against other ways to find them."""

import numpy as np
import pytest
import qpsolvers

from cnoid_control.controllers.tasks import (
    BodyVelocityTask,
    ComTask,
    ControllerResult,
    JointVelocityConstraint,
    JointVelocityTask,
    TaskSolver,
    free_levels,
)
from cnoid_control.controllers.tasks.free_levels import FreeLevels
from cnoid_control.controllers.tasks.kinematics import TaskKinematics
from cnoid_control.controllers.tasks.qp_solver import QpSolver
from cnoid_control.controllers.tasks.stack import TaskStack

LINKS = ('LLEG_ANKLE_R', 'WAIST', 'LARM_WRIST_R', 'RARM_WRIST_R')


def expected_rows(task, kinematics):
    """Weighted rows of a task that count, one link at a time."""
    scale = np.sqrt(task.weight) * task.selection
    return (scale[:, None] * task.jacobian(kinematics))[scale > 0.0]


def check_rows(stack, tasks, kinematics):
    """Each row of each task is in the rows of its level once."""
    for level in stack.levels:
        rows = [expected_rows(task, kinematics) for task in level.tasks]
        np.testing.assert_allclose(level.rows, np.vstack(rows), atol=1e-12)
    assert sum(len(level.tasks) for level in stack.levels) == len(tasks)


@pytest.mark.parametrize('seed', range(4))
def test_stacked_rows_are_those_of_each_task(sr1, seed):
    """Any selection, weight, order and posture; joints and points between links; other links."""
    random = np.random.default_rng(seed)
    controller = TaskSolver(sr1, sr1.joint_group('all'), 0.01, QpSolver())
    tasks = []
    for name in LINKS:
        task = controller.add_task(BodyVelocityTask(name, sr1.link(name)))
        task.selection = [1, *random.integers(2, size=5)]
        task.weight = random.uniform(0.2, 3.0, size=6)
        tasks.append(task)
    tasks.append(controller.add_task(ComTask('com')))
    tasks.append(controller.add_task(JointVelocityTask('rest', sr1.joint_group('all'))))
    for task in tasks:
        task.priority = int(random.integers(3))
    kinematics = controller.kinematics
    stack = TaskStack(kinematics, tasks)
    for _ in range(3):
        sr1.q[:] = 0.3 * random.normal(size=sr1.num_joints)
        sr1.root_link.p = random.normal(size=3)
        controller.compute()
        stack.refresh()
        check_rows(stack, tasks, kinematics)
    for change in (
        lambda: setattr(tasks[0], 'link', sr1.link('CHEST')),
        lambda: setattr(tasks[1], 'reference', sr1.link('CHEST')),
    ):
        assert stack.fits(kinematics, tasks)
        change()
        assert not stack.fits(kinematics, tasks)
        stack = TaskStack(kinematics, tasks)
        stack.refresh()
        check_rows(stack, tasks, kinematics)


def test_rows_of_some_joints_and_of_a_fixed_link(arm):
    """The columns are those of the controlled joints; a link behind a fixed joint has its arm."""
    arm.q[:] = [0.3, 0.5, -0.4, 1.1, 0.6, 0.8, -0.2]
    some = [arm.joint(i) for i in (1, 3, 6)]
    kinematics = TaskKinematics(arm, some, moving_root=False)
    kinematics.update()
    tasks = [BodyVelocityTask(link.name, link) for link in arm.links[1:]]
    stack = TaskStack(kinematics, tasks)
    stack.refresh()
    assert stack.rows.shape == (6 * len(tasks), 3)
    check_rows(stack, tasks, kinematics)


def lexicographic(controller, levels):
    """Velocity of strict levels: each is solved by quadprog under equalities of those above."""
    size, damping = controller.kinematics.num_unknowns, controller.solver.damping
    kept, reached, velocity = np.zeros((0, size)), np.zeros(0), None
    for rows, wanted in levels:
        velocity = qpsolvers.solve_qp(
            2.0 * (rows.T @ rows + damping * np.eye(size)),
            -2.0 * rows.T @ wanted,
            A=kept if len(kept) else None,
            b=reached if len(kept) else None,
            solver='quadprog',
        )
        kept = np.vstack([kept, rows])
        reached = np.concatenate([reached, rows @ velocity])
    return velocity


@pytest.mark.parametrize('damping', [1e-5, 1e-2])
@pytest.mark.parametrize('seed', range(4))
def test_strict_levels_are_what_another_solver_finds(sr1, monkeypatch, seed, damping):
    """Three levels with joints in the last: found without a program, and the same."""
    random = np.random.default_rng(seed)
    group = sr1.joint_group('all')
    sr1.q[:] = 0.3 * random.normal(size=sr1.num_joints)
    controller = TaskSolver(sr1, group, 0.01, QpSolver(damping=damping))
    tasks = []
    for name, priority in zip(LINKS, (0, 1, 1, 2), strict=True):
        task = controller.add_task(BodyVelocityTask(name, sr1.link(name)))
        task.priority = priority
        task.selection = [1, 1, 1, *random.integers(2, size=3)]
        task.weight = random.uniform(0.2, 3.0, size=6)
        task.target.set(0.1 * random.normal(size=6))
        tasks.append(task)
    rest = controller.add_task(JointVelocityTask('rest', group))
    rest.priority, rest.weight = 2, 0.01
    rest.target.set(0.1 * random.normal(size=29))
    tasks.append(rest)
    controller.add_constraint(JointVelocityConstraint('speed', group)).max_velocity = 100.0
    # The way through the levels one by one is not taken.
    monkeypatch.setattr(QpSolver, '_solve_free_levels', None)
    assert controller.compute() is ControllerResult.SOLUTION_FOUND
    levels = []
    for priority in range(3):
        members = [task for task in tasks if task.priority == priority]
        scales = [np.sqrt(task.weight) * task.selection for task in members]
        levels.append(
            (
                np.vstack([expected_rows(task, controller.kinematics) for task in members]),
                np.concatenate(
                    [(s * t.velocity)[s > 0.0] for s, t in zip(scales, members, strict=True)]
                ),
            )
        )
    np.testing.assert_allclose(controller.velocity, lexicographic(controller, levels), atol=1e-6)


def test_levels_above_keep_what_they_have_reached_to_the_last_digit(sr1):
    """Joints that weigh a thousand times what the root does take no digits away."""
    group = sr1.joint_group('all')
    sr1.q[:] = 0.3 * np.random.default_rng(0).normal(size=sr1.num_joints)
    controller = TaskSolver(sr1, group, 0.01, QpSolver(damping=1e-6))
    foot = controller.add_task(BodyVelocityTask('foot', sr1.link('LLEG_ANKLE_R')))
    foot.target.set([0.1, -0.2, 0.1, 0.3, 0.2, -0.1])
    controller.compute()
    rows = foot.jacobian(controller.kinematics)
    reached = rows @ controller.velocity
    rest = controller.add_task(JointVelocityTask('rest', group))
    rest.priority, rest.weight = 1, 1e-3
    rest.target.set(np.full(29, 0.5))
    controller.compute()
    np.testing.assert_allclose(rows @ controller.velocity, reached, atol=1e-11)


def test_dependent_rows_above_the_last_level_are_left_to_another_way(sr1):
    """The same link twice says nothing about what the products could be solved for."""
    group = sr1.joint_group('all')
    controller = TaskSolver(sr1, group, 0.01, QpSolver())
    tasks = [controller.add_task(BodyVelocityTask(f'{i}', sr1.link('CHEST'))) for i in range(2)]
    rest = controller.add_task(JointVelocityTask('rest', group))
    rest.priority = 1
    controller.kinematics.update()
    stack = TaskStack(controller.kinematics, [*tasks, rest])
    stack.refresh()
    assert FreeLevels(stack).solve(1e-6, 1e-6) is None
    assert controller.compute() is ControllerResult.SOLUTION_FOUND


def test_a_method_put_on_a_constraint_counts_in_the_next_tick(arm, all_joints):
    """Its factor slows the motion from then on, and no more once it is taken away."""
    controller = TaskSolver(arm, all_joints, 0.01, QpSolver())
    controller.add_task(JointVelocityTask('t', all_joints)).target.set(np.full(7, 0.4))
    limit = controller.add_constraint(JointVelocityConstraint('v', all_joints))
    limit.max_velocity = 1.0
    controller.compute()
    np.testing.assert_allclose(controller.velocity, 0.4, atol=1e-5)
    limit.compute_scaling_factor = lambda kinematics, velocity: 0.5
    controller.compute()
    np.testing.assert_allclose(controller.velocity, 0.2, atol=1e-5)
    del limit.compute_scaling_factor
    controller.compute()
    np.testing.assert_allclose(controller.velocity, 0.4, atol=1e-5)


@pytest.mark.parametrize('damping', [1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3])
def test_what_damping_takes_is_the_same_in_two_ways(sr1, monkeypatch, damping):
    """Two terms of a series where it is small, or a system of its own."""
    group = sr1.joint_group('all')
    random = np.random.default_rng(5)
    controller = TaskSolver(sr1, group, 0.01, QpSolver(damping=damping))
    for priority, name in enumerate(LINKS[:3]):
        task = controller.add_task(BodyVelocityTask(name, sr1.link(name)))
        task.priority = priority
        task.target.set(random.normal(size=6))
    rest = controller.add_task(JointVelocityTask('rest', group))
    rest.priority, rest.weight = 2, 0.01
    velocities = []
    for largest in (0.0, free_levels.SMALL_DAMPING):
        monkeypatch.setattr(free_levels, 'SMALL_DAMPING', largest)
        assert controller.compute() is ControllerResult.SOLUTION_FOUND
        velocities.append(controller.velocity)
    np.testing.assert_allclose(*velocities, rtol=0.0, atol=2e-9)
