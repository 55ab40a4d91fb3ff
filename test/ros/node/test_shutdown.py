"""Leaving the robot: through a second way when the first is lost, not waiting for who has gone."""

import pytest
import rclpy

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from rclpy.context import Context
from rclpy.node import Node
from robot_rig import QOS, ManagerNode
from std_msgs.msg import Float64MultiArray

from cnoid_control.ros.exceptions import ServiceUnavailable
from cnoid_control.ros.robot.command_publisher import JointCommandPublisher
from cnoid_control.ros.robot.controller_manager import ControllerManager
from cnoid_control.ros.robot.parameters import CommandParameters
from cnoid_control.ros.robot.shutdown_publisher import ShutdownPublisher


@pytest.fixture
def sender(ros_domain):
    """Return a node in a context that is to be lost."""
    context = Context()
    rclpy.init(context=context, domain_id=ros_domain)
    yield Node('sender', context=context)
    rclpy.try_shutdown(context=context)


@pytest.fixture
def received(rig):
    """Return the commands that the robot has received."""
    received = []
    rig.robot.create_subscription(
        Float64MultiArray, 'effort_controller/commands', lambda m: received.append(m.data), QOS
    )
    return received


@pytest.fixture
def channel(rig, sender):
    """Return a publisher to a command controller, made from the context that is to be lost."""
    body = rig.body()
    return JointCommandPublisher(
        sender, 'effort_controller', CommandParameters('effort'), body.joint_names, body, 0.002
    )


def test_one_command_arrives_after_the_context_is_lost(rig, sender, channel, received):
    """Who stands by is known to the robot: what is sent once when all else is lost arrives."""
    resort = ShutdownPublisher(sender, '')
    resort.advertise([channel])
    channel.source[:] = 1.0

    def is_heard():
        resort.send([channel])
        return bool(received)

    rig.wait(is_heard)
    rclpy.shutdown(context=sender.context)
    assert not channel.send(0)
    channel.source[:] = 0.0
    resort.send([channel])
    rig.wait(lambda: list(received[-1]) == [0.0, 0.0])
    assert resort.stop([channel], [], 5.0) == ['effort_controller']
    resort.close()


def test_the_second_way_is_opened_anew_where_it_is_lost_as_well(rig, sender, channel, received):
    """Without anything that stands by, the robot is looked for and reached all the same."""
    rig.wait(lambda: channel.reader_count)
    resort = ShutdownPublisher(sender, '')
    rclpy.shutdown(context=sender.context)
    resort.send([channel])
    assert resort.stop([channel], [], 5.0) == ['effort_controller']
    rig.wait(lambda: received)
    resort.close()


def test_a_manager_that_has_gone_is_not_waited_for(rig):
    """Controllers are given back at once, or not at all."""
    ManagerNode(rig, {'effort_controller': ('inactive', ['shoulder', 'elbow'], 'effort')})
    # A test that would wait for so long is not passed.
    manager = ControllerManager('controller_manager', rig.supervision, timeout=3600.0)
    manager.use(['effort_controller'])
    assert manager.activated == ['effort_controller']
    for service in list(rig.robot.services):
        if 'controller_manager' in service.srv_name:
            rig.robot.destroy_service(service)
    rig.wait(lambda: not manager.is_there(0.0))
    with pytest.raises(ServiceUnavailable, match="'controller_manager': it disappeared"):
        manager.release(3600.0)
