"""The root's pose and twist from a topic."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from rclpy.node import Node

from cnoid_control.body import Body
from cnoid_control.ros.robot.device_readers import TopicReader
from cnoid_control.ros.robot.sensor_decoders import OdometryDecoder


class OdometryReader(TopicReader):
    """Puts nav_msgs/Odometry messages into the root link of a body."""

    decoder: OdometryDecoder

    def __init__(self, node: Node, topic: str, body: Body, lock_step: bool, public: bool) -> None:
        """Subscribe.

        Args:
            node: node that subscribes.
            topic: relative or absolute name.
            body: the robot.
            lock_step: whether no message may be lost.
            public: use only public calls of rclpy.
        """
        self._root = body.root_link
        super().__init__(node, 'the root', topic, OdometryDecoder(), lock_step, public)

    def _apply(self) -> str:
        decoder, root = self.decoder, self._root
        length = np.linalg.norm(decoder.orientation)
        if not (np.isfinite(decoder.numbers[:7]).all() and abs(length - 1.0) < 0.1):
            return 'has a pose that is none'
        R = pin.Quaternion(decoder.orientation / length).toRotationMatrix()
        root.R = R
        root.p = decoder.position
        root.v = R @ np.nan_to_num(decoder.linear)
        root.w = R @ np.nan_to_num(decoder.angular)
        return ''
