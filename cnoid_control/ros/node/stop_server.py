"""Services that stop the robot, served whatever the node's executor is busy with."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from typing import Any

from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import Trigger

from cnoid_control.ros.raw_dds import CONTEXT_ERRORS

# Longest wait for an answer that is under way at the end [s].
END_TIMEOUT = 5.0


class StopServer:
    """A hidden node, with an executor and a thread of its own, that serves another node's stops.

    Controllers are brought up and let go in the other node's executor, which can take long.
    """

    def __init__(self, node: Node, answers: Mapping[str, Callable[[Any, Any], Any]]) -> None:
        """Serve from now on.

        Args:
            node: the node that the services belong to, by their names.
            answers: callbacks of std_srvs/Trigger by the names of the services below the node's.
        """
        self._node = Node(
            f'_{node.get_name()}_stops',
            namespace=node.get_namespace(),
            context=node.context,
            start_parameter_services=False,
            enable_rosout=False,
            use_global_arguments=False,
        )
        for name, answer in answers.items():
            self._node.create_service(Trigger, node.resolve_service_name(f'~/{name}'), answer)
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(self._node)
        self._stop = threading.Event()
        # To be woken by, with nothing to do.
        self._end = self._node.create_guard_condition(lambda: None)
        self._thread = threading.Thread(target=self._serve, name='stops', daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            while not self._stop.is_set() and self._node.context.ok():
                # An answer that cannot be sent, because who asked has gone, is no end.
                with contextlib.suppress(*CONTEXT_ERRORS):
                    self._executor.spin_once()

    def close(self) -> None:
        """Serve no more and remove the node; may be called more than once."""
        if self._stop.is_set():
            return
        self._stop.set()
        with contextlib.suppress(*CONTEXT_ERRORS):
            self._end.trigger()
        self._thread.join(END_TIMEOUT)
        with contextlib.suppress(*CONTEXT_ERRORS):
            self._executor.shutdown()
            self._node.destroy_node()
