"""What a task controller holds: names, switches, parts, bundles and events."""

import numpy as np
import pytest

from cnoid_control.body import StateFlag
from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks import (
    BodyTask,
    BodyVelocityConstraint,
    BodyVelocityTask,
    ComTask,
    Configuration,
    JointVelocityConstraint,
    JointVelocityTask,
    SelfCollisionConstraint,
    TaskSolver,
)
from cnoid_control.controllers.tasks.exceptions import (
    TaskError,
)
from cnoid_control.controllers.tasks.sum_solver import SumSolver
from cnoid_control.controllers.tasks.task_solver import EVENTS, FAMILIES, KINDS


def moving(name: str, group: JointGroup, velocity: float) -> JointVelocityTask:
    """Make a joint velocity task with the same target for all joints."""
    task = JointVelocityTask(name, group)
    task.target.set(np.full(group.dofs, velocity))
    return task


def test_a_disabled_task_does_nothing(controller, all_joints):
    """Only enabled tasks count, and a task can be switched at any time."""
    task = controller.add_task(moving('t', all_joints, 0.3))
    for enabled in (True, False, True):
        task.enable() if enabled else task.disable()
        assert task.is_enabled is enabled
        controller.compute()
        np.testing.assert_allclose(controller.velocity, 0.3 if enabled else 0.0)


def test_subtasks_follow_their_parent(controller, all_joints):
    """Subtasks of any depth add to their parent, and only while it is enabled."""
    parent = controller.add_task(moving('parent', all_joints, 0.1))
    child = parent.add_part(moving('child', all_joints, 0.2))
    child.add_part(moving('grandchild', all_joints, 0.4))
    expected = {(True, True): 0.7, (True, False): 0.1, (False, True): 0.0, (False, False): 0.0}
    for (parent_on, child_on), velocity in expected.items():
        parent.enable() if parent_on else parent.disable()
        child.enable() if child_on else child.disable()
        controller.compute()
        np.testing.assert_allclose(controller.velocity, velocity)


def test_a_body_task_may_be_part_of_a_joint_task(controller, arm, all_joints):
    """Parts are served by their own kind, whatever the kind of the whole."""
    whole = controller.add_task(moving('whole', all_joints, 0.0))
    part = whole.add_part(BodyVelocityTask('hand', arm.link('hand')))
    part.target.set([0.1, 0, 0, 0, 0, 0])
    controller.compute()
    alone = TaskSolver(arm, all_joints, 0.01, SumSolver())
    alone.add_task(BodyVelocityTask('hand', arm.link('hand'))).target.set([0.1, 0, 0, 0, 0, 0])
    alone.compute()
    np.testing.assert_allclose(controller.velocity, alone.velocity)


def test_subconstraints_follow_their_parent(controller, all_joints):
    """A subconstraint limits only while its parent is enabled."""
    controller.add_task(moving('t', all_joints, 1.0))
    parent = controller.add_constraint(JointVelocityConstraint('parent', all_joints))
    parent.max_velocity = 10.0
    child = JointVelocityConstraint('child', all_joints)
    child.max_velocity = 0.5
    parent.add_part(child)
    controller.compute()
    assert controller.scaling_factor == pytest.approx(0.5)
    parent.disable()
    controller.compute()
    assert controller.scaling_factor == 1.0
    parent.enable()
    child.disable()
    controller.compute()
    assert controller.scaling_factor == 1.0


def test_names_are_unique(controller, all_joints):
    """A second task, part, constraint or bundle of a name is refused."""
    task = controller.add_task(moving('t', all_joints, 0.0))
    with pytest.raises(TaskError, match="task named 't'"):
        controller.add_task(moving('t', all_joints, 0.0))
    task.add_part(moving('s', all_joints, 0.0))
    with pytest.raises(TaskError, match="subtask named 's'"):
        task.add_part(moving('s', all_joints, 0.0))
    controller.add_constraint(JointVelocityConstraint('c', all_joints))
    with pytest.raises(TaskError, match="constraint named 'c'"):
        controller.add_constraint(JointVelocityConstraint('c', all_joints))
    controller.add_configuration(Configuration('b'))
    with pytest.raises(TaskError, match="configuration named 'b'"):
        controller.add_configuration(Configuration('b'))


def test_unknown_names_list_the_known(controller, all_joints):
    """Removing what is not there names what is."""
    controller.add_task(moving('reach', all_joints, 0.0))
    with pytest.raises(TaskError, match=r"'grasp'.*reach"):
        controller.remove_task('grasp')
    with pytest.raises(TaskError, match="constraint 'x'"):
        controller.remove_constraint('x')
    with pytest.raises(TaskError, match="subtask 'x'"):
        controller.tasks['reach'].remove_part('x')


def test_a_task_serves_one_controller(controller, arm, all_joints):
    """A task on one controller cannot be added to another until it was removed."""
    task = controller.add_task(moving('t', all_joints, 0.3))
    other = TaskSolver(arm, all_joints, 0.01, SumSolver())
    with pytest.raises(TaskError, match="'t' belongs to another controller"):
        other.add_task(task)
    controller.remove_task('t')
    controller.compute()
    assert not controller.velocity.any()
    other.add_task(task)
    other.compute()
    np.testing.assert_allclose(other.velocity, 0.3)


