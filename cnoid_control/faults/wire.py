"""Observation of topics on the wire."""

from __future__ import annotations

import math
import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping

import numpy as np
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from cnoid_control.messages.joint_state import find_layout
from cnoid_control.ros.message_types import message_class
from cnoid_control.ros.raw_dds import open_subscription

EVERY_MESSAGE = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
    history=HistoryPolicy.KEEP_LAST,
    depth=2000,
)


class TopicTimes:
    """Notes when each message was sent, by its publisher's clock.

    That clock is the one on the wall of the machine that all of them run on. So it does not matter
    when this process gets round to a message.

    Attributes:
        times: when each message was sent, in that order [s].
    """

    def __init__(self, node: Node, kind: type, topic: str) -> None:
        """Subscribe.

        Args:
            node: node to subscribe with.
            kind: message class.
            topic: name of the topic.
        """
        self.times: list[float] = []
        self._subscription = open_subscription(node, kind, topic, EVERY_MESSAGE)
        self._is_open = True

    def poll(self) -> None:
        """Take what has come; now and then, from one thread.

        No more than fits into the queue: messages that come faster than they are looked at must
        not keep the thread from the other topics.
        """
        for _ in range(EVERY_MESSAGE.depth):
            if not self._is_open or (data := self._subscription.take()) is None:
                return
            sent = 1e-9 * self._subscription.sent_at
            self._look(data, sent)
            # Messages of several publishers come one publisher after the other.
            insort(self.times, sent)

    def _look(self, data: bytes, sent: float) -> None:
        """Look at a message that was sent then [s]."""

    def first_after(self, moment: float) -> float:
        """When the first message from a moment on was sent; infinite for never [s]."""
        place = bisect_left(self.times, moment)
        return self.times[place] if place < len(self.times) else math.inf

    def last_before(self, moment: float) -> float:
        """When the last message before a moment was sent; minus infinite for never [s]."""
        place = bisect_left(self.times, moment)
        return self.times[place - 1] if place else -math.inf

    def count_between(self, begin: float, end: float) -> int:
        """Number of messages that were sent after the one moment, up to the other."""
        return max(0, bisect_right(self.times, end) - bisect_right(self.times, begin))

    def end(self) -> None:
        """Have a `poll` that runs return, whatever has not been taken yet; from any thread."""
        self._is_open = False

    def close(self) -> None:
        """Unsubscribe; may be called more than once, in the thread that polls or after it."""
        self.end()
        self._subscription.close()


class TakeoverTimes(TopicTimes):
    """Subscribes all commands of the node, with the positions that are not in use too.

    The controller of the fault table commands efforts and leaves the position commands as they
    were. The safe state writes the posture that it holds there: the first message with other
    positions shows its first command.

    Attributes:
        changed: when the first message was sent whose positions were not those before, since
            `forget`; 0 for never [s].
    """

    def __init__(self, node: Node, topic: str) -> None:
        """Subscribe a topic of sensor_msgs/JointState messages."""
        from sensor_msgs.msg import JointState

        super().__init__(node, JointState, topic)
        self.changed = 0.0
        self._positions = b''
        # Length of the message that the place of the positions was learnt from.
        self._length = -1
        self._place = slice(0)

    def forget(self) -> None:
        """Wait for a change anew."""
        self.changed = 0.0

    def _look(self, data: bytes, sent: float) -> None:
        if len(data) != self._length:
            layout = find_layout(data)
            if not layout.names:
                return  # the node has ended cleanly
            begin = layout.arrays['position']
            self._place = slice(begin, begin + 8 * len(layout.names))
            self._length = len(data)
        positions = data[self._place]
        if self._positions not in (b'', positions) and not self.changed:
            self.changed = sent
        self._positions = positions


class WireCheck(TopicTimes):
    """Subscribes the commands of a forward controller.

    Attributes:
        bad: commands so far that had not one finite number within the limit for each joint.
        zeros: when the first was sent that had no effort at all, since `forget`; 0 for never.
    """

    def __init__(self, node: Node, topic: str, joints: int, limit: float) -> None:
        """Subscribe.

        Args:
            node: node to subscribe with.
            topic: topic of std_msgs/Float64MultiArray messages.
            joints: number of values that a command must have.
            limit: largest magnitude of a value.
        """
        from std_msgs.msg import Float64MultiArray

        super().__init__(node, Float64MultiArray, topic)
        self.bad = 0
        self.zeros = 0.0
        self._joints = joints
        self._limit = limit

    @property
    def count(self) -> int:
        """Commands so far."""
        return len(self.times)

    def forget(self) -> None:
        """Wait for zeros anew."""
        self.zeros = 0.0

    def _look(self, data: bytes, sent: float) -> None:
        size = 8 * self._joints
        # Behind the preamble: an empty layout (two counts), then the number of values.
        if len(data) < size + 4 or int.from_bytes(data[12:16], 'little') != self._joints:
            self.bad += 1
            return
        values = np.frombuffer(data, '<f8', self._joints, len(data) - size)
        if not (np.abs(values) <= self._limit).all():
            self.bad += 1
        if not values.any() and not self.zeros:
            self.zeros = sent


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
        """Wait for zero efforts and for a take-over again."""
        self.commands.forget()
        self.takeover.forget()

    def periods(self, begin: float, end: float) -> int:
        """Control periods of the robot that have begun between two moments [s], at least one.

        The robot's own states count; where it sends none, the clock does. A simulated robot that
        makes up for lost time sends more states than there are periods: these are one period.
        """
        states = self.topics[STATES]
        by_clock = math.ceil((end - begin) / self._period)
        if states.first_after(begin) > end:
            return max(1, by_clock)
        return 1 + min(states.count_between(begin, end), by_clock)

    def close(self) -> None:
        """Look no more and unsubscribe."""
        self._stop.set()
        for topic in self._all:
            topic.end()
        self._thread.join()
        for topic in self._all:
            topic.close()
