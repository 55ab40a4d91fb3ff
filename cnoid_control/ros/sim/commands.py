"""Commands that arrive for the simulated robot."""

from __future__ import annotations

import abc
import time

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from cnoid_control.body import Body
from cnoid_control.messages.commands import ArrayEncoder
from cnoid_control.messages.joint_state import JointStateDecoder
from cnoid_control.ros.message_types import read_message
from cnoid_control.ros.raw_dds import RawSubscription, open_subscription
from cnoid_control.ros.sim.controllers import SimulatedController

# Efforts that do not change for so long are meant to be constant [s]. A manager's own threads may
# be late by a second while its cycles go on.
CONSTANT_TIME = 2.0


class CommandInput(abc.ABC):
    """Commands for some joints by one interface.

    Attributes:
        name: name of the controller or topic that they come from.
        interface: name of the interface.
        subscription: where they arrive.
        slots: joint ids, in the order of the values.
        values: the last good command, shape (joints,); NaN where there is none yet.
        time: steady time of the last good command [s]; -inf before the first.
        refused: commands that were not finite or not readable.
        wrong_size: number of values of a command with too few or too many; -1 for none.
    """

    def __init__(
        self, name: str, interface: str, slots: np.ndarray, subscription: RawSubscription
    ) -> None:
        """Begin without a command."""
        self.name = name
        self.interface = interface
        self.subscription = subscription
        self.slots = slots
        self.values = np.full(len(slots), np.nan)
        self.time = -np.inf
        self.refused = 0
        self.wrong_size = -1

    @property
    def complete(self) -> bool:
        """Whether there is a command for every joint."""
        return bool(np.isfinite(self.values).all())

    @abc.abstractmethod
    def take(self) -> int:
        """Take over all commands that have come; returns how many were good."""

    @abc.abstractmethod
    def _drop(self) -> None:
        """Let go of all commands that have come."""

    def forget(self) -> None:
        """Drop what came so far: a controller that is activated begins without a command."""
        self._drop()
        self.values[:] = np.nan
        self.time = -np.inf
        self.wrong_size = -1


class ForwardInput(CommandInput):
    """The commands of one forward controller, in its own joint order.

    A command with a value that is not finite is dropped as a whole.
    """

    def __init__(
        self, node: Node, controller: SimulatedController, body: Body, qos: QoSProfile
    ) -> None:
        """Subscribe `<controller>/commands`."""
        slots = [body.joint(joint).joint_id for joint in controller.joints]
        subscription = open_subscription(
            node, Float64MultiArray, f'{controller.name}/commands', qos
        )
        super().__init__(controller.name, controller.interface, np.array(slots), subscription)
        whole = ArrayEncoder(len(slots)).encode(self.values)
        self._length, self._begin = len(whole), len(whole) - 8 * len(slots)
        self._head = whole[: self._begin]

    def take(self) -> int:
        """Take over all commands that have come; returns how many were good."""
        good = 0
        while (data := self.subscription.take()) is not None:
            if self._decode(data):
                good += 1
            else:
                self.refused += 1
        if good:
            self.time = time.monotonic()
        return good

    def _drop(self) -> None:
        while self.subscription.take() is not None:
            pass

    def _decode(self, data: bytes) -> bool:
        if len(data) == self._length and data.startswith(self._head):
            values = np.frombuffer(data, '<f8', len(self.values), self._begin)
        else:
            # A layout with labels, or another size.
            message = read_message(data, Float64MultiArray)
            if message is None:
                return False
            values = np.array(message.data)
            if len(values) != len(self.values):
                self.wrong_size = len(values)
                return False
        if not np.isfinite(values).all():
            return False
        self.values[:] = values
        return True


class TopicFeed:
    """The command topic of JointStateTopicSystem: all interfaces of all joints in a JointState.

    Attributes:
        subscription: where the messages arrive.
        decoder: the values of the last message.
        count: messages read so far.
    """

    def __init__(self, node: Node, topic: str, body: Body, qos: QoSProfile) -> None:
        """Subscribe the topic."""
        self.subscription = open_subscription(node, JointState, topic, qos)
        self.decoder = JointStateDecoder(body.joint_names)
        self.count = 0

    def poll(self) -> None:
        """Read all messages that have come."""
        while (data := self.subscription.take()) is not None:
            self.count += self.decoder.decode(data)


class TopicInput(CommandInput):
    """One controller's part of the messages of JointStateTopicSystem.

    A value that is not finite leaves its joint with the last good command: before a controller's
    first command that system sends such values.

    That system sends the last command again and again, whether a new one has come or not. Efforts
    that are the same as before are therefore no answer to a state, unless they stay the same for
    long: a robot that waits for answers would go on with efforts for another state.
    """

    def __init__(
        self,
        feed: TopicFeed,
        controller: SimulatedController,
        body: Body,
        repetitions_count: bool = False,
    ) -> None:
        """Share the feed with the other controllers.

        Args:
            feed: the messages.
            controller: the controller whose part it is.
            body: the robot.
            repetitions_count: whether efforts that are the same as before are answers.
        """
        slots = [body.joint(joint).joint_id for joint in controller.joints]
        super().__init__(controller.name, controller.interface, np.array(slots), feed.subscription)
        self._feed = feed
        self._seen = 0
        self._repetitions_count = repetitions_count or self.interface != 'effort'
        self._changed = -np.inf

    def take(self) -> int:
        """Take over the last command; returns how many messages have come."""
        self._feed.poll()
        fresh = self._feed.count - self._seen
        self._seen = self._feed.count
        if not fresh:
            return 0
        given = getattr(self._feed.decoder, self.interface)[self.slots]
        finite = np.isfinite(given)
        if not finite.all():
            self.values[finite] = given[finite]
            self.refused += 1
            return 0
        now = time.monotonic()
        if not np.array_equal(given, self.values):
            self.values[:] = given
            self._changed = now
        elif not self._repetitions_count and now - self._changed < CONSTANT_TIME:
            return 0
        self.time = now
        return fresh

    def _drop(self) -> None:
        self._feed.poll()
        self._seen = self._feed.count
