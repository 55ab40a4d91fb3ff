"""The robot's URDF from the latched topic `robot_description`."""

from __future__ import annotations

import time

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from cnoid_control.ros.cdr import CdrCursor
from cnoid_control.ros.exceptions import MalformedMessage, NoRobotDescription
from cnoid_control.ros.fast_path import open_inbox

LATCHED_QOS = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
)


def wait_for_robot_description(node: Node, topic: str, timeout: float) -> str:
    """URDF text that somebody publishes, std_msgs/String, reliable and transient local.

    Args:
        node: node that subscribes; its executor is not needed.
        topic: relative or absolute name.
        timeout: longest wait [s].

    Raises:
        NoRobotDescription: it did not come in time.
    """
    from std_msgs.msg import String

    full_name = node.resolve_topic_name(topic)
    inbox = open_inbox(node, String, topic, LATCHED_QOS)
    deadline = time.monotonic() + timeout
    try:
        while time.monotonic() < deadline and node.context.ok():
            data = inbox.take()
            if data is not None:
                return CdrCursor(data).string()
            inbox.wait(0.1)
    except MalformedMessage as error:
        raise NoRobotDescription(full_name, timeout, str(error)) from error
    finally:
        inbox.close()
    if not node.context.ok():
        raise NoRobotDescription(full_name, timeout, 'the node is to end')
    publishers = node.count_publishers(full_name)
    reason = 'nothing was received' if publishers else 'nobody publishes it'
    raise NoRobotDescription(full_name, timeout, reason)
