"""Strict priorities, weights and hard limits, against programs written out in the test."""

import numpy as np
import pinocchio as pin
import pytest
import qpsolvers

from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks import (
    BodyPositionTask,
    BodyScrewTask,
    BodyVelocityConstraint,
    BodyVelocityTask,
    ComTask,
    ControllerResult,
    JointAccelerationConstraint,
    JointPositionConstraint,
    JointVelocityConstraint,
    JointVelocityTask,
    PostureTask,
    SelfCollisionConstraint,
    TaskSolver,
    WorkspaceConstraint,
)
from cnoid_control.controllers.tasks.bounds import Bounds
from cnoid_control.controllers.tasks.exceptions import TaskError
from cnoid_control.controllers.tasks.qp_solver import QpSolver

PERIOD = 0.01


@pytest.fixture
def solved(arm, all_joints):
    """Give a controller of the arm on quadratic programs."""
    return TaskSolver(arm, all_joints, PERIOD, QpSolver())


def program(controller, rows, wanted, lower, upper):
    """Solve min |rows x - wanted|^2 + damping |x|^2 in bounds with another solver."""
    size = controller.kinematics.num_unknowns
    hessian = 2 * (rows.T @ rows + controller.solver.damping * np.eye(size))
    return qpsolvers.solve_qp(hessian, -2 * rows.T @ wanted, lb=lower, ub=upper, solver='quadprog')


def test_weights_balance_tasks_of_one_priority(solved, arm):
    """The weighted least squares are what another solver finds, limits included."""
    solved.kinematics.update()
    rows, wanted = [], []
    for name, weight in (('hand', 1.0), ('forearm', 4.0)):
        task = solved.add_task(BodyVelocityTask(name, arm.link(name)))
        task.target.set([0.5, -0.4, 0.3, 0.5, 0.1, -0.8])
        task.weight = weight
        rows.append(np.sqrt(weight) * solved.kinematics.jacobian(arm.link(name)))
        wanted.append(np.sqrt(weight) * task.target.input)
    limit = solved.add_constraint(JointVelocityConstraint('v', solved.joint_group))
    limit.max_velocity = 0.4
    assert solved.compute() is ControllerResult.SOLUTION_FOUND
    expected = program(
        solved, np.vstack(rows), np.concatenate(wanted), np.full(7, -0.4), np.full(7, 0.4)
    )
    np.testing.assert_allclose(solved.velocity, expected, atol=1e-8)


def test_a_lower_priority_never_disturbs_a_higher_one(solved, arm, all_joints):
    """The hand moves as without the second task, which gets what is left."""
    hand = solved.add_task(BodyVelocityTask('hand', arm.link('hand')))
    hand.target.set([0.1, 0.05, -0.1, 0.2, 0.0, 0.1])
    solved.compute()
    jacobian = solved.kinematics.jacobian(arm.link('hand'))
    alone = jacobian @ solved.velocity
    elbow = solved.add_task(JointVelocityTask('spin', all_joints))
    elbow.target.set(np.full(7, 0.5))
    elbow.priority = 1
    solved.compute()
    np.testing.assert_allclose(jacobian @ solved.velocity, alone, atol=1e-8)
    # What is left is the projection of the wish on the null space of the hand.
    space = np.eye(7) - np.linalg.pinv(jacobian) @ jacobian
    columns = solved.kinematics.joint_slots
    np.testing.assert_allclose(
        space @ solved.velocity, space @ np.full(7, 0.5)[columns], atol=1e-5
    )


