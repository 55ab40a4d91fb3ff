"""Commands of the loop to the topics of their takers."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from rclpy.node import Node

from cnoid_control.body import Body
from cnoid_control.ros.command_outlet import CommandOutlet
from cnoid_control.ros.ros2_control_parameters import CommandParameters

COMMAND_ARRAYS = {'effort': 'u', 'position': 'q_target', 'velocity': 'dq_target'}


class CommandChannel(CommandOutlet):
    """One taker of commands: where its values are in the body, and how they are sent.

    Attributes:
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
        super().__init__(node, name, parameters, joints, time_step)
        self.joint_ids = np.array([body.joint(joint).joint_id for joint in joints], np.intp)
        self._body = body
        self._commands = body.joint_arrays[COMMAND_ARRAYS[self.interface]]
        self._idle = np.zeros(0, np.intp)

    def drive(self, joints: Collection[str], goes_on: bool) -> None:
        """Pass on the commands of these joints; the taker's other ones stay where they are.

        What the body holds for a joint that no controller commands may be a measured effort, or a
        posture of the model's. It is told the position that it has, no velocity and no effort.

        Args:
            joints: names of the joints that controllers command.
            goes_on: whether the taker has had commands up to now, positions that still count.
        """
        idle = [place for place, joint in enumerate(self.joints) if joint not in joints]
        self._idle = np.array(idle, np.intp)
        if self.interface == 'position' and not goes_on:
            ids = self.joint_ids[self._idle]
            self._commands[ids] = self._body.q[ids]

    def values(self) -> np.ndarray:
        """What its joints are told by the commands in the body, in its own order."""
        values = self._commands[self.joint_ids]
        if self.interface != 'position' and self._idle.size:
            values[self._idle] = 0.0
        return values

    def send(self, stamp: int) -> bool:
        """Send the commands in the body; `stamp` [ns] is that of the state they answer.

        Returns:
            False when the context is gone.
        """
        return self.send_values(self.values(), stamp)
