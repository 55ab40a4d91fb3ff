"""Frames of a robot as tf has them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from cnoid_control.body import Body, Device
from cnoid_control.messages.layouts import MessageBuffer, MessageLayout

WORLD = 'world'
TF = 'tf2_msgs/msg/TFMessage'
# Topic of a log with what moves besides the robot.
THINGS = 'things'


def frame_of(device: Device) -> str:
    """Frame that a device's values are given in: its link where it sits at the link's origin."""
    link = device.link
    if link is None or not np.array_equal(device.T_local, np.eye(4)):
        return device.name
    return link.name


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


def world_frames(names: list[str]) -> MessageLayout:
    """tf2_msgs/TFMessage of frames in the world."""
    transforms = [{'header.frame_id': WORLD, 'child_frame_id': name} for name in names]
    return MessageLayout(TF, {'transforms': transforms})


class FrameMessage:
    """tf2_msgs/TFMessage of a robot, filled in again and again.

    Attributes:
        frames: what it tells of.
        layout: the message.
    """

    def __init__(self, body: Body, prefix: str = '', with_links: bool = True) -> None:
        """Lay the message out.

        Args:
            body: the robot.
            prefix: what the names of its frames begin with.
            with_links: whether the links and devices are among them, or the root alone.
        """
        self._body = body
        self.frames = robot_frames(body, prefix, with_links)
        transforms = [
            {'header.frame_id': frame.parent, 'child_frame_id': frame.name}
            for frame in self.frames
        ]
        self.layout = MessageLayout(TF, {'transforms': transforms} if transforms else {})
        if not transforms:
            return
        self._buffer = MessageBuffer(self.layout, stamp='transforms.0.header.stamp')
        places = [f'transforms.{index}' for index in range(len(self.frames))]
        self._stamps = [self._buffer.view(f'{place}.header.stamp') for place in places]
        self._poses = [self._buffer.view(f'{place}.transform') for place in places]

    def encode(self, stamp: int) -> bytes:
        """Bytes of the message with the body's present poses and a stamp [ns]."""
        body = self._body
        if len(self.frames) > 1:
            body.calc_forward_kinematics()
        poses = [pin.SE3(np.asarray(link.R), np.asarray(link.p)) for link in body.links]
        for frame, target, stamped in zip(self.frames, self._poses, self._stamps, strict=True):
            if frame.local is not None:
                pose = pin.SE3(frame.local)
            else:
                pose = poses[frame.link]
                if frame.parent_link >= 0:
                    pose = poses[frame.parent_link].actInv(pose)
            target[:] = pin.SE3ToXYZQUAT(pose)
            stamped[:] = divmod(stamp, 10**9)
        return self._buffer.encode(stamp)