def test_three_levels_are_lexicographic(solved, arm, all_joints):
    """Each level is as good as it can be without harming the levels above."""
    tasks = [
        solved.add_task(BodyVelocityTask(name, arm.link(name)))
        for name in ('hand', 'forearm', 'upper_arm')
    ]
    for level, task in enumerate(tasks):
        task.priority = level
        task.target.set([0.2, 0.3, -0.1, 0.1, 0.2, 0.3])
        task.selection = [1, 1, 1, 0, 0, 0]
    limit = solved.add_constraint(JointVelocityConstraint('v', all_joints))
    limit.max_velocity = 1.5
    assert solved.compute() is ControllerResult.SOLUTION_FOUND
    residuals = [
        np.linalg.norm(
            task.row_scale * (task.jacobian(solved.kinematics) @ solved.velocity) - task.velocity
        )
        for task in tasks
    ]
    best = TaskSolver(arm, all_joints, PERIOD, QpSolver())
    best.add_task(BodyVelocityTask('hand', arm.link('hand')))
    best.tasks['hand'].target.set([0.2, 0.3, -0.1, 0.1, 0.2, 0.3])
    best.tasks['hand'].selection = [1, 1, 1, 0, 0, 0]
    best.add_constraint(JointVelocityConstraint('v', all_joints)).max_velocity = 1.5
    best.compute()
    task = best.tasks['hand']
    alone = np.linalg.norm(
        task.row_scale * (task.jacobian(best.kinematics) @ best.velocity) - task.velocity
    )
    assert residuals[0] == pytest.approx(alone, abs=1e-8)
    assert np.abs(solved.velocity).max() <= 1.5 + 1e-9


def test_rows_that_are_not_selected_are_free(solved, arm):
    """Without the angular rows the velocity is the shortest that moves the point."""
    task = solved.add_task(BodyVelocityTask('hand', arm.link('hand')))
    task.target.set([0.1, 0.2, -0.1, 9.0, 9.0, 9.0])
    task.selection = [1, 1, 1, 0, 0, 0]
    solved.compute()
    jacobian = solved.kinematics.jacobian(arm.link('hand'))[:3]
    expected = np.linalg.pinv(jacobian) @ [0.1, 0.2, -0.1]
    np.testing.assert_allclose(solved.velocity, expected, atol=1e-4)


def test_the_root_moves_where_it_is_free(sr1):
    """With the feet held, the waist goes down although no joint of it exists."""
    group = JointGroup('all', sr1.joints)
    controller = TaskSolver(sr1, group, PERIOD, QpSolver())
    assert controller.kinematics.root_unknowns == 6
    for name in ('LLEG_ANKLE_R', 'RLEG_ANKLE_R'):
        controller.add_task(BodyVelocityTask(name, sr1.link(name)))
    waist = controller.add_task(BodyVelocityTask('waist', sr1.link('WAIST')))
    waist.target.set([0, 0, -0.1, 0, 0, 0])
    waist.selection = [0, 0, 1, 0, 0, 0]
    waist.priority = 1
    controller.compute()
    for name, height in (('LLEG_ANKLE_R', 0.0), ('RLEG_ANKLE_R', 0.0), ('WAIST', -0.1)):
        velocity = controller.kinematics.jacobian(sr1.link(name)) @ controller.velocity
        assert velocity[2] == pytest.approx(height, abs=1e-5)


def test_no_solution_leaves_the_commands(solved, arm, all_joints):
    """Contradicting hard constraints change nothing, and the next tick can go on."""
    task = solved.add_task(JointVelocityTask('t', all_joints))
    task.target.set(np.full(7, 0.2))
    solved.compute()
    before = solved.velocity.copy()

    class Impossible(BodyVelocityConstraint):
        def update(self, kinematics, dt):
            """Ask for a speed that another constraint forbids."""
            self.lower = np.full(6, 1.0)
            self.upper = np.full(6, 2.0)

    solved.add_constraint(JointVelocityConstraint('v', all_joints)).max_velocity = 1e-3
    solved.add_constraint(Impossible('x', arm.link('hand')))
    task.target.set(np.full(7, -0.2))
    assert solved.compute() is ControllerResult.NO_SOLUTION
    np.testing.assert_array_equal(solved.velocity, before)
    solved.remove_constraint('x')
    assert solved.compute() is ControllerResult.SOLUTION_FOUND


def test_a_level_that_fails_gives_a_partial_solution(solved, all_joints, monkeypatch):
    """What the levels above have found is commanded."""
    from cnoid_control.controllers.tasks import qp_solver

    first = solved.add_task(JointVelocityTask('first', all_joints))
    first.target.set(np.full(7, 0.2))
    second = solved.add_task(JointVelocityTask('second', all_joints))
    second.priority = 1
    real = qp_solver._solve_level
    monkeypatch.setattr(Bounds, 'keep', lambda *args: False)
    monkeypatch.setattr(
        qp_solver,
        '_solve_level',
        lambda *args: None if args[5] is not None else real(*args),
    )
    assert solved.compute() is ControllerResult.PARTIAL_SOLUTION_FOUND
    np.testing.assert_allclose(solved.velocity, 0.2, atol=1e-5)


