"""The motion queue over real topics and services: milestones, brake, feed rate, transitions."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from controllers.arm import make_arm
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import Float64
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from cnoid_control.controllers.composition.state_machine import ConfiguredStateMachine
from cnoid_control.controllers.motion_queue.controller import MotionQueueController
from cnoid_control.hardware.kinematic import KinematicHardware, KinematicParameters
from cnoid_control.ros.node.mailboxes import MailboxBridge
from cnoid_control.runtime.build import wire_loop
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.managed_controller import ManagedController
from cnoid_control.runtime.safety.watchdog import WatchdogParameters

DT = 0.005


class Robot:
    """A controller on an ideal arm in real time, with its mailboxes on ROS."""

    def __init__(self, context, spin_until, controller, options) -> None:
        """Start the loop, and the node's executor, in threads of their own."""
        hardware = KinematicHardware(make_arm(), KinematicParameters(), DT)
        managed = ManagedController('arm', controller, options)
        self.body = hardware.body
        host = ControllerHost([managed], hardware.body, DT)
        # A busy machine is no fault here.
        self.loop = wire_loop(hardware, host, watchdog=WatchdogParameters(control_timeout=10.0))
        self._runner = threading.Thread(target=self.loop.run, kwargs={'real_time': True})
        self._runner.start()
        assert spin_until(lambda: self.loop.tick > 0)
        self.node = Node('robot', context=context)
        self.bridge = MailboxBridge(self.node)
        self.bridge.open(managed.io.mailboxes.values())
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self.node)
        self._spinner = threading.Thread(target=self._executor.spin)
        self._spinner.start()

    def close(self) -> None:
        """Stop the threads."""
        self.loop.request_stop()
        self._runner.join()
        self._executor.shutdown()
        self._spinner.join()
        self.bridge.close()
        self.node.destroy_node()


@pytest.fixture
def start(ros_context, spin_until):
    """Return a function that starts a robot with a controller."""
    robots = []

    def make(controller, **options) -> Robot:
        robots.append(Robot(ros_context, spin_until, controller, options))
        return robots[-1]

    yield make
    for robot in robots:
        robot.close()


def call(node, spin_until, name: str) -> Trigger.Response:
    """Call a trigger of the robot."""
    client = node.create_client(Trigger, f'robot/{name}')
    assert spin_until(client.service_is_ready)
    future = client.call_async(Trigger.Request())
    assert spin_until(future.done)
    return future.result()


def test_milestones_come_by_topic(start, ros_node, spin_until) -> None:
    """One point without time is a milestone; brake and feed rate act on the same queue."""
    controller = MotionQueueController()
    robot = start(controller, actuators='servo', max_acceleration=4.0)
    publisher = ros_node.create_publisher(JointTrajectory, 'robot/milestone', 10)
    rate = ros_node.create_publisher(Float64, 'robot/feed_rate', 10)
    assert spin_until(lambda: publisher.get_subscription_count() and rate.get_subscription_count())
    milestone = JointTrajectory(
        joint_names=['elbow'], points=[JointTrajectoryPoint(positions=[0.4])]
    )
    publisher.publish(milestone)
    assert spin_until(lambda: abs(robot.body.q[1] - 0.4) < 1e-6)
    assert robot.body.q[0] == 0.0
    rate.publish(Float64(data=0.05))
    milestone.points[0].positions = [-1.5]
    assert spin_until(lambda: controller.queue.feed_rate == 0.05)
    publisher.publish(milestone)
    assert spin_until(lambda: controller.remaining_time > 1.0)
    assert call(ros_node, spin_until, 'brake').success
    assert spin_until(lambda: not controller.queue.is_moving)
    assert robot.body.q[1] > -1.0


def test_a_service_changes_the_state(start, ros_node, spin_until) -> None:
    """A transition on a message is a service of that name."""
    queue = {'controller': 'motion_queue', 'options': {'actuators': 'servo'}}
    raise_arm = {**queue['options'], 'queue': {'up': {'q': [0.3, 0.0]}}}
    states = {
        'wait': {**queue, 'next': {'up': {'message': 'go'}}},
        'up': {'controller': 'motion_queue', 'options': raise_arm},
    }
    controller = ConfiguredStateMachine()
    robot = start(controller, states=states, start='wait', actuators='servo')
    assert controller.composition.current == 'wait'
    assert call(ros_node, spin_until, 'go').success
    assert spin_until(lambda: abs(robot.body.q[0] - 0.3) < 1e-6)
    np.testing.assert_allclose(robot.body.q, [0.3, 0.0], atol=1e-6)
