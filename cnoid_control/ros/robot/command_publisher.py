"""Publishers of commands, one per command controller."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from cnoid_control.body import Body
from cnoid_control.body.channels import BY_INTERFACE, POSITION
from cnoid_control.messages.commands import (
    ArrayEncoder,
    JointCommandEncoder,
    JointStateEncoder,
    PointEncoder,
)
from cnoid_control.ros.message_types import joint_command_type
from cnoid_control.ros.raw_dds import RawPublisher
from cnoid_control.ros.robot.dry_run import SilentPublisher
from cnoid_control.ros.robot.parameters import CommandParameters

# It matches every reader; a command that is late is worth nothing: keep one.
COMMAND_QOS = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
)

# Joint states after which a command has been passed on by its controller: the first may have been
# on its way, the second of a cycle that had begun before the command came.
STATES_UNTIL_OBEYED = 3


class CommandPublisher:
    """Sends commands of one interface to one command controller.

    Attributes:
        name: name of the command controller.
        interface: name of the interface.
        joints: its joints, in its own order.
        parameters: its options.
        kind: type of its messages.
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
        dry_run: bool = False,
    ) -> None:
        """Advertise the topic.

        Args:
            node: node that publishes.
            name: name of the command controller.
            parameters: its options.
            joints: its joints, in its own order.
            time_step: period of the commands [s].
            dry_run: whether nothing is advertised and nothing is sent.

        Raises:
            MissingInterfaces: the type of its messages is not installed.
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
        elif parameters.type == 'joint_command':
            kind, topic = joint_command_type(), f'{name}/commands'
            self._encode = JointCommandEncoder(joints, self.interface).encode
        else:
            kind, topic = JointState, name
            state = JointStateEncoder(joints, [self.interface])
            self._encode = lambda values, stamp: state.encode_values(self.interface, values, stamp)
        topic = parameters.topic or topic
        self.kind = kind
        self._publisher: RawPublisher | SilentPublisher
        if dry_run:
            self._publisher = SilentPublisher(node, topic)
        else:
            self._publisher = RawPublisher(node, kind, topic, COMMAND_QOS)
        self.topic = self._publisher.topic
        self.readers_seen = 0

    @property
    def reader_count(self) -> int:
        """Number of subscriptions that the commands reach."""
        self.readers_seen = self._publisher.reader_count
        return self.readers_seen

    def send_values(self, values: np.ndarray, stamp: int) -> bool:
        """Send one value per joint; `stamp` [ns] is that of the state they answer.

        Returns:
            False when the context is gone.
        """
        return self._publisher.send(self._encode(values, stamp))

    def send_message(self, data: bytes) -> bool:
        """Send a message that is there already; False when the context is gone."""
        return self._publisher.send(data)

    def flush(self, timeout: float) -> bool:
        """Wait until the readers have the last command; False after the time-out [s]."""
        return self._publisher.flush(timeout)

    def close(self) -> None:
        """Stop advertising the topic."""
        self._publisher.close()


class JointCommandPublisher(CommandPublisher):
    """Sends a body's commands to one command controller.

    Attributes:
        joint_ids: ids of its joints, in its own order.
        source: the array that holds the commands of all joints.
    """

    def __init__(
        self,
        node: Node,
        name: str,
        parameters: CommandParameters,
        joints: Sequence[str],
        body: Body,
        time_step: float,
        dry_run: bool = False,
    ) -> None:
        """Advertise the topic.

        Args:
            node: node that publishes.
            name: name of the command controller.
            parameters: its options.
            joints: its joints, in its own order.
            body: the robot, whose commands are sent.
            time_step: period of the ticks [s].
            dry_run: whether nothing is advertised and nothing is sent.
        """
        super().__init__(node, name, parameters, joints, time_step, dry_run)
        self.joint_ids = np.array([body.joint(joint).joint_id for joint in joints], np.intp)
        self._body = body
        self.source: np.ndarray = body.joint_arrays[BY_INTERFACE[self.interface].command]
        self._idle = np.zeros(0, np.intp)
        # Where its joints lie; a slice is quicker than the same indices in an array.
        self._places: slice | np.ndarray = self.joint_ids
        if np.array_equal(self.joint_ids, np.arange(len(joints))):
            self._places = slice(len(joints))
        self._has_idle = False

    def drive(self, joints: Collection[str], goes_on: bool) -> None:
        """Pass on the commands of these joints; other joints of the controller are held.

        What the body holds for a joint that no controller commands may be a measured effort, or a
        posture of the model's. It is told the position that it has, and zero of everything else.

        Args:
            joints: names of the joints that controllers command.
            goes_on: whether the controller was in use already: its held positions stay.
        """
        idle = [place for place, joint in enumerate(self.joints) if joint not in joints]
        self._idle = np.array(idle, np.intp)
        self._has_idle = self.interface != POSITION.interface and bool(idle)
        if self.interface == POSITION.interface and not goes_on:
            ids = self.joint_ids[self._idle]
            self.source[ids] = self._body.q[ids]

    def values(self) -> np.ndarray:
        """The commands of its joints, in the order of `joints`; perhaps a view of the body's."""
        values = self.source[self._places]
        if self._has_idle:
            values = values.copy()
            values[self._idle] = 0.0
        return values

    def send(self, stamp: int) -> bool:
        """Send the commands in the body; `stamp` [ns] is that of the state they answer.

        Returns:
            False when the context is gone.
        """
        return self.send_values(self.values(), stamp)