def test_limitations_name_the_joint_and_the_wish(solved, all_joints):
    """After a tick it can be told which limit acted and what would have been without it."""
    task = solved.add_task(JointVelocityTask('t', all_joints))
    task.target.set([0.1, 0.1, 0.1, 2.0, 0.1, -3.0, 0.1])
    solved.add_constraint(JointVelocityConstraint('v', all_joints)).max_velocity = 1.0
    solved.compute()
    found = {item.row: (item.bound, item.wanted) for item in solved.limitations()}
    assert set(found) == {'joint4', 'joint6'}
    assert found['joint4'] == pytest.approx((1.0, 2.0), abs=1e-4)
    assert found['joint6'] == pytest.approx((-1.0, -3.0), abs=1e-4)
    desired = task.target.input
    assert solved.scaling_factor == pytest.approx(
        float(desired @ np.clip(desired, -1, 1) / (desired @ desired)), abs=1e-4
    )


def test_self_collision_distance_shrinks_as_its_row_says(sr1):
    """The distance row is the derivative of the measured distance."""
    pairs = [
        (sr1.link('LARM_ELBOW'), sr1.link('WAIST')),
        (sr1.link('RARM_WRIST_Y'), sr1.link('CHEST')),
    ]
    constraint = SelfCollisionConstraint('c', pairs)
    controller = TaskSolver(sr1, JointGroup('all', sr1.joints), PERIOD, QpSolver())
    controller.add_constraint(constraint)
    controller.compute()
    random = np.random.default_rng(0)
    velocity = random.uniform(-1, 1, controller.kinematics.num_unknowns)
    rate = constraint.matrix(controller.kinematics) @ velocity
    distances = []
    saved = sr1.save_state()
    for sign in (-1, 1):
        sr1.restore_state(saved)
        controller.velocity = sign * velocity * 1e-5 / PERIOD
        controller.integrate()
        controller.kinematics.update()
        constraint.update(controller.kinematics, PERIOD)
        distances.append(constraint.distances.copy())
    np.testing.assert_allclose((distances[1] - distances[0]) / 2e-5, rate, atol=1e-3)


@pytest.mark.parametrize('seed', range(4))
def test_random_targets_break_no_limit(seed, arm, all_joints):
    """2500 targets a seed, in and out of reach, through singularities: no NaN, no limit broken."""
    random = np.random.default_rng(seed)
    controller = TaskSolver(arm, all_joints, PERIOD, QpSolver())
    hand = controller.add_task(BodyPositionTask('hand', arm.link('hand'), gain=20.0))
    elbow = controller.add_task(BodyVelocityTask('elbow', arm.link('elbow')))
    elbow.selection = [1, 0, 1, 0, 0, 0]
    elbow.priority = 1
    posture = controller.add_task(PostureTask('posture', all_joints))
    posture.priority = 1
    speed = controller.add_constraint(JointVelocityConstraint('v', all_joints))
    speed.max_velocity = arm.dq_upper
    force = controller.add_constraint(JointAccelerationConstraint('a', all_joints))
    force.max_acceleration = 40.0
    controller.add_constraint(JointPositionConstraint('q', all_joints, max_deceleration=40.0))
    before = controller.velocity.copy()
    for _ in range(2500):
        hand.target.set(
            pin.SE3(pin.exp3(random.normal(size=3) * 2), random.normal(size=3)).homogeneous
        )
        elbow.target.set(random.normal(size=6))
        if random.random() < 0.05:
            arm.q[:] = 0.0  # Straight up: singular.
            controller.velocity = before = np.zeros(7)
        assert controller.compute() is not ControllerResult.NO_SOLUTION
        assert np.isfinite(controller.velocity).all()
        columns = controller.kinematics.joint_slots
        assert (np.abs(controller.velocity) <= arm.dq_upper[columns] + 1e-6).all()
        assert (np.abs(controller.velocity - before) <= 40.0 * PERIOD + 1e-6).all()
        before = controller.velocity.copy()
        controller.integrate()
        assert (arm.q <= arm.q_upper + 1e-6).all()
        assert (arm.q >= arm.q_lower - 1e-6).all()