def test_a_bundle_comes_and_goes_as_one(controller, all_joints):
    """A configuration adds all its parts or none, and takes them away again."""
    bundle = Configuration(
        'b',
        'joint',
        [moving('t1', all_joints, 0.1), moving('t2', all_joints, 0.2)],
        [JointVelocityConstraint('c', all_joints)],
    )
    controller.add_task(moving('t2', all_joints, 0.0))
    with pytest.raises(TaskError, match="there is already a task named 't2'"):
        controller.add_configuration(bundle)
    assert list(controller.tasks) == ['t2']
    controller.remove_task('t2')
    controller.add_configuration(bundle)
    assert list(controller.tasks) == ['t1', 't2']
    assert list(controller.constraints) == ['c']
    controller.remove_configuration('b')
    assert not controller.tasks
    assert not controller.constraints


def test_all_eighteen_events_are_told(controller, arm, all_joints):
    """Each family, kind and event has its own signal, emitted with the element."""
    heard = []
    names = [f'{f}_{k}_{e}' for f in FAMILIES for k in KINDS for e in EVENTS]
    assert len(names) == 18
    for name in names:
        getattr(controller, name).connect(
            lambda element, name=name: heard.append((name, element.name))
        )
    hand, base = arm.link('hand'), arm.link('base')
    pair = [(arm.link('forearm'), base)]
    for task in (ComTask('g'), moving('j', all_joints, 0), BodyVelocityTask('b', hand)):
        controller.add_task(task)
        controller.remove_task(task.name)
    for constraint in (
        SelfCollisionConstraint('g', pair),
        JointVelocityConstraint('j', all_joints),
        BodyVelocityConstraint('b', hand),
    ):
        controller.add_constraint(constraint)
        controller.remove_constraint(constraint.name)
    for family in FAMILIES:
        controller.add_configuration(Configuration(family[0], family))
        controller.remove_configuration(family[0])
    expected = [
        (f'{family}_{kind}_{event}', family[0])
        for kind in KINDS
        for family in FAMILIES
        for event in EVENTS
    ]
    assert heard == expected


def test_its_primary_command_is_velocity(controller):
    """Others can ask what the controller commands."""
    assert controller.controller_outputs is StateFlag.JOINT_VELOCITY


@pytest.mark.parametrize('bad', [np.zeros(6), np.full(7, np.nan), np.full(7, np.inf)])
def test_a_wrong_target_is_refused_and_the_old_one_stays(controller, all_joints, bad):
    """A target of the wrong size or with NaN changes nothing."""
    task = controller.add_task(moving('t', all_joints, 0.3))
    with pytest.raises(TaskError, match=r"'t'.*7 finite numbers"):
        task.target.set(bad)
    controller.compute()
    np.testing.assert_allclose(controller.velocity, 0.3)


@pytest.mark.parametrize('bad', [[1, 0], [1, 0, 2, 0, 0, 0, 0]])
def test_a_wrong_selection_is_refused(all_joints, bad):
    """A selection is zeros and ones of the task's size."""
    with pytest.raises(TaskError, match='selection'):
        JointVelocityTask('t', all_joints).selection = bad


def test_the_target_is_refreshed_every_tick(controller, all_joints):
    """A disabled task's target stands still, an enabled one's moves with each tick."""
    from cnoid_control.controllers.tasks.interpolators import RateLimiter

    task = controller.add_task(moving('t', all_joints, 0.0))
    task.target.interpolator = RateLimiter(1.0)
    task.target.reset(np.zeros(7))
    task.target.set(np.full(7, 0.05))
    for expected in (0.01, 0.02, 0.03):
        controller.compute()
        np.testing.assert_allclose(controller.velocity, expected)
    task.disable()
    controller.compute()
    task.enable()
    controller.compute()
    np.testing.assert_allclose(task.target.output, 0.04)


def test_a_kind_of_task_resolves_to_the_controllers_own_class(arm, all_joints):
    """Both the kind and the class itself can be asked for; a base without a class is refused."""

    class SlowTask(JointVelocityTask):
        """A joint velocity task at half speed."""

        def update(self, kinematics, dt):
            super().update(kinematics, dt)
            self.velocity = 0.5 * self.velocity

    class SlowController(TaskSolver):
        task_types = {JointVelocityTask: SlowTask}  # noqa: RUF012 - as users write it

    controller = SlowController(arm, all_joints, 0.01, SumSolver())
    for kind in (JointVelocityTask, SlowTask):
        task = controller.create_task(kind, kind.__name__, all_joints)
        assert type(task) is SlowTask
        task.target.set(np.full(7, 0.4))
    controller.compute()
    np.testing.assert_allclose(controller.velocity, 0.4)
    with pytest.raises(TaskError, match=r"'BodyTask'.*JointVelocityTask"):
        controller.create_task(BodyTask, 'hand', arm.link('hand'))


def test_joint_tasks_are_not_for_a_free_root(sr1):
    """A group with the free root is refused: a task of the root's link moves it."""
    group = JointGroup('whole', [sr1.root_link, *sr1.joints])
    with pytest.raises(TaskError, match=r"'whole' has a free root"):
        JointVelocityTask('t', group)
    with pytest.raises(TaskError, match='free root'):
        JointVelocityConstraint('c', group)


def test_a_task_can_move_to_another_controller(controller, all_joints):
    """A joint task serves the joints of the controller that it is on now."""
    body = controller.body
    group = body.add_joint_group('last', [all_joints.joint_names[-1]])
    task = controller.add_task(moving('t', group, 0.3))
    controller.compute()
    controller.remove_task('t')
    other = TaskSolver(body, group, 0.01, SumSolver())
    other.add_task(task)
    task.target.set([0.4])
    other.compute()
    assert other.velocity == pytest.approx([0.4])
