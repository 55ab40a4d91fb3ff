"""One node commands a robot."""

from __future__ import annotations

import pytest
import rclpy
from rclpy.context import Context
from rclpy.node import Node
from robot_rig import QOS, RobotRig
from std_msgs.msg import Float64MultiArray

from cnoid_control.ros.exceptions import RobotError
from cnoid_control.ros.robot.joint_states import require_sole_commander

TOPIC = '/effort_controller/commands'


def test_a_robot_that_another_node_commands_is_refused(rig: RobotRig) -> None:
    """By the name of that node, before anything is sent; a dry run sends nothing."""
    other = rig.robot.create_publisher(Float64MultiArray, TOPIC, QOS)
    rig.wait(lambda: rig.node.count_publishers(TOPIC))
    with pytest.raises(RobotError, match='/robot already: one node commands a robot'):
        rig.open(rig.hardware())
    rig.silence()
    rig.open(rig.hardware(dry_run=True))
    rig.robot.destroy_publisher(other)
    hardware = rig.hardware()
    rig.open(hardware)


def test_a_monitor_is_not_another_commander(rig: RobotRig, ros_context) -> None:
    """Nor is what sends the last command without a context."""
    nodes = [
        Node(name, context=ros_context) for name in ('a_heartbeat', '_cnoid_control_shutdown')
    ]
    for node in nodes:
        node.create_publisher(Float64MultiArray, TOPIC, QOS)
    rig.wait(lambda: rig.node.count_publishers(TOPIC) == 2)
    require_sole_commander(rig.node, TOPIC, 0.0)
    for node in nodes:
        node.destroy_node()


def test_one_of_the_same_name_may_be_dead(rig: RobotRig, ros_domain: int) -> None:
    """It is waited for to vanish; one that stays is refused."""
    context = Context()
    rclpy.init(context=context, domain_id=ros_domain)
    twin = Node('cnoid_control', context=context)
    for node in (twin, rig.node):
        Node.create_publisher(node, Float64MultiArray, TOPIC, QOS)
    rig.wait(lambda: rig.node.count_publishers(TOPIC) == 2)
    with pytest.raises(RobotError, match='/cnoid_control already'):
        require_sole_commander(rig.node, TOPIC, 0.3)
    twin.destroy_node()
    rclpy.shutdown(context=context)
    require_sole_commander(rig.node, TOPIC, 20.0)
