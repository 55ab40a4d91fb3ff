"""Tasks of poses that are computed together ask for what each of them asks for alone."""

import copy
import math

import numpy as np
import pinocchio as pin
import pytest

from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks import (
    BodyPositionTask,
    BodyScrewTask,
    PostureTask,
    TaskSolver,
)
from cnoid_control.controllers.tasks.exceptions import TaskError
from cnoid_control.controllers.tasks.interpolators import TimedInterpolator
from cnoid_control.controllers.tasks.qp_solver import QpSolver
from cnoid_control.controllers.tasks.task import VelocityShaper

PERIOD = 0.01
LINKS = ('RARM_WRIST_R', 'LARM_WRIST_R', 'RLEG_ANKLE_R', 'LLEG_ANKLE_R', 'CHEST', 'WAIST_R')


def turned(pose, twist):
    """Give a pose moved by a twist in its own axes."""
    return (pin.SE3(pose) * pin.exp6(np.asarray(twist, dtype=float))).homogeneous


def six_tasks(body, kind):
    """Give a controller with a task of a kind a link, each on its way."""
    controller = TaskSolver(body, JointGroup('all', body.joints), PERIOD, QpSolver())
    random = np.random.default_rng(2)
    for i, name in enumerate(LINKS):
        task = controller.add_task(kind(name, body.link(name), gain=5.0 + i))
        task.target.set(turned(body.link(name).T, 0.4 * random.normal(size=6)))
    return controller


def alone(task, kinematics, dt=PERIOD):
    """Compute a copy of a task by itself: its error, velocity, and velocity in the world."""
    single = copy.copy(task)
    # Not by setting attributes, of which others would be told.
    vars(single).update(target=copy.deepcopy(task.target), shaper=copy.deepcopy(task.shaper))
    single.compute(kinematics, dt)
    return single.error, single.velocity, single.last_velocity_in_world


def compute_and_compare(controller):
    """Compute a tick, all tasks against each of them alone."""
    controller.kinematics.update()
    wanted = [alone(task, controller.kinematics) for task in controller.tasks.values()]
    controller.compute()
    for task, (error, velocity, in_world) in zip(controller.tasks.values(), wanted, strict=True):
        np.testing.assert_allclose(task.error, error, atol=1e-12, err_msg=task.name)
        np.testing.assert_allclose(task.velocity, velocity, atol=1e-10, err_msg=task.name)
        np.testing.assert_allclose(task.last_velocity_in_world, in_world, atol=1e-10)


CHANGES = {
    'gain': lambda task, body: setattr(task, 'gain', 17.0),
    'selection': lambda task, body: setattr(task, 'selection', [1, 0, 1, 0, 1, 1]),
    'position alone': lambda task, body: setattr(task, 'selection', [1, 1, 1, 0, 0, 0]),
    'weight': lambda task, body: setattr(task, 'weight', 3.0),
    'activation': lambda task, body: setattr(task, 'activation', 0.3),
    'shaper': lambda task, body: setattr(task, 'shaper', VelocityShaper(max_speed=0.1)),
    'reference': lambda task, body: setattr(task, 'reference', body.link('CHEST')),
    'link': lambda task, body: setattr(task, 'link', body.link('RARM_ELBOW')),
    'target': lambda task, body: task.target.set(turned(task.link.T, [0.1] * 6)),
    'interpolator': lambda task, body: setattr(
        task.target, 'interpolator', TimedInterpolator(3, 1.0)
    ),
    'feedforward': lambda task, body: setattr(task, 'feedforward', False),
}


