"""Frames of a simulated robot in /tf."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.qos import QoSProfile

from cnoid_control.body import Body
from cnoid_control.messages.frames import FrameMessage
from cnoid_control.ros.raw_dds import RawPublisher

AUTO = 'auto'


def frame_prefix(node: Node, given: str) -> str:
    """What the names of a robot's frames begin with: what was given, or the node's namespace."""
    if given != AUTO:
        return given
    namespace = node.get_namespace().strip('/')
    return f'{namespace}/' if namespace else ''


class FramePublisher:
    """Publishes the frames of a robot while somebody listens."""

    def __init__(self, node: Node, body: Body, prefix: str, with_links: bool) -> None:
        """Advertise /tf.

        Args:
            node: node to publish with.
            body: the robot.
            prefix: what the names of its frames begin with.
            with_links: whether the links and devices are among them, or the root alone.

        Raises:
            ImportError: the messages of tf are not installed.
        """
        from tf2_msgs.msg import TFMessage

        self._message = FrameMessage(body, prefix, with_links)
        self._outbox = RawPublisher(node, TFMessage, '/tf', QoSProfile(depth=100))

    def publish(self, stamp: int) -> None:
        """Publish the present poses, with their stamp [ns]."""
        if self._message.frames and self._outbox.reader_count:
            self._outbox.send(self._message.encode(stamp))