def test_workspace_keeps_the_link_in_its_box(solved, arm):
    """A target outside the box is approached up to its side, not beyond."""
    hand = arm.link('hand')
    start = np.array(hand.p)
    goal = np.array(hand.T)
    goal[:3, 3] += [0.0, 0.0, 0.3]
    task = solved.add_task(BodyPositionTask('hand', hand, gain=5.0))
    task.target.set(goal)
    task.selection = [1, 1, 1, 0, 0, 0]
    solved.add_constraint(WorkspaceConstraint('box', hand, start - 0.05, start + 0.05))
    for _ in range(300):
        solved.compute()
        solved.integrate()
    arm.calc_forward_kinematics()
    assert hand.p[2] == pytest.approx(start[2] + 0.05, abs=2e-3)
    assert hand.p[2] <= start[2] + 0.05 + 1e-4


def test_tasks_converge_to_their_targets(sr1):
    """Integrated, pose and centre-of-mass tasks reach what was asked for."""
    controller = TaskSolver(sr1, JointGroup('all', sr1.joints), PERIOD, QpSolver())
    feet = [
        controller.add_task(BodyPositionTask(name, sr1.link(name), gain=10.0))
        for name in ('LLEG_ANKLE_R', 'RLEG_ANKLE_R')
    ]
    hand = controller.add_task(BodyScrewTask('LARM_WRIST_R', sr1.link('LARM_WRIST_R'), gain=5.0))
    com = controller.add_task(ComTask('com', gain=5.0))
    for task in (hand, com):
        task.priority = 1
    controller.compute()
    goal = np.array(hand.target.input)
    goal[:3, 3] += [0.05, 0.02, 0.05]
    hand.target.set(goal)
    com.target.set(com.target.input + np.array([0.01, 0.02, -0.01]))
    for _ in range(400):
        assert controller.compute() is ControllerResult.SOLUTION_FOUND
        controller.integrate()
    for task in (*feet, hand, com):
        assert np.abs(task.error).max() < 2e-4, task.name


@pytest.mark.parametrize('seed', range(12))
def test_a_level_without_a_program_is_what_the_program_finds(sr1, monkeypatch, seed):
    """Random tasks in three levels, dependent rows among them, within and beyond bounds."""
    random = np.random.default_rng(seed)
    controller = TaskSolver(sr1, sr1.joint_group('all'), 0.01, QpSolver())
    for i, name in enumerate(('LLEG_ANKLE_R', 'WAIST', 'LARM_WRIST_R', 'RARM_WRIST_R', 'WAIST')):
        task = controller.add_task(BodyVelocityTask(f'{i}', sr1.link(name)))
        task.priority = int(random.integers(3))
        task.selection = random.integers(2, size=6)
        task.weight = random.uniform(0.2, 3.0, size=6)
        task.lm_damping = float(random.choice([0.0, 1e-3]))
        task.target.set(0.1 * random.normal(size=6))
    rest = controller.add_task(JointVelocityTask('rest', sr1.joint_group('all')))
    rest.priority = 2
    rest.target.set(0.1 * random.normal(size=29))
    limit = controller.add_constraint(JointVelocityConstraint('speed', sr1.joint_group('all')))
    limit.max_velocity = float(random.choice([0.1, 0.3, 100.0]))
    box = controller.add_constraint(BodyVelocityConstraint('box', sr1.link('LARM_WRIST_R')))
    box.max_velocity = np.full(6, random.choice([0.02, 100.0]))
    result, velocity = controller.compute(), controller.velocity.copy()
    monkeypatch.setattr(Bounds, 'keep', lambda *args: False)
    assert controller.compute() is result
    np.testing.assert_allclose(velocity, controller.velocity, atol=2e-5)


def test_no_row_that_counts_is_no_motion(solved, all_joints):
    """No task at all, or none whose selection leaves anything, in any level."""
    assert solved.compute() is ControllerResult.SOLUTION_FOUND
    assert not solved.velocity.any()
    for priority in (0, 1):
        task = solved.add_task(JointVelocityTask(f'{priority}', all_joints))
        task.priority = priority
        task.selection = np.zeros(7)
        task.target.set(np.ones(7))
    assert solved.compute() is ControllerResult.SOLUTION_FOUND
    assert not solved.velocity.any()
    task.selection = np.eye(7)[2]
    solved.compute()
    np.testing.assert_allclose(solved.velocity, np.eye(7)[2], atol=1e-5)


