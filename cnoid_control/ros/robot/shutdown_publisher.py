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
from cnoid_control.ros.robot.controller_manager import ControllerManager
from cnoid_control.ros.robot.supervision_node import SupervisionNode

# Longest wait for the command controllers to be discovered [s].
DISCOVERY_TIMEOUT = 5.0
# Time between two commands until all readers are discovered [s].
REPETITION = 0.02
FLUSH_TIMEOUT = 0.5


class ShutdownPublisher:
    """Publishes the safe command from a separate rclpy context when the node's own is gone.

    It advertises while all is well: discovery can take a second.
    """

    def __init__(self, node: Node, manager: str, obeyed_time: float = 0.0) -> None:
        """Keep the node's names while its context is alive; `advertise` makes the context.

        Args:
            node: the node.
            manager: name of controller_manager; empty for none.
            obeyed_time: time in which controllers have passed a command on [s]: so long it is
                repeated before they are deactivated.
        """
        self._obeyed_time = obeyed_time
        self._domain = node.context.get_domain_id()
        self._name = node.get_name()
        self._namespace = node.get_namespace()
        self._manager = manager
        self._node: Node | None = None
        self._publishers: dict[str, CommandPublisher] = {}

    def advertise(self, publishers: Sequence[JointCommandPublisher]) -> None:
        """Advertise the topics of these publishers too, where that is not done; may block."""
        node = self._open()
        for one in publishers:
            if one.name not in self._publishers:
                parameters = replace(one.parameters, topic=one.topic)
                self._publishers[one.name] = CommandPublisher(
                    node, one.name, parameters, one.joints, 0.1
                )

    def _open(self) -> Node:
        if self._node is not None and self._node.context.ok():
            return self._node
        self.close()
        context = Context()
        rclpy.init(context=context, domain_id=self._domain)
        self._node = Node(
            f'_{self._name}_shutdown',
            namespace=self._namespace,
            context=context,
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )
        return self._node

    def send(self, publishers: Sequence[JointCommandPublisher]) -> None:
        """Send the commands in the body in place of publishers that were advertised, at once."""
        for one in publishers:
            if one.name in self._publishers:
                self._publishers[one.name].send_values(one.values(), 0)

    def stop(
        self,
        publishers: Sequence[JointCommandPublisher],
        activated: Sequence[str],
        timeout: float,
    ) -> list[str]:
        """Send the commands in the body until they have arrived, and deactivate controllers.

        Args:
            publishers: the node's own publishers, which cannot send any more.
            activated: the controllers to deactivate.
            timeout: time that the manager has for it [s].

        Returns:
            Names of the command controllers that have received the command.
        """
        self.advertise(publishers)
        self.send(publishers)
        reached = [one.name for one in publishers if self._reach(one)]
        if activated:
            deadline = time.monotonic() + self._obeyed_time
            while time.monotonic() < deadline:
                time.sleep(min(REPETITION, self._obeyed_time))
                self.send(publishers)
            self._release(self._open(), list(activated), timeout)
        return reached

    def _reach(self, original: JointCommandPublisher) -> bool:
        publisher = self._publishers[original.name]
        deadline = time.monotonic() + DISCOVERY_TIMEOUT
        # Readers are found one after the other: the first one need not wait for the last.
        while publisher.reader_count < original.readers_seen or not publisher.readers_seen:
            if time.monotonic() > deadline:
                return publisher.readers_seen > 0
            time.sleep(REPETITION)
            self.send([original])
        self.send([original])
        return publisher.flush(FLUSH_TIMEOUT)

    def _release(self, node: Node, names: list[str], timeout: float) -> None:
        supervision = SupervisionNode(node, self._name)
        try:
            ControllerManager(self._manager, supervision).switch([], names, timeout=timeout)
        except CnoidControlError as error:
            node.get_logger().error(f'cannot deactivate {", ".join(names)}: {error}')
        finally:
            supervision.close()

    def close(self) -> None:
        """Remove the node and its context."""
        node, self._node = self._node, None
        self._publishers.clear()
        if node is not None:
            with contextlib.suppress(*CONTEXT_ERRORS):
                node.destroy_node()
            rclpy.try_shutdown(context=node.context)
