"""Whole-body tasks against placo, which solves them in C++."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from cnoid_control.bench.bare_model import JOINT, bare_model
from cnoid_control.bench.row import BenchRow, Work
from cnoid_control.bench.rows_tasks import DAMPING, PERIOD, humanoid, speed_limits, targets
from cnoid_control.body import Body
from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks import (
    BodyPositionTask,
    JointPositionConstraint,
    JointVelocityConstraint,
    TaskSolver,
)
from cnoid_control.controllers.tasks.qp_solver import QpSolver

# Largest difference of two velocities of a problem that is the same [rad/s].
TOLERANCE = 5e-3


def frame_tasks(body: Body) -> TaskSolver:
    """Six pose tasks that are to arrive within one period, in the limits of the joints."""
    group = JointGroup('all', body.joints)
    solver = TaskSolver(body, group, PERIOD, QpSolver(damping=DAMPING))
    for name, pose in targets(body).items():
        task = solver.add_task(BodyPositionTask(name, body.link(name), gain=1.0 / PERIOD))
        task.target.set(pose)
    speed = JointVelocityConstraint('speed', group)
    speed.max_velocity = speed_limits(body)
    solver.add_constraint(speed)
    solver.add_constraint(JointPositionConstraint('range', group, gain=1.0))
    return solver


def placo_solver(body: Body) -> tuple[Work, Callable[[], np.ndarray]]:
    """The same problem in placo: a tick of it, and its velocities in the order of ours."""
    import placo

    robot = placo.RobotWrapper(bare_model(), int(placo.Flags.ignore_collisions))
    speeds = speed_limits(body)
    for joint in body.joints:
        name, number = joint.joint_name + JOINT, joint.joint_id
        robot.set_joint(name, float(body.q[number]))
        robot.set_velocity_limit(name, float(speeds[number]))
        robot.set_joint_limits(name, float(body.q_lower[number]), float(body.q_upper[number]))
    state = robot.state.q
    state[:7] = body.root_q
    robot.state.q = state
    robot.update_kinematics()
    solver = placo.KinematicsSolver(robot)
    solver.dt = PERIOD
    solver.enable_joint_limits(True)
    solver.enable_velocity_limits(True)
    for name, pose in targets(body).items():
        solver.add_frame_task(name, pose).configure(name, 'soft', 1.0, 1.0)
    solver.add_regularization_task(DAMPING)
    names = list(robot.model.names)
    columns = [
        robot.model.joints[names.index(name + JOINT)].idx_v for name in list(body.model.names)[2:]
    ]
    order = [*range(6), *columns]

    def tick() -> None:
        robot.update_kinematics()
        solver.solve(False)

    def velocities() -> np.ndarray:
        # The solver does not keep the robot alive.
        robot.update_kinematics()
        return np.array(solver.solve(False))[order] / PERIOD

    return tick, velocities


@contextmanager
def against_placo() -> Iterator[tuple[Work, Work]]:
    """Six frame tasks with limits, here and in placo.

    Raises:
        ValueError: the two find different velocities.
    """
    body = humanoid()
    solver = frame_tasks(body)
    tick, velocities = placo_solver(body)
    solver.compute()
    difference = float(np.abs(solver.velocity - velocities()).max())
    if not difference <= TOLERANCE:
        raise ValueError(f'placo finds other velocities: {difference:.3g} rad/s apart')
    yield solver.compute, tick


ROWS = (
    BenchRow(
        'tasks_placo',
        'six pose tasks, SR1, limits that hold the motion',
        'the same in placo',
        against_placo,
        kind='time',
        comparison='<=',
        goal=1.0,
        calls=200,
        needs='placo',
        why='the least squares under the limits, 13 of 45 µs, and the errors of the tasks, 10, '
        'take as long as all of placo, whose tasks and limits are C++; here they are some ninety '
        'calls of numpy and pinocchio, each 0.1 to 0.5 µs before it computes anything, since each '
        'task may be replaced by one of your own',
    ),
)
