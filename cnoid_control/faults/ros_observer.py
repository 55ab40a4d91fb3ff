"""A node that looks on and asks, beside the processes that a fault is injected into."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from cnoid_control.ros.robot.controller_manager import ControllerManager
from cnoid_control.ros.robot.supervision_node import SupervisionNode
from cnoid_control.runtime.realtime import QuietProcess

SERVICE_TIMEOUT = 60.0


class RosObserver:
    """Node on a ROS domain, served by a thread of its own.

    Attributes:
        node: the node.
        supervision: calls services.
    """

    def __init__(self, domain: int) -> None:
        """Join the domain; `start` begins to serve.

        Args:
            domain: the ROS domain.
        """
        self._stack = contextlib.ExitStack()
        context = Context()
        rclpy.init(context=context, domain_id=domain)
        self._stack.callback(rclpy.try_shutdown, context=context)
        self.node = Node('fault_injector', context=context, enable_rosout=False)
        self.supervision = SupervisionNode(self.node)
        self._stack.callback(self.supervision.close)

    def start(self) -> None:
        """Serve the node from now on."""
        executor = SingleThreadedExecutor(context=self.node.context)
        executor.add_node(self.node)
        stop = threading.Event()

        def serve() -> None:
            while not stop.is_set():
                executor.spin_once(timeout_sec=0.05)

        # Who looks on is busy: without this a call to the node would wait for it again and again.
        quiet = QuietProcess()
        quiet.begin()
        self._stack.callback(quiet.end)
        thread = threading.Thread(target=serve, name='fault injector', daemon=True)
        thread.start()
        self._stack.callback(thread.join)
        self._stack.callback(stop.set)

    def trigger(self, service: str) -> Any:
        """Call a std_srvs/Trigger service of the control node; the answer."""
        from std_srvs.srv import Trigger

        return self.supervision.call(
            Trigger, f'/cnoid_control/{service}', Trigger.Request(), SERVICE_TIMEOUT
        )

    def controllers(self) -> dict[str, str]:
        """States of controller_manager's controllers by name."""
        manager = ControllerManager('/controller_manager', self.supervision)
        return {name: state.state for name, state in manager.states().items()}

    def close(self) -> None:
        """Leave the domain."""
        self._stack.close()