@pytest.mark.parametrize('seed', range(8))
def test_one_weighted_level_tick_after_tick_is_what_another_solver_finds(sr1, seed):
    """Random tasks and bounds: whatever held the motion at the last tick, each tick is exact."""
    random = np.random.default_rng(100 + seed)
    group = sr1.joint_group('all')
    controller = TaskSolver(sr1, group, PERIOD, QpSolver(damping=1e-4))
    tasks = [
        controller.add_task(BodyVelocityTask(name, sr1.link(name)))
        for name in ('LLEG_ANKLE_R', 'WAIST', 'LARM_WRIST_R')
    ]
    limit = controller.add_constraint(JointVelocityConstraint('speed', group))
    for _ in range(6):
        for task in tasks:
            task.weight = random.uniform(0.2, 3.0, size=6)
            task.selection = random.integers(2, size=6)
            task.target.set(0.2 * random.normal(size=6))
        limit.max_velocity = float(random.choice([0.05, 0.2, 100.0]))
        assert controller.compute() is ControllerResult.SOLUTION_FOUND
        rows = np.vstack(
            [task.jacobian(controller.kinematics)[task.selection > 0.0] for task in tasks]
        )
        scale = np.concatenate([np.sqrt(task.weight)[task.selection > 0.0] for task in tasks])
        wanted = np.concatenate([task.velocity[task.selection > 0.0] for task in tasks])
        bound = np.full(controller.kinematics.num_unknowns, 1e3)
        bound[6:] = limit.max_velocity[0]
        expected = program(controller, scale[:, None] * rows, scale * wanted, -bound, bound)
        np.testing.assert_allclose(controller.velocity, expected, atol=1e-6)


def test_a_single_speed_limit_may_be_set(solved, all_joints):
    """An element of the limits that is changed in place counts in the next tick."""
    solved.add_task(JointVelocityTask('spin', all_joints)).target.set(np.full(7, 0.5))
    limit = solved.add_constraint(JointVelocityConstraint('speed', all_joints))
    limit.max_velocity = 0.4
    for speed in (0.4, 0.1, 0.3):
        limit.max_velocity[2] = speed
        solved.compute()
        found = np.empty(7)
        solved.write_velocities(found)
        np.testing.assert_allclose(found, np.where(np.arange(7) == 2, speed, 0.4), atol=1e-9)


def test_rows_follow_weights_priorities_and_switches(solved, arm, all_joints):
    """What changes between two ticks counts in the next one, as on a new solver."""
    hand = solved.add_task(BodyVelocityTask('hand', arm.link('hand')))
    hand.target.set([0.1, 0.05, -0.1, 0.2, 0.0, 0.1])
    spin = solved.add_task(JointVelocityTask('spin', all_joints))
    spin.target.set(np.full(7, 0.5))
    changes = [
        lambda: setattr(hand, 'weight', 7.0),
        lambda: setattr(spin, 'priority', 1),
        lambda: setattr(hand, 'selection', [1, 0, 1, 0, 0, 0]),
        spin.disable,
        spin.enable,
        lambda: setattr(spin, 'priority', -1),
    ]
    for change in changes:
        solved.compute()
        before = solved.velocity.copy()
        change()
        solved.compute()
        after = solved.velocity.copy()
        assert np.abs(after - before).max() > 1e-3
        fresh = QpSolver().solve(solved.kinematics, solved.active_tasks, [])
        np.testing.assert_allclose(after, fresh.velocity, atol=1e-12)


def test_a_jacobian_of_another_shape_is_refused_by_name(solved, arm):
    """It would else be spread over all rows of the task."""

    class Flat(BodyVelocityTask):
        def jacobian(self, kinematics):
            """One row for six."""
            return super().jacobian(kinematics)[:1]

    solved.add_task(Flat('flat', arm.link('hand')))
    with pytest.raises(TaskError, match=r"task 'flat': a Jacobian of shape \(6, 7\) expected"):
        solved.compute()
