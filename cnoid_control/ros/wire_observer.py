"""Sees from outside when a fault could be told and when it was answered."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping

from rclpy.node import Node

from cnoid_control.ros.message_types import message_class
from cnoid_control.ros.takeover_times import TakeoverTimes
from cnoid_control.ros.topic_times import TopicTimes
from cnoid_control.ros.wire_check import WireCheck

STATES = 'joint_states'
ACTIVITY = 'controller_manager/activity'
TYPES = {
    STATES: 'sensor_msgs/msg/JointState',
    ACTIVITY: 'controller_manager_msgs/msg/ControllerManagerActivity',
}
# Time between two looks at what has come [s]: the publishers' stamps count, not these looks.
POLL_PERIOD = 0.01


class WireObserver:
    """Notes the times of states, commands and activity, in a thread of its own.

    Attributes:
        commands: the commands to the forward controller.
        takeover: all commands of the node.
        topics: the other topics by name.
    """

    def __init__(
        self, node: Node, joints: int, limit: float, period: float, others: Mapping[str, str]
    ) -> None:
        """Subscribe and begin to look.

        Args:
            node: node to subscribe with.
            joints: number of values that a command must have.
            limit: largest magnitude of a value.
            period: control period of the robot [s].
            others: message types of more topics to note the times of, by topic.
        """
        self.commands = WireCheck(node, 'effort_controller/commands', joints, limit)
        self.takeover = TakeoverTimes(node, 'cnoid_control/joint_commands')
        self.topics = {
            topic: TopicTimes(node, message_class(kind), topic)
            for topic, kind in {**TYPES, **others}.items()
        }
        self._all = (self.commands, self.takeover, *self.topics.values())
        self._period = period
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name='wire observer', daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(POLL_PERIOD):
            for topic in self._all:
                topic.poll()

    def forget(self) -> None:
        """Wait for zeros and for another commander anew."""
        self.commands.forget()
        self.takeover.forget()

    def periods(self, begin: float, end: float) -> int:
        """Control periods of the robot that have begun between two moments [s], at least one.

        The robot's own states count; where it sends none, the clock does.
        """
        states = self.topics[STATES]
        if states.first_after(begin) > end:
            return max(1, math.ceil((end - begin) / self._period))
        return 1 + states.count_between(begin, end)

    def close(self) -> None:
        """Look no more and unsubscribe."""
        self._stop.set()
        self._thread.join()
        for topic in self._all:
            topic.close()