@pytest.mark.parametrize('kind', [BodyPositionTask, BodyScrewTask])
@pytest.mark.parametrize('change', CHANGES)
def test_together_as_alone_whatever_changes(sr1, kind, change):
    """What is changed on a task counts in the next tick, and what is taken back as well."""
    controller = six_tasks(sr1, kind)
    for _ in range(3):
        compute_and_compare(controller)
    for name in LINKS[1:4]:
        CHANGES[change](controller.tasks[name], sr1)
        for _ in range(2):
            compute_and_compare(controller)
            controller.integrate()
    for name in LINKS[1:4]:
        task = controller.tasks[name]
        task.shaper, task.activation, task.reference = None, 1.0, None
        task.target.set(turned(sr1.link(name).T, [0.05] * 6))
    for _ in range(3):
        compute_and_compare(controller)


@pytest.mark.parametrize('kind', [BodyPositionTask, BodyScrewTask])
def test_targets_that_move_ask_for_their_velocity(sr1, kind):
    """Along their ways, and no longer when these have ended."""
    controller = six_tasks(sr1, kind)
    controller.compute()
    for name in LINKS[:3]:
        target = controller.tasks[name].target
        target.interpolator = TimedInterpolator(3, 5 * PERIOD)
        target.set(turned(sr1.link(name).T, [0.1, -0.1, 0.05, 0.2, 0.3, -0.1]))
    speeds = []
    for _ in range(12):
        compute_and_compare(controller)
        speeds.append(np.abs(controller.tasks[LINKS[0]].target.velocity).max())
    assert max(speeds) > 1.0
    assert speeds[-1] < 1e-9


