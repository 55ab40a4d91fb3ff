"""Calls of services from any thread, without the help of the node's executor."""

from __future__ import annotations

import threading
import time
from typing import Any

from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from cnoid_control.ros.exceptions import ServiceUnavailable

# Time between looks whether a service that was called is still there [s].
LOOK_AGAIN = 0.1


class ServiceCaller:
    """A hidden node of its own that waits for the answers of services.

    The node of the robot may be busy with the very transition that calls: its executor cannot
    take the answer then. One call at a time; the loop thread never calls.
    """

    def __init__(self, name: str, namespace: str, context: Context) -> None:
        """Make the node, named after the one that calls."""
        self._node = Node(
            f'_{name}_calls',
            namespace=namespace,
            context=context,
            start_parameter_services=False,
            enable_rosout=False,
            use_global_arguments=False,
        )
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self._node)
        self._clients: dict[str, Any] = {}
        self._lock = threading.Lock()

    def is_there(self, kind: type, name: str, timeout: float) -> bool:
        """Whether somebody serves it within the time-out [s]."""
        with self._lock:
            return bool(self._client(kind, name).wait_for_service(timeout_sec=timeout))

    def call(self, kind: type, name: str, request: Any, timeout: float) -> Any:
        """Answer to a request.

        Raises:
            ServiceUnavailable: nobody serves it or there was no answer within the time-out [s],
                or it has gone in the meantime.
        """
        with self._lock:
            client = self._client(kind, name)
            if not client.wait_for_service(timeout_sec=timeout):
                raise ServiceUnavailable(name, 'nobody serves it', timeout)
            future = client.call_async(request)
            deadline = time.monotonic() + timeout
            while not future.done():
                left = deadline - time.monotonic()
                if not client.service_is_ready():
                    client.remove_pending_request(future)
                    raise ServiceUnavailable(name, 'it has gone without an answer')
                if left <= 0.0:
                    client.remove_pending_request(future)
                    raise ServiceUnavailable(name, 'there was no answer', timeout)
                # Not until the future is done: that leaves work behind for the next call, which
                # leaves more, and so on.
                self._executor.spin_once(timeout_sec=min(left, LOOK_AGAIN))
            return future.result()

    def _client(self, kind: type, name: str) -> Any:
        if name not in self._clients:
            self._clients[name] = self._node.create_client(kind, name)
        return self._clients[name]

    def close(self) -> None:
        """Remove the node."""
        with self._lock:
            self._executor.remove_node(self._node)
            self._executor.shutdown()
            self._node.destroy_node()
