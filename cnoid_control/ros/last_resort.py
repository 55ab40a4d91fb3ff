"""A safe last command when the context, and all publishers with it, is gone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.node import Node

from cnoid_control.body import Body
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.ros.command_channels import CommandChannel
from cnoid_control.ros.command_outlet import CommandOutlet
from cnoid_control.ros.controller_manager import ControllerManager
from cnoid_control.ros.service_caller import ServiceCaller

# Longest wait for the takers of the commands to be found [s].
DISCOVERY_TIMEOUT = 5.0
# Time between two commands until all readers are found [s].
REPETITION = 0.02
FLUSH_TIMEOUT = 0.5


class LastResort:
    """Remembers what it takes to reach the robot once more, from a context of its own."""

    def __init__(self, node: Node, manager: str) -> None:
        """Take notes while the node's context is alive.

        Args:
            node: the node.
            manager: name of controller_manager; empty for none.
        """
        self._domain = node.context.get_domain_id()
        self._name = node.get_name()
        self._namespace = node.get_namespace()
        self._manager = manager

    def stop(
        self, channels: Sequence[CommandChannel], body: Body, activated: Sequence[str]
    ) -> list[str]:
        """Send the commands in the body and deactivate controllers.

        Args:
            channels: the takers of commands, which cannot send any more.
            body: the robot, with safe commands.
            activated: the controllers to deactivate.

        Returns:
            Names of the takers that have got the command.
        """
        context = Context()
        rclpy.init(context=context, domain_id=self._domain)
        node = Node(
            f'_{self._name}_last',
            namespace=self._namespace,
            context=context,
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )
        try:
            reached = [one.name for one in channels if self._send(node, one, body)]
            if activated:
                self._release(node, list(activated))
            return reached
        finally:
            node.destroy_node()
            rclpy.try_shutdown(context=context)

    def _send(self, node: Node, channel: CommandChannel, body: Body) -> bool:
        parameters = replace(channel.parameters, topic=channel.topic)
        outlet = CommandOutlet(node, channel.name, parameters, channel.joints, 0.1)
        deadline = time.monotonic() + DISCOVERY_TIMEOUT
        values: np.ndarray = channel.commands[channel.joint_ids]
        # Readers are found one after the other: the first one need not wait for the last.
        while time.monotonic() < deadline:
            sent = outlet.reader_count > 0 and outlet.send_values(values, 0)
            if sent and outlet.readers_seen >= channel.readers_seen:
                return outlet.flush(FLUSH_TIMEOUT)
            time.sleep(REPETITION)
        return outlet.readers_seen > 0

    def _release(self, node: Node, names: list[str]) -> None:
        caller = ServiceCaller(self._name, self._namespace, node.context)
        try:
            ControllerManager(self._manager, caller).switch([], names)
        except CnoidControlError as error:
            node.get_logger().error(f'cannot deactivate {", ".join(names)}: {error}')
        finally:
            caller.close()