@pytest.mark.parametrize('angle', [0.0, 1e-12, 1e-8, 1e-4, 1.0, 2.0, 2.7, 3.0, math.pi - 1e-6])
def test_turns_of_any_angle(sr1, angle):
    """The error is the axis of the turn times its angle, in the world's axes."""
    controller = six_tasks(sr1, BodyPositionTask)
    controller.compute()
    random = np.random.default_rng(4)
    axes = random.normal(size=(6, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    for name, axis in zip(LINKS, axes, strict=True):
        pose = sr1.link(name).T.copy()
        pose[:3, :3] = pin.exp3(angle * axis) @ pose[:3, :3]
        controller.tasks[name].target.set(pose)
    controller.compute()
    for name, axis in zip(LINKS, axes, strict=True):
        error = controller.tasks[name].error
        np.testing.assert_allclose(error[:3], 0.0, atol=1e-12)
        np.testing.assert_allclose(error[3:], angle * axis, atol=1e-8 if angle > 2.9 else 1e-14)


@pytest.mark.parametrize('kind', [BodyPositionTask, BodyScrewTask])
def test_what_was_found_stays_what_it_was(sr1, kind):
    """Who keeps an error has the same one after the next tick."""
    controller = six_tasks(sr1, kind)
    for _ in range(3):
        controller.compute()
    task = controller.tasks[LINKS[0]]
    error, velocity = task.error, task.velocity
    before = error.copy(), velocity.copy()
    controller.integrate()
    controller.compute()
    np.testing.assert_array_equal(error, before[0])
    np.testing.assert_array_equal(velocity, before[1])
    assert np.abs(task.error - error).max() > 1e-3


def test_a_velocity_that_is_no_number_is_refused_by_name(sr1):
    """As for a task by itself."""
    controller = six_tasks(sr1, BodyPositionTask)
    for _ in range(2):
        controller.compute()
    controller.tasks['CHEST'].gain = math.inf
    with pytest.raises(TaskError, match="task 'CHEST': 6 finite velocities expected"):
        controller.compute()


def test_methods_and_classes_of_ones_own_are_called(sr1):
    """One that is put on a task among others, and one of a derived class."""

    class Slow(BodyPositionTask):
        def compute_body_velocity(self, kinematics, dt):
            """Ask for a hundredth."""
            return 0.01 * super().compute_body_velocity(kinematics, dt)

    controller = six_tasks(sr1, BodyPositionTask)
    slow = controller.add_task(Slow('slow', sr1.link('RARM_ELBOW')))
    slow.target.set(turned(sr1.link('RARM_ELBOW').T, [0.1] * 6))
    for _ in range(3):
        controller.compute()
    np.testing.assert_allclose(slow.velocity, 0.01 * slow.error)
    task = controller.tasks['CHEST']
    task.compute_body_velocity = lambda kinematics, dt: np.arange(6.0)
    for _ in range(2):
        controller.compute()
        np.testing.assert_array_equal(task.velocity, np.arange(6.0))


def test_a_jacobian_of_ones_own_is_asked_for(sr1):
    """One that is put on a screw task among others counts from the next tick on."""
    controller = six_tasks(sr1, BodyScrewTask)
    for _ in range(3):
        controller.compute()
    task = controller.tasks['CHEST']
    task.jacobian = lambda kinematics: np.ones((6, kinematics.num_unknowns))
    controller.compute()
    [level] = controller.solver._stack.levels
    place = 6 * level.tasks.index(task)
    np.testing.assert_array_equal(level.rows[place : place + 6], 1.0)


@pytest.mark.parametrize('seed', range(6))
def test_rows_together_are_those_of_the_tasks(sr1, seed):
    """Screw and position tasks in any order, with weights, selections, levels and references."""
    random = np.random.default_rng(seed)
    controller = TaskSolver(sr1, JointGroup('all', sr1.joints), PERIOD, QpSolver())
    for i in range(8):
        link = sr1.link(LINKS[int(random.integers(6))])
        kind = (BodyScrewTask, BodyPositionTask)[int(random.integers(3) == 0)]
        task = controller.add_task(kind(f'{i}', link))
        task.priority = int(random.integers(2))
        if random.integers(2):
            task.weight = random.uniform(0.5, 2.0, size=6)
        if random.integers(2):
            task.selection = random.integers(2, size=6)
        if random.integers(4) == 0:
            task.reference = sr1.link('RARM_ELBOW')
        controller.compute()
        task.target.set(
            turned(task.pose(controller.kinematics).homogeneous, random.normal(size=6))
        )
    controller.add_task(PostureTask('rest', JointGroup('all', sr1.joints))).priority = 2
    for _ in range(3):
        controller.compute()
        for level in controller.solver._stack.levels:
            rows = []
            for task in level.tasks:
                scale = np.ones(task.size) if task.row_scale is None else task.row_scale
                jacobian = task.jacobian(controller.kinematics)
                rows.append((scale[:, None] * jacobian)[scale > 0.0])
            np.testing.assert_allclose(level.rows, np.vstack(rows), atol=1e-12)
        controller.integrate()


class Leading(PostureTask):
    """Moves the targets of other tasks with each tick."""

    def __init__(self, name, group, followers):
        super().__init__(name, group)
        self.followers, self.ticks = followers, 0

    def update(self, kinematics, dt):
        """Set the targets of this tick."""
        self.ticks += 1
        for task in self.followers:
            pose = task.link.T.copy()
            pose[2, 3] = self.ticks
            task.target.set(pose)
        super().update(kinematics, dt)


@pytest.mark.parametrize('kind', [BodyPositionTask, BodyScrewTask])
@pytest.mark.parametrize('place', [0, 3])
def test_a_task_of_ones_own_may_lead_those_behind_it(sr1, kind, place):
    """Targets that it sets act in the same tick, however many tasks are computed together."""
    controller = TaskSolver(sr1, JointGroup('all', sr1.joints), PERIOD, QpSolver())
    tasks = [kind(name, sr1.link(name)) for name in LINKS]
    for task in tasks:
        task.target.set(task.link.T)
    behind = tasks[place:]
    for task in tasks[:place]:
        controller.add_task(task)
    controller.add_task(Leading('leader', controller.joint_group, behind))
    for task in behind:
        controller.add_task(task)
    for _ in range(3):
        controller.compute()
        for task in behind:
            error = alone(task, controller.kinematics)[0]
            np.testing.assert_allclose(task.error, error, atol=1e-12)
