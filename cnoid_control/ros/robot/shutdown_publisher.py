"""Publishes the safe command from a separate rclpy context when the node's own is gone."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace

import rclpy
from rclpy.context import Context
from rclpy.node import Node

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.ros.raw_dds import CONTEXT_ERRORS
from cnoid_control.ros.robot.command_publisher import CommandPublisher, JointCommandPublisher
from cnoid_control.ros.robot.controller_manager import ControllerManager, ServiceCaller

# Longest wait for the takers of the commands to be found [s].
DISCOVERY_TIMEOUT = 5.0
# Time between two commands until all readers are found [s].
REPETITION = 0.02
FLUSH_TIMEOUT = 0.5


class ShutdownPublisher:
    """A second way to the robot, from a context of its own, that is only used at the end.

    It is opened while all is well: to be found by the robot can take a second.
    """

    def __init__(self, node: Node, manager: str) -> None:
        """Take notes while the node's context is alive; nothing is opened yet.

        Args:
            node: the node.
            manager: name of controller_manager; empty for none.
        """
        self._domain = node.context.get_domain_id()
        self._name = node.get_name()
        self._namespace = node.get_namespace()
        self._manager = manager
        self._node: Node | None = None
        self._outlets: dict[str, CommandPublisher] = {}

    def switch_hold(self, channels: Sequence[JointCommandPublisher]) -> None:
        """Advertise the commands of these takers, where that is not done; not in the loop."""
        node = self._open()
        for one in channels:
            if one.name not in self._outlets:
                parameters = replace(one.parameters, topic=one.topic)
                outlet = CommandPublisher(node, one.name, parameters, one.joints, 0.1)
                self._outlets[one.name] = outlet

    def _open(self) -> Node:
        if self._node is not None and self._node.context.ok():
            return self._node
        self.close()
        context = Context()
        rclpy.init(context=context, domain_id=self._domain)
        self._node = Node(
            f'_{self._name}_last',
            namespace=self._namespace,
            context=context,
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )
        return self._node

    def send(self, channels: Sequence[JointCommandPublisher]) -> None:
        """Send the commands in the body to takers that it stands by for, at once."""
        for one in channels:
            if one.name in self._outlets:
                self._outlets[one.name].send_values(one.values(), 0)

    def stop(
        self, channels: Sequence[JointCommandPublisher], activated: Sequence[str]
    ) -> list[str]:
        """Send the commands in the body until they have arrived, and deactivate controllers.

        Args:
            channels: the takers of commands, which cannot send any more.
            activated: the controllers to deactivate.

        Returns:
            Names of the takers that have got the command.
        """
        self.switch_hold(channels)
        self.send(channels)
        reached = [one.name for one in channels if self._reach(one)]
        if activated:
            self._release(self._open(), list(activated))
        return reached

    def _reach(self, channel: JointCommandPublisher) -> bool:
        outlet = self._outlets[channel.name]
        deadline = time.monotonic() + DISCOVERY_TIMEOUT
        # Readers are found one after the other: the first one need not wait for the last.
        while outlet.reader_count < channel.readers_seen or not outlet.readers_seen:
            if time.monotonic() > deadline:
                return outlet.readers_seen > 0
            time.sleep(REPETITION)
            self.send([channel])
        self.send([channel])
        return outlet.flush(FLUSH_TIMEOUT)

    def _release(self, node: Node, names: list[str]) -> None:
        caller = ServiceCaller(self._name, self._namespace, node.context)
        try:
            ControllerManager(self._manager, caller).switch([], names)
        except CnoidControlError as error:
            node.get_logger().error(f'cannot deactivate {", ".join(names)}: {error}')
        finally:
            caller.close()

    def close(self) -> None:
        """Give the second way up."""
        node, self._node = self._node, None
        self._outlets.clear()
        if node is not None:
            with contextlib.suppress(*CONTEXT_ERRORS):
                node.destroy_node()
            rclpy.try_shutdown(context=node.context)
