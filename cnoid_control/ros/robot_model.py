"""The robot of a node: from its parameters, or from the latched topic."""

from __future__ import annotations

from rclpy.node import Node

from cnoid_control.body import Body, JointType
from cnoid_control.body.urdf_loader import parse_urdf
from cnoid_control.ros.node_parameters import NodeParameters
from cnoid_control.ros.robot_description import wait_for_robot_description
from cnoid_control.runtime.assembly import make_robot, place_robot
from cnoid_control.runtime.config import RunConfig


def find_robot(node: Node, config: RunConfig, parameters: NodeParameters) -> Body:
    """The robot in its start posture: of `robot_description`, else `robot.model`, else the topic.

    Raises:
        CnoidControlError: there is none, or none that can be read.
    """
    robot = config.parameters.robot
    text = parameters.robot_description
    source = 'parameter robot_description'
    if not text and robot.model:
        return make_robot(robot, config.folder)
    if not text:
        source = f'topic {parameters.robot_description_topic}'
        node.get_logger().info(f'waiting for {source}')
        text = wait_for_robot_description(
            node, parameters.robot_description_topic, parameters.robot_description_timeout
        )
    root = JointType(robot.root) if robot.root else None
    body = Body(parse_urdf(text, source, root, config.folder), robot.name)
    place_robot(body, robot)
    return body
