"""A tap on the wire between a robot in lock-step and the node: nothing passes it unseen."""

from __future__ import annotations

import threading

import numpy as np
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from cnoid_control.ros.raw_dds import RawPublisher, open_subscription

QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
# Who comes late gets the last state, as from the robot itself.
STATE_QOS = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
# What the robot's process is to be told, so that its wire ends here.
ROBOT_WORDS = (
    *('-r', 'joint_states:=robot/joint_states'),
    *('-r', 'effort_controller/commands:=robot/effort_controller/commands'),
)


class WireTap:
    """Hands the robot's states on to the node, and the node's commands to the robot.

    The robot waits for the command before it sends the next state, and the command is handed on
    when the node has shown on `~/joint_commands` which state it answers. So at no time more than
    one message of a topic is under way, and none can be overwritten before it is seen.

    Attributes:
        states: the robot's states as bytes; one that was repeated counts once.
        commands: the commands to the robot as bytes.
        shown: the messages of `~/joint_commands` as bytes; one that was repeated counts once.
    """

    def __init__(self, node) -> None:
        """Take both ends of the wire; the messages pass in a thread of their own."""
        self.states: list[bytes] = []
        self.commands: list[bytes] = []
        self.shown: list[bytes] = []
        self._to_node = RawPublisher(node, JointState, 'joint_states', STATE_QOS)
        self._to_robot = RawPublisher(
            node, Float64MultiArray, 'robot/effort_controller/commands', QOS
        )
        self._subscriptions = [
            open_subscription(node, kind, topic, QOS)
            for kind, topic in (
                (JointState, 'robot/joint_states'),
                (Float64MultiArray, 'effort_controller/commands'),
                (JointState, 'cnoid_control/joint_commands'),
            )
        ]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Let nothing pass any more, once the state under way is answered."""
        self._stop.set()
        self._thread.join(10.0)
        for subscription in self._subscriptions:
            subscription.close()

    def _run(self) -> None:
        states, commands, shown = self._subscriptions
        due = states
        while due is not states or not self._stop.is_set():
            due.wait(0.05)
            # While the node is not there, the robot repeats its first state.
            if (state := states.take()) is not None:
                if state not in self.states[-1:]:
                    self.states.append(state)
                self._to_node.send(state)
                due = commands
            if (command := commands.take()) is not None:
                self.commands.append(command)
                due = shown
            # Where a state is late, the node shows its last commands again.
            if (answer := shown.take()) is not None and answer not in self.shown[-1:]:
                self.shown.append(answer)
                self._to_robot.send(self.commands[-1])
                due = states

    @property
    def ticks(self) -> int:
        """Number of states that were answered."""
        return len(self.shown)

    def stamps(self) -> list[int]:
        """Stamps of the states [ns]."""
        return _stamps(self.states)

    def answered_stamps(self) -> list[int]:
        """Stamps of the states that were answered [ns]."""
        return _stamps(self.shown)

    def positions(self) -> np.ndarray:
        """Joint displacements [rad], shape (states, joints)."""
        return np.array([deserialize_message(one, JointState).position for one in self.states])

    def efforts(self) -> np.ndarray:
        """Commands [N m], shape (commands, joints)."""
        messages = [deserialize_message(one, Float64MultiArray) for one in self.commands]
        return np.array([message.data for message in messages])


def _stamps(messages: list[bytes]) -> list[int]:
    stamps = [deserialize_message(one, JointState).header.stamp for one in messages]
    return [stamp.sec * 10**9 + stamp.nanosec for stamp in stamps]
