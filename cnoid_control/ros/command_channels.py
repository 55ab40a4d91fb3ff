"""Commands of the loop to the topics of their takers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from cnoid_control.body import Body
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
COMMAND_ARRAYS = {'effort': 'u', 'position': 'q_target', 'velocity': 'dq_target'}


class CommandChannel:
    """One taker of commands: where its values are in the body, and how they are sent.

    Attributes:
        name: name of the taker.
        interface: 'effort', 'position' or 'velocity'.
        joint_ids: ids of its joints, in its own order.
    """

    def __init__(
        self,
        node: Node,
        name: str,
        parameters: CommandParameters,
        joints: Sequence[str],
        body: Body,
        time_step: float,
    ) -> None:
        """Advertise the topic.

        Args:
            node: node that publishes.
            name: name of the taker.
            parameters: its options.
            joints: its joints, in its own order.
            body: the robot, whose commands are sent.
            time_step: period of the ticks [s].
        """
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray
        from trajectory_msgs.msg import JointTrajectory

        self.name = name
        self.interface = parameters.interface
        self.joint_ids = np.array([body.joint(joint).joint_id for joint in joints], np.intp)
        array = COMMAND_ARRAYS[self.interface]
        self._commands = body.joint_arrays[array]
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

    @property
    def topic(self) -> str:
        """Full name of the topic."""
        return self._outbox.topic

    @property
    def reader_count(self) -> int:
        """Number of subscriptions that the commands reach."""
        return self._outbox.reader_count

    def send(self, stamp: int) -> bool:
        """Send the commands in the body; `stamp` [ns] is that of the state they answer.

        Returns:
            False when the context is gone.
        """
        return self._outbox.send(self._encode(self._commands[self.joint_ids], stamp))

    def flush(self, timeout: float) -> bool:
        """Wait until the readers have the last command; False after the time-out [s]."""
        return self._outbox.flush(timeout)

    def close(self) -> None:
        """Stop advertising."""
        self._outbox.close()
