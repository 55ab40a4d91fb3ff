"""Tasks against pink and against the same steps written by hand."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pinocchio as pin

from cnoid_control.bench.row import BenchRow, MetricRow, Work
from cnoid_control.body import Body, load_body
from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks import (
    BodyPositionTask,
    BodyScrewTask,
    JointPositionConstraint,
    JointVelocityConstraint,
    TaskSolver,
)
from cnoid_control.controllers.tasks.config import TaskFactory
from cnoid_control.controllers.tasks.controller import TasksController
from cnoid_control.controllers.tasks.qp_solver import QpSolver
from cnoid_control.plugin.options import check_options
from cnoid_control.runtime.build import make_robot
from cnoid_control.runtime.config import load_config
from cnoid_control.simulation import Simulation

PERIOD = 0.005
DAMPING = 1e-6
# Part of the error that is removed in one period.
GAIN = 0.5
LINKS = ('RARM_WRIST_R', 'LARM_WRIST_R', 'RLEG_ANKLE_R', 'LLEG_ANKLE_R', 'CHEST', 'WAIST_R')


def humanoid() -> Body:
    """SR1 in the middle of its joint ranges but for a little."""
    body = load_body('package://cnoid_control/urdf/sr1.urdf')
    random = np.random.default_rng(0)
    middle, width = 0.5 * (body.q_lower + body.q_upper), body.q_upper - body.q_lower
    body.q[:] = middle + 0.1 * width * random.uniform(-1.0, 1.0, body.num_joints)
    body.calc_forward_kinematics()
    return body


def targets(body: Body) -> dict[str, np.ndarray]:
    """A pose near that of each link, shape (4, 4)."""
    random = np.random.default_rng(1)
    found = {}
    for name in LINKS:
        pose = body.link(name).T.copy()
        pose[:3, :3] = pose[:3, :3] @ pin.exp3(0.02 * random.normal(size=3))
        pose[:3, 3] += 0.02 * random.normal(size=3)
        found[name] = pose
    return found


def speed_limits(body: Body) -> np.ndarray:
    """Velocity limits by joint id, with one where the model has none to speak of [rad/s]."""
    return np.maximum(body.dq_upper, 1.0)


def six_frames(body: Body) -> TaskSolver:
    """Six pose tasks with velocity and position limits on the whole body."""
    group = JointGroup('all', body.joints)
    controller = TaskSolver(body, group, PERIOD, QpSolver(damping=DAMPING))
    for name, pose in targets(body).items():
        task = controller.add_task(BodyScrewTask(name, body.link(name), gain=GAIN / PERIOD))
        task.target.set(pose)
    speed = JointVelocityConstraint('speed', group)
    speed.max_velocity = speed_limits(body)
    controller.add_constraint(speed)
    controller.add_constraint(JointPositionConstraint('range', group))
    return controller


def pink_solver(body: Body) -> tuple[Work, Work]:
    """The same problem in pink: a tick of it, and its velocities for a comparison."""
    import pink
    from pink.tasks import FrameTask

    order = body.tree.slots_in_pin_order
    model = body.model.copy()
    for name in LINKS:
        joint = body.tree.pin_joints[body.link(name).index]
        kind = pin.FrameType.OP_FRAME
        model.addFrame(pin.Frame(f'{name} frame', joint, 0, pin.SE3.Identity(), kind))
    lower, upper = np.full(model.nq, -np.inf), np.full(model.nq, np.inf)
    lower[7:], upper[7:] = body.q_lower[order], body.q_upper[order]
    model.lowerPositionLimit, model.upperPositionLimit = lower, upper
    speed = np.full(model.nv, np.inf)
    speed[6:] = speed_limits(body)[order]
    model.velocityLimit = speed
    configuration = pink.Configuration(model, model.createData(), body.pin_q().copy())
    tasks = []
    for name, pose in targets(body).items():
        task = FrameTask(f'{name} frame', position_cost=1.0, orientation_cost=1.0, gain=GAIN)
        task.set_target(pin.SE3(pose[:3, :3].copy(), pose[:3, 3].copy()))
        tasks.append(task)

    def velocities() -> np.ndarray:
        return pink.solve_ik(configuration, tasks, PERIOD, solver='quadprog', damping=DAMPING)

    def tick() -> None:
        configuration.update(body.pin_q())
        velocities()

    return tick, velocities


@contextmanager
def against_pink() -> Iterator[tuple[Work, Work]]:
    """Six frame tasks with limits, here and in pink."""
    body = humanoid()
    yield six_frames(body).compute, pink_solver(body)[0]


@contextmanager
def one_task() -> Iterator[tuple[Work, Work]]:
    """One pose task on an arm, and the same pseudo-inverse step by hand."""
    body = load_body('package://cnoid_control/urdf/arm.urdf')
    body.q[:] = [0.3, 0.5, -0.4, 1.1, 0.6, 0.8, -0.2]
    body.calc_forward_kinematics()
    goal = body.link('flange').T.copy()
    goal[:3, 3] += [0.02, 0.03, -0.02]
    controller = TaskSolver(body, JointGroup('all', body.joints), PERIOD, QpSolver())
    controller.add_task(BodyPositionTask('hand', body.link('flange'))).target.set(goal)
    joint = body.tree.pin_joints[body.link('flange').index]
    goal_rotation, goal_translation = goal[:3, :3].copy(), goal[:3, 3].copy()
    frame = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    model, data = body.model, body.data

    def by_hand() -> np.ndarray:
        pin.computeJointJacobians(model, data, body.pin_q())
        jacobian = pin.getJointJacobian(model, data, joint, frame)[:, 6:]
        pose = data.oMi[joint]
        error = np.empty(6)
        error[:3] = goal_translation - pose.translation
        error[3:] = pin.log3(goal_rotation @ pose.rotation.T)
        return np.linalg.pinv(jacobian) @ error

    yield controller.compute, by_hand


@contextmanager
def strict_levels() -> Iterator[tuple[Work, Work]]:
    """The tasks of `sr1_reach` in their three strict levels, and all in one weighted level."""
    config = load_config('sr1_reach')
    parameters = check_options('tasks', TasksController, config.options['tasks'])
    solvers = []
    for strict in (True, False):
        body = make_robot(config.parameters.robot, config.folder)
        solver = TaskFactory(body, parameters.groups).make_controller(parameters, PERIOD)
        for task in solver.all_tasks():
            task.priority = task.priority if strict else 0
        solver.compute()
        for task in solver.all_tasks():
            if isinstance(task, BodyPositionTask) and task.name != 'left_foot':
                task.target.move_to(task.target.input[:3, 3] + [0.0, 0.0, -0.001])
        solvers.append(solver)
    yield solvers[0].compute, solvers[1].compute


def reach_times(duration: float = 3.0, warm_up: float = 0.5) -> np.ndarray:
    """Durations of `control()` in the running loop of `sr1_reach`, after a warm-up [µs]."""
    times: list[int] = []
    control, clock = TasksController.control, time.perf_counter_ns

    def timed(controller: TasksController) -> bool:
        start = clock()
        result = control(controller)
        times.append(clock() - start)
        return result

    TasksController.control = timed  # type: ignore[method-assign, assignment]
    try:
        with Simulation('sr1_reach') as simulation:
            simulation.run(warm_up)
            times.clear()
            simulation.run(duration)
    finally:
        TasksController.control = control  # type: ignore[method-assign]
    return np.array(times) / 1e3


def reach_cost() -> float:
    """Median duration of `control()` of `sr1_reach` while it squats and reaches [µs]."""
    return float(np.median(reach_times()))


ROWS = (
    MetricRow(
        'tasks_reach',
        'control() of sr1_reach in the running loop: 7 tasks, 3 strict levels, limits, torques',
        'a quarter of its period of 1000 µs',
        reach_cost,
        unit='µs',
        comparison='<=',
        goal=250.0,
        why='no piece dominates: of a tick two fifths are the rows and levels, a fifth the errors '
        'of the tasks, an eighth the torques and a tenth the targets that move, each of them some '
        'dozens of calls of 0.5 to 3 µs, which take longer between two steps of the simulator '
        'than one after the other',
    ),
    BenchRow(
        'tasks_levels',
        'seven tasks of sr1_reach in three strict levels',
        'the same in one weighted level',
        strict_levels,
        kind='time',
        comparison='<=',
        goal=1.5,
        calls=200,
    ),
    BenchRow(
        'task_arm',
        'one pose task, arm of 7 joints, qp',
        'the same by numpy.linalg.pinv',
        one_task,
        kind='time',
        comparison='<=',
        goal=1.5,
    ),
    BenchRow(
        'tasks_humanoid',
        'six pose tasks with limits, SR1, 35 degrees of freedom',
        'the same in pink with quadprog',
        against_pink,
        kind='time',
        comparison='<=',
        goal=0.3,
        calls=200,
        needs='pink quadprog',
        why='limits hold the motion here: of 52 µs the least squares under them take 15, half of '
        'it one product and one factorisation of 33 unknowns, the errors of the six poses 10, '
        'their rows 7, the limits 8 and the Jacobians 2: a hundred calls of numpy and pinocchio, '
        'which take 0.1 to 0.5 µs each before they compute anything',
    ),
)
