"""Commands of the loop to the topics of their takers."""

from __future__ import annotations

from collections.abc import Sequence

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
        commands: the body's commands of that interface, by joint id.
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
        self.commands = body.joint_arrays[COMMAND_ARRAYS[self.interface]]

    def send(self, stamp: int) -> bool:
        """Send the commands in the body; `stamp` [ns] is that of the state they answer.

        Returns:
            False when the context is gone.
        """
        return self.send_values(self.commands[self.joint_ids], stamp)
