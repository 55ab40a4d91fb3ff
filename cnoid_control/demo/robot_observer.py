"""A look at a controlled robot from outside, through its topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from cnoid_control.demo.robot_sample import Sample

# An observer takes what it gets: nobody waits for it.
QOS = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
TOPICS_AT_A_TIME = 40


class RobotObserver:
    """Samples a robot's state, and times its controller, without taking part.

    Attributes:
        samples: what was seen, one for each call of `look` that found something new.
        latencies: time from publishing a joint state to publishing the commands that answer it,
            for those that were both seen [s].
    """

    def __init__(
        self,
        domain: int,
        joints: Sequence[str],
        root_topic: str,
        command_topic: str,
        force_topics: Sequence[str],
    ) -> None:
        """Subscribe.

        Args:
            domain: ROS domain of the robot.
            joints: joint names, in the order that samples are to have.
            root_topic: true pose of the root (nav_msgs/Odometry).
            command_topic: commands with the stamp of the state they answer
                (sensor_msgs/JointState).
            force_topics: force sensors (geometry_msgs/WrenchStamped).
        """
        self.samples: list[Sample] = []
        self.latencies: list[float] = []
        self._joints = list(joints)
        self._state: Any = None
        self._root: Any = None
        self._forces = np.zeros(len(force_topics))
        self._sent: dict[int, int] = {}
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._node = Node('observer', context=self._context)
        # rclpy's types do not know of callbacks that also take the message's time stamps.
        subscribe: Any = self._node.create_subscription
        subscribe(JointState, 'joint_states', self._on_state, QOS)
        subscribe(JointState, command_topic, self._on_command, QOS)
        subscribe(Odometry, root_topic, self._on_root, QOS)
        for i, topic in enumerate(force_topics):
            subscribe(WrenchStamped, topic, lambda message, i=i: self._on_force(i, message), QOS)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)

    def look(self, wait: float) -> Sample | None:
        """Take in what has come; the newest sample so far, None before there is any.

        Args:
            wait: longest time to wait for something to come [s].
        """
        self._executor.spin_once(timeout_sec=wait)
        for _ in range(TOPICS_AT_A_TIME):
            self._executor.spin_once(timeout_sec=0.0)
        if self._state is None or self._root is None:
            return None
        time = stamp_of(self._state) * 1e-9
        if not self.samples or time > self.samples[-1].time:
            self.samples.append(self._sample(time))
        return self.samples[-1]

    def close(self) -> None:
        """Unsubscribe."""
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    def _sample(self, time: float) -> Sample:
        place = dict(zip(self._state.name, self._state.position, strict=True))
        pose = self._root.pose.pose
        position, orientation = pose.position, pose.orientation
        return Sample(
            time,
            np.array([place[name] for name in self._joints]),
            np.array([position.x, position.y, position.z]),
            np.array([orientation.x, orientation.y, orientation.z, orientation.w]),
            self._forces.copy(),
        )

    def _on_state(self, message: Any, info: dict[str, int]) -> None:
        self._state = message
        self._sent[stamp_of(message)] = info['source_timestamp']
        if len(self._sent) > 10 * QOS.depth:
            del self._sent[next(iter(self._sent))]

    def _on_command(self, message: Any, info: dict[str, int]) -> None:
        sent = self._sent.pop(stamp_of(message), None)
        if sent is not None:
            self.latencies.append((info['source_timestamp'] - sent) * 1e-9)

    def _on_root(self, message: Any) -> None:
        self._root = message

    def _on_force(self, index: int, message: Any) -> None:
        self._forces[index] = message.wrench.force.z


def stamp_of(message: Any) -> int:
    """Stamp of a message with a header [ns]."""
    return message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
