"""Trajectories from a real action client through DDS to a controller in its loop."""

import threading

import numpy as np
import pytest
from fake_hardware import two_joint_body

pytest.importorskip('control_msgs.action', reason='interfaces are not built')

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance, JointTrajectoryControllerState
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from cnoid_control.controllers.trajectory import TrajectoryController
from cnoid_control.hardware.kinematic import KinematicHardware, KinematicParameters
from cnoid_control.ros.node.trajectory_action import TrajectoryInterface
from cnoid_control.runtime.build import wire_loop
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.managed_controller import ManagedController
from cnoid_control.runtime.safety.watchdog import WatchdogParameters

DT = 0.002
NAMES = ['joint0', 'joint1']


def make_points(times, positions, velocities=None, names=NAMES):
    """Return a trajectory message."""
    message = JointTrajectory(joint_names=list(names))
    for i, (time, position) in enumerate(zip(times, positions, strict=True)):
        point = JointTrajectoryPoint(positions=[float(value) for value in position])
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(time * 1e9), 10**9)
        if velocities is not None:
            point.velocities = [float(value) for value in velocities[i]]
        message.points.append(point)
    return message


class Client:
    """An action client of the controller, which runs in real time beside the test."""

    def __init__(self, context, node, spin_until):
        """Start the controller on an ideal robot, and its ROS side on an executor of its own."""
        self.spin_until = spin_until
        hardware = KinematicHardware(two_joint_body(), KinematicParameters(), DT)
        self.body = hardware.body
        managed = ManagedController('trajectory', TrajectoryController(), {'actuators': 'servo'})
        host = ControllerHost([managed], hardware.body, DT)
        # A busy machine is no fault here.
        self.loop = wire_loop(hardware, host, watchdog=WatchdogParameters(control_timeout=10.0))
        self._runner = threading.Thread(target=self.loop.run, kwargs={'real_time': True})
        self._runner.start()
        assert spin_until(lambda: self.loop.tick > 0)
        self.mailbox = managed.io.mailboxes['follow_joint_trajectory']
        self.server = Node('robot', context=context)
        self.interface = TrajectoryInterface(self.server, self.mailbox)
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self.server)
        self._stop = threading.Event()
        self._spinner = threading.Thread(target=self._spin)
        self._spinner.start()
        self.action = ActionClient(node, FollowJointTrajectory, 'robot/follow_joint_trajectory')
        assert spin_until(self.action.server_is_ready)
        self.feedback = []

    def _spin(self):
        while not self._stop.is_set():
            self._executor.spin_once(timeout_sec=0.05)

    def send(self, message, **fields):
        """Send a goal and return its handle once it was answered."""
        request = FollowJointTrajectory.Goal(trajectory=message, **fields)
        future = self.action.send_goal_async(
            request, feedback_callback=lambda given: self.feedback.append(given.feedback)
        )
        assert self.spin_until(future.done)
        return future.result()

    def result(self, handle):
        """Wait for a goal's end and return its status and result."""
        future = handle.get_result_async()
        assert self.spin_until(future.done)
        return future.result().status, future.result().result

    def comes_to(self, place):
        """Whether the robot, which is a tick behind the reference, comes to that place."""
        return self.spin_until(lambda: np.allclose(self.body.q, place, atol=1e-9))

    def close(self):
        """Stop the threads."""
        self.loop.request_stop()
        self._runner.join()
        self._stop.set()
        self._spinner.join()
        self._executor.shutdown()
        self.server.destroy_node()


@pytest.fixture
def client(ros_context, ros_node, spin_until):
    """Return a client of a running controller."""
    made = Client(ros_context, ros_node, spin_until)
    yield made
    made.close()


