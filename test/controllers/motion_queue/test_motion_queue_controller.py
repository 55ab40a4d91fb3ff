"""The motion queue on a simulated arm: tracking, mixed joints, messages, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from controllers.arm import make_loop, run

from cnoid_control.controllers.drive.laws import DriveError
from cnoid_control.controllers.motion_queue.controller import MotionQueueController
from cnoid_control.controllers.motion_queue.exceptions import (
    MotionRefused,
)
from cnoid_control.controllers.trajectory.exceptions import InvalidTrajectory
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.plugin.mailbox import JointTrajectory, Trigger, Value
from cnoid_control.plugin.trajectory_goal import FollowTrajectory, GoalState
from cnoid_control.runtime.exceptions import NoControllerLeft

GAINS = {'kp': 2000.0, 'kd': 60.0, 'max_acceleration': 6.98}


def start(gravity: float = 0.0, **options: object):
    """Controller and its running loop."""
    controller = MotionQueueController()
    loop = make_loop(controller, {**GAINS, **options}, gravity=gravity)
    return controller, loop


@pytest.mark.parametrize('actuators', ['hardware', 'controller', 'servo'])
def test_the_robot_goes_to_the_milestone(actuators: str) -> None:
    """The arm arrives when the queue says, whoever closes the loop."""
    gains = {'kp': 60.0, 'kd': 4.0} if actuators == 'controller' else {}
    controller, loop = start(actuators=actuators, **gains)
    controller.set_milestone([0.5, -0.3])
    assert controller.remaining_time == pytest.approx(2 * np.sqrt(0.5 / 6.98))
    run(loop, controller.remaining_time + 0.005)
    assert controller.remaining_time == 0.0
    run(loop, 2.0)
    np.testing.assert_allclose(controller.get_commanded_config(), [0.5, -0.3], atol=1e-9)
    np.testing.assert_allclose(controller.get_sensed_config(), [0.5, -0.3], atol=2e-3)
    np.testing.assert_allclose(controller.get_sensed_velocity(), 0.0, atol=1e-2)


def test_feedforward_torque_takes_the_load_off_the_feedback() -> None:
    """Against gravity and inertia by the model, soft gains track ten times better."""
    errors = {}
    for kind in ('none', 'gravity', 'dynamics'):
        controller, loop = start(9.8, feedforward=kind, kp=100.0, kd=10.0)
        controller.set_milestone([1.2, -0.6])
        worst = 0.0
        for _ in range(250):
            commanded = controller.get_commanded_config()
            loop.step()
            worst = max(worst, np.abs(loop.hardware.body.q - commanded).max())
        errors[kind] = worst
    assert errors['dynamics'] < errors['gravity'] < errors['none']
    assert errors['dynamics'] < 0.1 * errors['none']


def test_joints_are_mixed_between_queue_torque_and_pid() -> None:
    """One joint follows the queue while the other gets a torque, then a PID command."""
    controller, loop = start()
    controller.set_torque([0.02], joints=['elbow'])
    controller.set_milestone([0.5], joints=['shoulder'])
    run(loop, 0.3)
    assert controller.get_control_type() == ['pid', 'torque']
    assert controller.get_commanded_config()[1] == 0.0
    run(loop, 0.7)
    assert controller.get_sensed_config()[0] == pytest.approx(0.5, abs=2e-3)
    controller.set_pid_command([0.3], joints=['elbow'])
    run(loop, 1.0)
    np.testing.assert_allclose(controller.get_sensed_config(), [0.5, 0.3], atol=2e-3)
    assert controller.get_control_type() == ['pid', 'pid']


def test_a_locked_velocity_runs_beside_the_queue() -> None:
    """One joint turns steadily while the other one follows the queue."""
    controller, loop = start()
    controller.set_locked_velocity([0.4], joints=['elbow'])
    controller.set_milestone([0.3], joints=['shoulder'])
    run(loop, 1.5)
    assert controller.get_control_type() == ['pid', 'velocity']
    np.testing.assert_allclose(controller.get_sensed_config(), [0.3, 0.6], atol=0.01)
    assert controller.get_sensed_velocity()[1] == pytest.approx(0.4, abs=0.04)


def test_a_queue_call_takes_an_overridden_joint_back_where_it_is() -> None:
    """After a PID command the queue starts from that command, at rest, without a jump."""
    controller, loop = start()
    controller.set_pid_command([0.4, 0.2])
    run(loop, 1.0)
    controller.add_milestone([0.5, 0.2])
    before = controller.get_commanded_config()
    np.testing.assert_allclose(before, [0.4, 0.2])
    loop.step()
    step = controller.get_commanded_config() - before
    assert 0.0 < step[0] <= 6.98 * 0.005**2
    assert step[1] == 0.0


def test_the_rate_of_the_queue_can_be_lower_than_the_loop() -> None:
    """With a period of four ticks the command changes every fourth tick."""
    controller, loop = start()
    controller.set_rate(0.02)
    controller.set_linear([1.0, 0.0], 1.0)
    commands = []
    for _ in range(40):
        loop.step()
        commands.append(controller.get_commanded_config()[0])
    assert len(np.unique(commands)) == 11
    with pytest.raises(MotionRefused, match=r'0\.001 s; it must be >= 0\.005'):
        controller.set_rate(0.001)


def test_gains_can_be_set() -> None:
    """Gains take effect in the actuators: a torque-free arm sags the less the stiffer it is."""
    sag = []
    for kp in (100.0, 1000.0):
        controller, loop = start(9.8)
        controller.set_pid_gains([kp, kp], [0.0, 0.0], [20.0, 20.0])
        assert controller.get_pid_gains()[0].tolist() == [kp, kp]
        controller.set_milestone([0.5, 0.0])
        run(loop, 4.0)
        sag.append(abs(controller.get_sensed_config()[0] - 0.5))
    assert sag[1] == pytest.approx(sag[0] / 10, rel=0.2)


def test_sensors_are_found_by_name_and_number() -> None:
    """Encoders come first, then the devices that were asked for."""
    controller, loop = start(9.8, sensors=['elbow_force'])
    run(loop, 1.0)
    assert controller.sensor(0).name == 'q'
    np.testing.assert_array_equal(
        controller.sensor('dq').measurements, controller.get_sensed_velocity()
    )
    force = controller.sensor('elbow_force').measurements
    assert force.shape == (6,)
    assert force[2] == pytest.approx(-2.0 * 9.8, rel=0.01)
    with pytest.raises(CnoidControlError, match="'camera'; choose from: q, dq, elbow_force"):
        controller.sensor('camera')


def test_messages_drive_the_same_queue() -> None:
    """A point without time is a milestone; timed points are joined; triggers brake and pause."""
    controller, loop = start()
    boxes = controller.io.mailboxes
    boxes['milestone'].post(JointTrajectory(names=('elbow',), positions=np.array([[0.4]])))
    loop.step()
    assert controller.remaining_time > 0.1
    run(loop, 1.0)
    np.testing.assert_allclose(controller.get_commanded_config(), [0.0, 0.4], atol=1e-9)
    boxes['milestone'].post(
        JointTrajectory(
            names=('elbow', 'shoulder'),
            times=np.array([0.5, 1.0]),
            positions=np.array([[0.2, 0.1], [0.0, 0.3]]),
            velocities=np.array([[-0.4, 0.3], [0.0, 0.0]]),
        )
    )
    run(loop, 0.5)
    np.testing.assert_allclose(controller.get_commanded_config(), [0.1, 0.2], atol=1e-9)
    np.testing.assert_allclose(controller.get_commanded_velocity(), [0.3, -0.4], atol=1e-9)
    boxes['pause_queue'].post(Trigger())
    run(loop, 1.0)
    held = controller.get_commanded_config()
    boxes['resume_queue'].post(Trigger())
    boxes['feed_rate'].post(Value(value=0.5))
    run(loop, 3.0)
    assert not np.allclose(held, [0.3, 0.0], atol=1e-3)
    np.testing.assert_allclose(controller.get_commanded_config(), [0.3, 0.0], atol=1e-9)
    boxes['add_milestone'].post(JointTrajectory(names=('elbow',), positions=np.array([[1.0]])))
    run(loop, 0.1)
    boxes['brake'].post(Trigger())
    run(loop, 1.0)
    assert controller.get_commanded_config()[1] < 0.5
    assert controller.remaining_time == 0.0


def follow(times: list[float], positions: list[list[float]]) -> FollowTrajectory:
    """Goal for both joints."""
    trajectory = JointTrajectory(
        names=('shoulder', 'elbow'), times=np.array(times), positions=np.array(positions)
    )
    return FollowTrajectory(trajectory=trajectory)


def test_goals_of_the_trajectory_interfaces_run_in_the_same_queue() -> None:
    """They succeed at their end, are braked when cancelled and give way to other motion."""
    controller, loop = start()
    box = controller.io.mailboxes['follow_joint_trajectory']
    goal = follow([0.5, 1.0], [[0.2, 0.1], [0.3, 0.0]])
    box.post(goal)
    run(loop, 0.25)
    assert box.status.q == pytest.approx([0.1, 0.05], abs=1e-6)
    run(loop, 0.8)
    assert goal.handle.state is GoalState.SUCCEEDED
    cancelled = follow([2.0], [[1.5, 0.0]])
    box.post(cancelled)
    run(loop, 0.5)
    cancelled.handle.request_cancel()
    run(loop, 0.5)
    assert cancelled.handle.state is GoalState.CANCELED
    assert controller.get_commanded_velocity()[0] == 0.0
    assert controller.get_commanded_config()[0] < 1.0
    replaced = follow([2.0], [[0.0, 0.0]])
    box.post(replaced)
    run(loop, 0.2)
    controller.set_milestone([0.2, 0.2])
    run(loop, 1.0)
    assert replaced.handle.state is GoalState.ABORTED
    np.testing.assert_allclose(controller.get_commanded_config(), [0.2, 0.2], atol=1e-9)
    wrong = JointTrajectory(names=('knee',), times=np.ones(1), positions=np.zeros((1, 1)))
    with pytest.raises(InvalidTrajectory, match='knee'):
        box.post(FollowTrajectory(trajectory=wrong))


@pytest.mark.parametrize(
    'message',
    [
        JointTrajectory(names=('knee',), positions=np.array([[0.4]])),
        JointTrajectory(names=('elbow',), positions=np.array([[np.nan]])),
        JointTrajectory(names=('elbow',), positions=np.array([[0.1, 0.2]])),
        JointTrajectory(
            names=('elbow',), times=np.array([1.0, 0.5]), positions=np.array([[0.1], [0.2]])
        ),
    ],
)
def test_a_bad_message_leaves_the_motion_as_it_was(message: JointTrajectory) -> None:
    """It is refused with a line in the messages; the queue goes on."""
    controller, loop = start()
    twin, twin_loop = start()
    for one in (controller, twin):
        one.set_milestone([0.5, 0.2])
    controller.io.mailboxes['milestone'].post(message)
    np.testing.assert_array_equal(run(loop, 0.5), run(twin_loop, 0.5))
    assert 'refused: ' in loop.host.os.getvalue()
    assert controller.report()['reports'] == 1


@pytest.mark.parametrize(
    ('call', 'error', 'words'),
    [
        (lambda c: c.set_torque([1.0]), MotionRefused, '1 elements for 2 joints'),
        (lambda c: c.set_pid_command([np.nan, 0.0]), MotionRefused, 'is nan; it must be finite'),
        (lambda c: c.set_milestone([0.0], joints=['knee']), DriveError, "unknown joint 'knee'"),
        (lambda c: c.set_pid_gains([1.0], [1.0], [1.0]), MotionRefused, '1 elements for 2 joints'),
        (
            lambda c: c.queue.set_milestone([0.0], joints=['knee']),
            MotionRefused,
            "unknown joint 'knee'",
        ),
    ],
)
def test_bad_calls_are_refused(call, error: type, words: str) -> None:
    """Wrong sizes, numbers and joints raise and change nothing."""
    controller, _ = start()
    before = controller.get_control_type()
    with pytest.raises(error, match=words):
        call(controller)
    assert controller.get_control_type() == before


def test_servos_take_no_torque() -> None:
    """With position servos a torque is refused with the joints' names."""
    controller, _ = start(actuators='servo')
    with pytest.raises(DriveError, match='shoulder, elbow: position servos take no torque'):
        controller.set_torque([1.0, 1.0])


