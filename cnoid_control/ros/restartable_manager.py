"""A simulated controller_manager that can go away and come back, as when its process restarts."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from cnoid_control.ros.sim_controller_server import ControllerServer, controller_node
from cnoid_control.ros.sim_controllers import SimulatedControllers


class RestartableManager:
    """The manager and its controllers' nodes as a participant of their own.

    Attributes:
        server: what is served; None while it is away.
    """

    def __init__(
        self,
        robot: Node,
        controllers: SimulatedControllers,
        call: Callable[[Callable[[], Any]], Future[Any]],
        activated: Callable[[Sequence[str]], None],
    ) -> None:
        """Join the robot's domain.

        Args:
            robot: the simulated robot's node.
            controllers: the controllers.
            call: runs a function in the simulation's thread.
            activated: told the names of the controllers that were activated.
        """
        self.server: ControllerServer | None = None
        self._robot = robot
        self._controllers = controllers
        self._call = call
        self._activated = activated
        self._broadcasting = [c.name for c in controllers if c.active and not c.interface]
        self._context = Context()
        self._thread = threading.Thread()
        self._serve()

    def _serve(self) -> None:
        context = self._context = Context()
        rclpy.init(context=context, domain_id=self._robot.context.get_domain_id())
        host = Node(
            '_controller_manager_host',
            namespace=self._robot.get_namespace(),
            context=context,
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self.server = ControllerServer(host, self._controllers, self._call, self._activated)
        executor = SingleThreadedExecutor(context=context)
        nodes = [host, *self.server.nodes, *(controller_node(host, c) for c in self._controllers)]
        for node in nodes:
            executor.add_node(node)

        def spin() -> None:
            with contextlib.suppress(ExternalShutdownException):
                executor.spin()
            for node in nodes:
                node.destroy_node()

        self._thread = threading.Thread(target=spin, name='controller manager', daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """Go away with everything: no controller is active any more, nobody answers."""

        def stop() -> None:
            for controller in self._controllers:
                controller.active = False

        self.server = None
        self._call(stop).result()
        rclpy.shutdown(context=self._context)
        self._thread.join()

    def come_back(self) -> None:
        """Be there again as at the start: what broadcasts is active, what commands is not."""

        def start() -> None:
            for name in self._broadcasting:
                self._controllers[name].active = True

        self._call(start).result()
        self._serve()