def test_a_goal_succeeds_with_feedback(client):
    """A goal is followed with feedback on the way, and its result says success."""
    handle = client.send(make_points([0.2, 0.4], [[0.5, 0.2], [1.0, -0.5]]))
    assert handle.accepted
    status, result = client.result(handle)
    assert status == GoalStatus.STATUS_SUCCEEDED
    assert (result.error_code, result.error_string) == (0, 'Goal successfully reached!')
    assert client.comes_to([1.0, -0.5])
    assert client.feedback
    middle = client.feedback[len(client.feedback) // 2]
    assert middle.joint_names == NAMES
    np.testing.assert_allclose(
        np.array(middle.desired.positions) - middle.actual.positions, middle.error.positions
    )
    assert 0.0 < middle.desired.positions[0] < 1.0


def test_leaving_the_path_is_told(client):
    """A path tolerance that is too tight ends the goal with its code and the joint's name."""
    tolerance = JointTolerance(name='joint1', position=1e-7)
    handle = client.send(make_points([0.5], [[0.0, 1.0]]), path_tolerance=[tolerance])
    status, result = client.result(handle)
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == FollowJointTrajectory.Result.PATH_TOLERANCE_VIOLATED
    assert "'joint1'" in result.error_string


def test_missing_the_goal_is_told(client):
    """A goal that is not reached within its goal time ends with that code."""
    tolerance = JointTolerance(name='joint1', position=-1.0, velocity=1e-12)
    # The joint is fed back as moving, so it has not arrived.
    client.loop.hardware.read = _shaking(client.loop.hardware)
    handle = client.send(
        make_points([0.2], [[0.0, 0.5]]),
        goal_tolerance=[tolerance],
        goal_time_tolerance=Duration(nanosec=1_000_000),
    )
    status, result = client.result(handle)
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == FollowJointTrajectory.Result.GOAL_TOLERANCE_VIOLATED


def _shaking(hardware):
    """Return a read that adds a velocity to what is measured."""
    read = type(hardware).read.__get__(hardware)

    def shaking():
        going_on = read()
        hardware.body.dq += 0.1
        return going_on

    return shaking


def test_cancelling_stops_smoothly(client, spin_until):
    """A cancelled goal ends as cancelled when the joints rest, before the goal."""
    handle = client.send(make_points([2.0], [[2.0, 0.0]]))
    assert spin_until(lambda: client.body.q[0] > 0.3)
    cancel = handle.cancel_goal_async()
    assert spin_until(cancel.done)
    assert len(cancel.result().goals_canceling) == 1
    status, _ = client.result(handle)
    assert status == GoalStatus.STATUS_CANCELED
    place = client.body.q[0]
    assert 0.3 < place < 1.9
    ticks = client.loop.tick
    assert spin_until(lambda: client.loop.tick > ticks + 20)
    assert client.body.q[0] == pytest.approx(place, abs=1e-6)


def test_a_new_goal_replaces_the_old_one_without_a_jump(client, spin_until):
    """The first goal ends as replaced; the joints never jump; the second goal is reached."""
    steps = []
    write = client.loop.hardware.write

    def noting():
        steps.append(client.body.q_target.copy())
        write()

    client.loop.hardware.write = noting
    first = client.send(make_points([1.0], [[2.0, 1.0]], [[0.0, 0.0]]))
    assert spin_until(lambda: client.body.q[0] > 0.5)
    second = client.send(make_points([0.0, 0.6], [[0.2, 0.2], [0.0, 0.0]], [[0, 0], [0, 0]]))
    status, result = client.result(first)
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == FollowJointTrajectory.Result.INVALID_GOAL
    assert 'new incoming action' in result.error_string
    status, result = client.result(second)
    assert status == GoalStatus.STATUS_SUCCEEDED
    assert client.comes_to([0.0, 0.0])
    largest = np.abs(np.diff(steps, axis=0)).max()
    # The first goal's own fastest step is 3 rad/s; passing over adds some, but no jump of a rad.
    assert largest < 20.0 * DT


def test_bad_goals_are_rejected(client):
    """Goals for unknown joints, or with points of the wrong size, are not accepted."""
    assert not client.send(make_points([0.2], [[0.5, 0.1]], names=['joint0', 'elbow'])).accepted
    assert not client.send(make_points([0.2], [[0.5]])).accepted
    assert not client.send(make_points([0.2, 0.1], [[0, 0], [0, 0]])).accepted
    assert client.loop.tick > 0


def test_the_topic_moves_the_joints_and_the_state_is_told(client, ros_node, spin_until):
    """A trajectory on the topic is followed; the controller's state has reference and error."""
    states = []
    ros_node.create_subscription(
        JointTrajectoryControllerState, 'robot/controller_state', states.append, 10
    )
    publisher = ros_node.create_publisher(JointTrajectory, 'robot/joint_trajectory', 1)
    assert spin_until(publisher.get_subscription_count)
    publisher.publish(make_points([0.2], [[0.5, 0.1]], names=['joint0', 'elbow']))

    def moves():
        # The reader may not know the writer yet.
        publisher.publish(make_points([0.2], [[0.7, -0.1]]))
        return client.body.q[0] > 0.01

    assert spin_until(moves)
    assert spin_until(lambda: abs(client.body.q[0] - 0.7) < 1e-9)

    def settled():
        return (
            bool(states)
            and np.allclose(states[-1].reference.positions, [0.7, -0.1], atol=1e-9)
            and np.allclose(states[-1].error.positions, [0.0, 0.0], atol=1e-9)
        )

    assert spin_until(settled)
    assert states[-1].joint_names == NAMES