def test_a_queue_can_be_configured() -> None:
    """Motions of the options run in the order of their names, as often as asked, to the end."""
    queue = {
        '1_up': {'q': [0.3], 'joints': ['elbow']},
        '2_wait': {'kind': 'wait', 'duration': 0.2},
        '3_down': {'kind': 'cubic', 'q': [0.0, 0.0], 'duration': 0.5},
    }
    controller, loop = start(queue=queue, repeat=2, finish=True)
    positions = []
    while loop.step():
        positions.append(controller.get_commanded_config()[1])
    positions = np.array(positions)
    assert positions.max() == pytest.approx(0.3)
    assert np.count_nonzero(np.diff((positions > 0.15).astype(int)) == 1) == 2
    expected = 2 * (2 * np.sqrt(0.3 / 6.98) + 0.2 + 0.5)
    assert loop.tick * 0.005 == pytest.approx(expected, abs=0.02)


def test_a_bad_configured_queue_is_refused_at_the_start() -> None:
    """A motion of the wrong size does not get as far as the first tick."""
    with pytest.raises(NoControllerLeft, match='3 elements for 2 joints'):
        start(queue={'a': {'q': [0.0, 0.0, 0.0]}})


def test_parameters_can_change_while_running() -> None:
    """New limits and gains act at once; what the queue cannot keep is refused."""
    controller, loop = start()
    controller.set_milestone([1.5, 0.0])
    run(loop, 0.3)
    old = controller.parameters
    controller.update_parameters(old, replace(old, max_velocity=0.5))
    run(loop, 0.6)
    assert controller.get_commanded_velocity()[0] == pytest.approx(0.5)


def test_other_parameters_leave_the_feed_rate_alone() -> None:
    """A feed rate that came by message stays when gains change; its own parameter sets it."""
    controller, _ = start()
    controller.set_feed_rate(0.25)
    old = controller.parameters
    stiffer = replace(old, kp=123.0)
    controller.update_parameters(old, stiffer)
    assert controller.queue.feed_rate == 0.25
    controller.update_parameters(stiffer, replace(stiffer, feed_rate=0.5))
    assert controller.queue.feed_rate == 0.5
