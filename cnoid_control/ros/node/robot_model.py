"""Robot model from a file or from robot_description."""

from __future__ import annotations

import time

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from cnoid_control.body import Body
from cnoid_control.body.formats.urdf import parse_urdf
from cnoid_control.messages.cdr import CdrCursor
from cnoid_control.messages.exceptions import MalformedMessage
from cnoid_control.ros.exceptions import RobotError
from cnoid_control.ros.node.parameters import NodeParameters
from cnoid_control.ros.raw_dds import open_subscription
from cnoid_control.ros.robot.joint_states import why_silent
from cnoid_control.runtime.config import RunConfig
from cnoid_control.runtime.defaults import BASES, make_robot, place_robot

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
        RobotError: it did not come in time.
    """
    from std_msgs.msg import String

    full_name = node.resolve_topic_name(topic)
    subscription = open_subscription(node, String, topic, LATCHED_QOS)
    deadline = time.monotonic() + timeout
    reason = ''
    try:
        while time.monotonic() < deadline and node.context.ok():
            data = subscription.take()
            if data is not None:
                return CdrCursor(data).string()
            subscription.wait(0.1)
    except MalformedMessage as error:
        reason = str(error)
    finally:
        subscription.close()
    raise RobotError(
        f'topic {full_name!r}: no robot description in {timeout:g} s: '
        f'{reason or why_silent(node, full_name)}; give a file as robot.model or the text as '
        'robot_description, or publish it latched'
    )


def find_robot(node: Node, config: RunConfig, parameters: NodeParameters) -> Body:
    """The robot in its start posture: of `robot_description`, else `robot.model`, else the topic.

    Raises:
        CnoidControlError: there is none, or none that can be read.
    """
    robot = config.parameters.robot
    text = parameters.robot_description
    source = 'parameter robot_description'
    if not text and (robot.model or robot.models):
        return make_robot(robot, config.folder, config.time_step)
    if not text:
        source = f'topic {parameters.robot_description_topic}'
        node.get_logger().info(f'waiting for {source}')
        text = wait_for_robot_description(
            node, parameters.robot_description_topic, parameters.robot_description_timeout
        )
    body = Body(parse_urdf(text, source, BASES[robot.base], config.folder), robot.name)
    place_robot(body, robot, config.time_step)
    return body
