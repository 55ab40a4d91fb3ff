"""When somebody else began to command the robot, as the commands themselves show it."""

from __future__ import annotations

from rclpy.node import Node

from cnoid_control.ros.joint_state_layout import find_layout
from cnoid_control.ros.topic_times import TopicTimes


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

    def forget(self) -> None:
        """Wait for a change anew."""
        self.changed = 0.0

    def _look(self, data: bytes, sent: float) -> None:
        layout = find_layout(data)
        if not layout.names:
            return  # the node has ended in order
        begin = layout.arrays['position']
        positions = data[begin : begin + 8 * len(layout.names)]
        if self._positions not in (b'', positions) and not self.changed:
            self.changed = sent
        self._positions = positions
