"""Commands of each tick as sensor_msgs/JointState on `~/joint_commands`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from rclpy.node import Node

from cnoid_control.body.channels import CHANNELS
from cnoid_control.body.copies import copy_call
from cnoid_control.messages.commands import JointStateEncoder
from cnoid_control.ros.raw_dds import RawPublisher
from cnoid_control.ros.robot.command_publisher import COMMAND_QOS
from cnoid_control.ros.robot.hardware import Ros2ControlHardware

FLUSH_TIMEOUT = 0.2
DRY_RUN_TOPIC = '~/dry_run_commands'


class CommandEcho:
    """Publishes the commands of each tick on `~/joint_commands`, for plots and the heartbeat.

    In a dry run, where nobody gets the commands, on `~/dry_run_commands`.

    The stamp is that of the state that the commands answer. While messages arrive, the loop is
    alive; a message without joints says that it has ended cleanly. Where nobody listens nothing is
    sent: who has subscribed is heard of at the next `look`.

    Attributes:
        has_readers: whether somebody listens, as far as is known.
    """

    def __init__(self, node: Node, hardware: Ros2ControlHardware) -> None:
        """Advertise the topic.

        Args:
            node: node that publishes.
            hardware: the robot, whose body has the commands.
        """
        from sensor_msgs.msg import JointState

        body = hardware.body
        joints = [joint for joint in body.joints if joint.name]
        ids = np.array([joint.joint_id for joint in joints], np.intp)
        self.has_readers = True
        self._hardware = hardware
        self._encoder = JointStateEncoder(
            [joint.joint_name for joint in joints], [channel.interface for channel in CHANNELS]
        )
        self._copies = [
            _copy(self._encoder.values[channel.interface], body.joint_arrays[channel.command], ids)
            for channel in CHANNELS
        ]
        self._last_message = JointStateEncoder((), ())
        # In a dry run on another topic: the heartbeat monitor must not wait for its end.
        topic = DRY_RUN_TOPIC if hardware.parameters.dry_run else '~/joint_commands'
        self._publisher = RawPublisher(node, JointState, topic, COMMAND_QOS)

    def publish(self) -> None:
        """Publish the commands in the body; in the loop's thread."""
        for copy in self._copies:
            copy()
        if self.has_readers:
            self.repeat()

    def look(self) -> None:
        """Find out whether somebody listens; not in the loop's thread."""
        self.has_readers = self._publisher.reader_count > 0

    def repeat(self) -> None:
        """Publish the last commands again: no state has arrived, but the loop is alive."""
        self._publisher.send(self._encoder.encode(self._hardware.stamp))

    def end(self) -> None:
        """Say that the loop has ended cleanly: silence is no alarm any more."""
        self._publisher.send(self._last_message.encode(self._hardware.stamp))

    def flush(self) -> None:
        """Wait a short time until the subscribers have received it."""
        self._publisher.flush(FLUSH_TIMEOUT)

    def close(self) -> None:
        """Stop advertising."""
        self._publisher.close()


def _copy(target: np.ndarray, source: np.ndarray, ids: np.ndarray) -> Callable[[], object]:
    """The cheapest call that writes these elements of the source to the target."""
    if np.array_equal(ids, np.arange(len(ids))):
        return copy_call(target, source[: len(ids)])
    return partial(source.take, ids, None, target, 'clip')
