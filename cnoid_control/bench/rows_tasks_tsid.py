"""Whole-body tasks and the torques for them against TSID, which finds both in C++."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pinocchio as pin

from cnoid_control.bench.bare_model import JOINT, bare_model
from cnoid_control.bench.row import BenchRow, Work
from cnoid_control.bench.rows_tasks import GAIN, LINKS, PERIOD, humanoid, speed_limits, targets
from cnoid_control.body import Body
from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks import BodyPositionTask, JointVelocityConstraint, TaskSolver
from cnoid_control.controllers.tasks.qp_solver import QpSolver

# Module of TSID that works in all of its wheels.
TSID = 'tsid.tsid_pywrap'
# What TSID adds to the squares of the accelerations.
DAMPING = 1e-8
# Largest difference of two torques of a problem that is the same, part of the largest one.
TOLERANCE = 1e-4
# A task, a weight, a level, and a transition that takes no time.
LEVEL_OF_LIMITS, LEVEL_OF_TASKS = 0, 1
Torques = Callable[[], np.ndarray]


class FixedRootSolver(QpSolver):
    """The root does not move, whatever it is in the model."""

    moves_root = False


def torques_here(body: Body) -> tuple[TaskSolver, Torques]:
    """Six pose tasks of a robot whose waist is held, with limits of velocity."""
    group = JointGroup('all', body.joints)
    solver = TaskSolver(body, group, PERIOD, FixedRootSolver(damping=DAMPING))
    for name, pose in targets(body).items():
        task = solver.add_task(BodyPositionTask(name, body.link(name), gain=GAIN / PERIOD))
        task.target.set(pose)
    speed = JointVelocityConstraint('speed', group)
    speed.max_velocity = speed_limits(body)
    solver.add_constraint(speed)
    acceleration = np.zeros(body.model.nv)

    def torques() -> np.ndarray:
        solver.compute()
        acceleration[6:] = solver.velocity / PERIOD
        forces: np.ndarray = pin.rnea(body.model, body.data, *body.pin_state(), acceleration)
        return forces[6:]

    return solver, torques


def torques_of_tsid(body: Body) -> Torques:
    """The same problem in TSID: it wants accelerations that make these velocities in a period."""
    from tsid import tsid_pywrap as tsid

    robot = tsid.RobotWrapper(bare_model(), pin.StdVec_StdString(), False)
    # Its joints in our order, and ours in its order.
    theirs = [name.removesuffix(JOINT) for name in list(robot.model().names)[1:]]
    ours = list(body.model.names)[2:]
    columns = [theirs.index(name) for name in ours]
    rows = [ours.index(name) for name in theirs]
    problem = tsid.InverseDynamicsFormulationAccForce('tsid', robot, False)
    q, v = body.pin_q()[7:][rows], np.zeros(robot.nv)
    problem.computeProblemData(0.0, q, v)
    root = pin.SE3(body.root_link.R, body.root_link.p)
    found = targets(body)
    kept = [robot]
    for name in LINKS:
        task = tsid.TaskSE3Equality(name, robot, name)
        task.setKp(np.full(6, GAIN / PERIOD**2))
        task.setKd(np.zeros(6))
        pose = root.actInv(pin.SE3(found[name][:3, :3].copy(), found[name][:3, 3].copy()))
        path = tsid.TrajectorySE3Constant(name, pose)
        task.setReference(path.computeNext())
        problem.addMotionTask(task, 1.0, LEVEL_OF_TASKS, 0.0)
        kept += [task, path]
    speed = tsid.TaskJointBounds('speed', robot, PERIOD)
    highest = speed_limits(body)[body.tree.slots_in_pin_order][rows]
    speed.setVelocityBounds(-highest, highest)
    problem.addMotionTask(speed, 1.0, LEVEL_OF_LIMITS, 0.0)
    kept.append(speed)
    solver = tsid.SolverHQuadProgFast('solver')
    solver.resize(problem.nVar, problem.nEq, problem.nIn)

    def torques() -> np.ndarray:
        # TSID keeps no references of its own to what its problem is made of.
        assert kept
        solution = solver.solve(problem.computeProblemData(0.0, q, v))
        forces: np.ndarray = problem.getActuatorForces(solution)
        return forces[columns]

    return torques


@contextmanager
def against_tsid() -> Iterator[tuple[Work, Work]]:
    """Six frame tasks with limits and torques, here and in TSID.

    Raises:
        ValueError: the two find different torques.
    """
    body = humanoid()
    ours, theirs = torques_here(body)[1], torques_of_tsid(body)
    mine, other = ours(), theirs()
    difference = float(np.abs(mine - other).max() / np.abs(other).max())
    if not difference <= TOLERANCE:
        raise ValueError(f'TSID finds other torques: {difference:.3g} of the largest apart')
    yield ours, theirs


ROWS = (
    BenchRow(
        'tasks_tsid',
        'six pose tasks, SR1 held at its waist, limits of velocity, torques',
        'the same in TSID',
        against_tsid,
        kind='time',
        comparison='<=',
        goal=1.0,
        calls=200,
        needs=TSID,
        why='the least squares under the limits, 13 of 46 µs, and the errors of the tasks, 10, '
        'take three quarters of the time of TSID, whose tasks, limits and dynamics are C++; here '
        'they are some ninety calls of numpy and pinocchio, each 0.1 to 0.5 µs before it computes '
        'anything, since each task may be replaced by one of your own',
    ),
)
