"""The row of the simulated robot's messages: both sides publish the same."""

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from cnoid_control.bench.rows_served_robot import as_messages, from_templates
from cnoid_control.ros.raw_dds import open_subscription
from cnoid_control.ros.sim.assembly import state_qos
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.defaults import make_robot


def test_both_sides_publish_the_same(ros_domain):
    """The joint states of templates and of messages differ in the header alone."""
    import rclpy
    from rclpy.context import Context
    from rclpy.node import Node

    context = Context()
    rclpy.init(context=context, domain_id=ros_domain)
    node = Node('bench', context=context)
    config = load_config('sr1_pd')
    body = make_robot(config.parameters.robot, config.folder)
    works = [from_templates(node, body), as_messages(node, body)]
    messages = []
    for work, prefix in zip(works, ('raw', 'typed'), strict=True):
        inbox = open_subscription(node, JointState, f'{prefix}/joint_states', state_qos())
        data = None
        while data is None:
            work()
            inbox.wait(0.1)
            data = inbox.take()
        messages.append(deserialize_message(data, JointState))
    for field in ('name', 'position', 'velocity', 'effort'):
        assert list(getattr(messages[0], field)) == list(getattr(messages[1], field))
    node.destroy_node()
    rclpy.try_shutdown(context=context)
