"""Frames of a simulated robot in /tf."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin
from rclpy.node import Node
from rclpy.qos import QoSProfile

from cnoid_control.body import Body
from cnoid_control.messages.layouts import MessageBuffer, MessageLayout
from cnoid_control.ros.raw_dds import RawPublisher
from cnoid_control.ros.sim.devices import frame_of

WORLD = 'world'
AUTO = 'auto'


def frame_prefix(node: Node, given: str) -> str:
    """What the names of a robot's frames begin with: what was given, or the node's namespace."""
    if given != AUTO:
        return given
    namespace = node.get_namespace().strip('/')
    return f'{namespace}/' if namespace else ''


class Frame(NamedTuple):
    """A frame and the one that it is given in.

    Attributes:
        name: its name.
        parent: name of the other one.
        link: index of the link that it belongs to.
        parent_link: index of the link that the parent belongs to; -1 for the world.
        local: pose in its own link; None for that of the link.
    """

    name: str
    parent: str
    link: int
    parent_link: int
    local: np.ndarray | None = None


def robot_frames(body: Body, prefix: str, with_links: bool) -> list[Frame]:
    """The root in the world, and where wanted the links and the devices that are not at theirs."""
    root = body.root_link
    frames = []
    if f'{prefix}{root.name}' != WORLD:
        frames.append(Frame(f'{prefix}{root.name}', WORLD, root.index, -1))
    if not with_links:
        return frames
    for link in body.links:
        if link.parent is not None:
            parent = f'{prefix}{link.parent.name}'
            frames.append(Frame(f'{prefix}{link.name}', parent, link.index, link.parent.index))
    names = {frame.name for frame in frames}
    for device in body.devices:
        name = f'{prefix}{frame_of(device)}'
        # The gyroscope and the accelerometer of an IMU share a frame.
        if device.link is not None and name not in names:
            names.add(name)
            index = device.link.index
            frames.append(
                Frame(name, f'{prefix}{device.link.name}', index, index, device.T_local.copy())
            )
    return frames


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

        self._body = body
        self._frames = robot_frames(body, prefix, with_links)
        self._outbox = RawPublisher(node, TFMessage, '/tf', QoSProfile(depth=100))
        transforms = [
            {'header.frame_id': frame.parent, 'child_frame_id': frame.name}
            for frame in self._frames
        ]
        layout = MessageLayout('tf2_msgs/msg/TFMessage', {'transforms': transforms})
        self._buffer = MessageBuffer(layout, stamp='transforms.0.header.stamp')
        places = [f'transforms.{index}' for index in range(len(self._frames))]
        self._stamps = [self._buffer.view(f'{place}.header.stamp') for place in places]
        self._poses = [self._buffer.view(f'{place}.transform') for place in places]

    def publish(self, stamp: int) -> None:
        """Publish the present poses, with their stamp [ns]."""
        if not self._frames or not self._outbox.reader_count:
            return
        body = self._body
        if len(self._frames) > 1:
            body.calc_forward_kinematics()
        poses = [pin.SE3(np.asarray(link.R), np.asarray(link.p)) for link in body.links]
        for frame, target, stamped in zip(self._frames, self._poses, self._stamps, strict=True):
            if frame.local is not None:
                pose = pin.SE3(frame.local)
            else:
                pose = poses[frame.link]
                if frame.parent_link >= 0:
                    pose = poses[frame.parent_link].actInv(pose)
            target[:] = pin.SE3ToXYZQUAT(pose)
            stamped[:] = divmod(stamp, 10**9)
        self._outbox.send(self._buffer.encode(stamp))
