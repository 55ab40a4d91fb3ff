"""Values of joints to the topic of one taker of commands, in the message that it understands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from cnoid_control.ros.command_encoder import ArrayEncoder, JointStateEncoder, PointEncoder
from cnoid_control.ros.fast_path import Outbox
from cnoid_control.ros.ros2_control_parameters import CommandParameters

# It matches every reader; a command that is late is worth nothing: keep one.
COMMAND_QOS = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
)


class CommandOutlet:
    """Sends commands of one interface to one taker.

    Attributes:
        name: name of the taker.
        interface: 'effort', 'position' or 'velocity'.
        joints: its joints, in its own order.
        parameters: its options.
        topic: full name of the topic.
        readers_seen: number of subscriptions when they were counted last.
    """

    def __init__(
        self,
        node: Node,
        name: str,
        parameters: CommandParameters,
        joints: Sequence[str],
        time_step: float,
    ) -> None:
        """Advertise the topic.

        Args:
            node: node that publishes.
            name: name of the taker.
            parameters: its options.
            joints: its joints, in its own order.
            time_step: period of the commands [s].
        """
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray
        from trajectory_msgs.msg import JointTrajectory

        self.name = name
        self.parameters = parameters
        self.interface = parameters.interface
        self.joints = list(joints)
        self._encode: Callable[[np.ndarray, int], bytes]
        if parameters.type == 'forward':
            kind, topic = Float64MultiArray, f'{name}/commands'
            forward = ArrayEncoder(len(joints))
            self._encode = lambda values, stamp: forward.encode(values)
        elif parameters.type == 'trajectory':
            kind, topic = JointTrajectory, f'{name}/joint_trajectory'
            point = PointEncoder(joints, self.interface, time_step)
            self._encode = lambda values, stamp: point.encode(values)
        else:
            kind, topic = JointState, name
            state = JointStateEncoder(joints, [self.interface])
            self._encode = lambda values, stamp: state.encode_values(self.interface, values, stamp)
        self._outbox = Outbox(node, kind, parameters.topic or topic, COMMAND_QOS)
        self.topic = self._outbox.topic
        self.readers_seen = 0

    @property
    def reader_count(self) -> int:
        """Number of subscriptions that the commands reach."""
        self.readers_seen = self._outbox.reader_count
        return self.readers_seen

    def send_values(self, values: np.ndarray, stamp: int) -> bool:
        """Send one value a joint; `stamp` [ns] is that of the state they answer.

        Returns:
            False when the context is gone.
        """
        return self._outbox.send(self._encode(values, stamp))

    def flush(self, timeout: float) -> bool:
        """Wait until the readers have the last command; False after the time-out [s]."""
        return self._outbox.flush(timeout)

    def close(self) -> None:
        """Stop advertising."""
        self._outbox.close()
