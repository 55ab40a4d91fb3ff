"""A level that the same bounds hold tick after tick, against another solver of programs."""

import numpy as np
import pytest
import qpsolvers

from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks import (
    BodyVelocityConstraint,
    BodyVelocityTask,
    ControllerResult,
    JointVelocityConstraint,
    TaskSolver,
    qp_solver,
)
from cnoid_control.controllers.tasks.qp_solver import QpSolver

DAMPING = 1e-4


@pytest.fixture
def programs(monkeypatch):
    """Count the programs that are solved."""
    real, found = qp_solver._solve_level, []
    monkeypatch.setattr(
        qp_solver, '_solve_level', lambda *args: (found.append(args), real(*args))[1]
    )
    return found


@pytest.fixture
def limited(sr1):
    """Give three tasks of SR1 that a speed limit holds back."""
    group = JointGroup('all', sr1.joints)
    controller = TaskSolver(sr1, group, 0.01, QpSolver(damping=DAMPING))
    random = np.random.default_rng(1)
    for name in ('LLEG_ANKLE_R', 'RARM_WRIST_R', 'LARM_WRIST_R'):
        task = controller.add_task(BodyVelocityTask(name, sr1.link(name)))
        task.target.set(random.normal(size=6))
    controller.add_constraint(JointVelocityConstraint('speed', group)).max_velocity = 0.5
    return controller


def expected(controller, rows=None, bound=None):
    """Solve the program of a tick that was computed by quadprog, rows of one bound besides."""
    tasks = controller.active_tasks
    matrix = np.vstack([task.jacobian(controller.kinematics) for task in tasks])
    wanted = np.concatenate([task.velocity for task in tasks])
    size = matrix.shape[1]
    limit = np.full(size, 1e6)
    limit[6:] = controller.constraints['speed'].upper
    hessian = matrix.T @ matrix + DAMPING * np.eye(size)
    inequalities = {} if rows is None else {'G': np.vstack([rows, -rows]), 'h': bound}
    return qpsolvers.solve_qp(
        hessian, -matrix.T @ wanted, lb=-limit, ub=limit, solver='quadprog', **inequalities
    )


def test_steady_bounds_need_no_program(limited, sr1, programs):
    """While the robot moves on and the same joints are held, ticks are exact without one."""
    with_program = 0
    for _ in range(12):
        programs.clear()
        assert limited.compute() is ControllerResult.SOLUTION_FOUND
        with_program += len(programs)
        np.testing.assert_allclose(limited.velocity, expected(limited), atol=1e-7)
        held = [row for _, rows in limited.solution.active for row in rows]
        lie_on = np.isclose(np.abs(limited.velocity[6:]), 0.5, rtol=0.0, atol=1e-9)
        assert 0 < len(held) == np.count_nonzero(lie_on)
        sr1.q[:] += 1e-6
        sr1.calc_forward_kinematics()
    assert 0 < with_program < 12


@pytest.mark.parametrize('seed', range(10))
def test_bounds_that_come_and_go_are_followed_in_the_same_tick(limited, seed):
    """After steady ticks another limit or target holds other joints, or none, at once."""
    random = np.random.default_rng(seed)
    speed = limited.constraints['speed']
    sets = set()
    for _ in range(8):
        for _ in range(int(random.integers(1, 8))):
            assert limited.compute() is ControllerResult.SOLUTION_FOUND
            np.testing.assert_allclose(limited.velocity, expected(limited), atol=1e-6)
        sets.add(tuple(np.flatnonzero(np.abs(limited.velocity[6:]) > speed.upper - 1e-9)))
        if random.integers(2):
            speed.max_velocity = random.uniform(0.05, 3.0, size=29)
        else:
            limited.tasks['RARM_WRIST_R'].target.set(random.normal(size=6))
    assert len(sets) > 4


def test_a_little_more_each_tick_is_exact(limited):
    """The set of joints that are held changes by one now and then, or in every tick."""
    task = limited.tasks['LARM_WRIST_R']
    direction = task.target.input.copy()
    for factor in np.linspace(0.2, 4.0, 60):
        task.target.set(factor * direction)
        limited.compute()
        np.testing.assert_allclose(limited.velocity, expected(limited), atol=1e-6)


def test_rows_that_begin_to_hold_are_seen(limited, sr1, programs):
    """A bound on a link, far away at first, counts in the tick in which it is set."""
    box = limited.add_constraint(BodyVelocityConstraint('box', sr1.link('LARM_WRIST_R')))
    box.max_velocity = np.full(6, 100.0)
    for _ in range(6):
        limited.compute()
    programs.clear()
    limited.compute()
    assert not programs
    for limit in (0.1, 0.1, 0.1, 0.1, 0.1, 100.0):
        box.max_velocity = np.full(6, limit)
        limited.compute()
        rows = limited.kinematics.jacobian(sr1.link('LARM_WRIST_R'))
        wanted = expected(limited, rows, np.full(12, limit))
        np.testing.assert_allclose(limited.velocity, wanted, atol=1e-6)


def test_all_joints_held_is_solved(limited):
    """With limits of zero nothing is left to move but the root."""
    for speed in (0.5, 0.0, 1e-3):
        limited.constraints['speed'].max_velocity = speed
        for _ in range(6):
            limited.compute()
            assert np.abs(limited.velocity[6:]).max() <= speed + 1e-9
