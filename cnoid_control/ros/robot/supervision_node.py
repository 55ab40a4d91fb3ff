"""Supervision node: stop services, service calls and controller_manager's activity."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

from rclpy.client import Client
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_srvs.srv import Trigger

from cnoid_control.exceptions import describe
from cnoid_control.ros.exceptions import ServiceUnavailable
from cnoid_control.ros.message_types import read_message
from cnoid_control.ros.raw_dds import CONTEXT_ERRORS

ACTIVITY_QOS = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
# Time between two checks whether a service is there [s].
SERVICE_POLL = 0.02
# Time between two checks whether a service that was called is still there [s].
PRESENCE_POLL = 0.1
# Longest wait at the end for a callback in progress [s].
END_TIMEOUT = 2.0
# Pause after an error of the executor, which may come again at once [s].
ERROR_PAUSE = 0.01
# Least time between two messages about errors [s].
ERROR_PERIOD = 5.0


class SupervisionNode:
    """Hidden node with an executor and a thread of its own, beside another node.

    The other node's executor may be busy with the very transition that calls controller_manager
    or is to be stopped. Callbacks run in this node's thread. Callers wait in their own threads,
    any number of them at the same time, so that nothing that they wait for delays a stop.
    """

    def __init__(self, node: Node, name: str = '') -> None:
        """Start the thread.

        Args:
            node: the other node, whose namespace, remappings and logger are used.
            name: name that the hidden node's is made of; the other node's where empty.
        """
        self._owner = node
        self._node = Node(
            f'_{name or node.get_name()}_supervision',
            namespace=node.get_namespace(),
            context=node.context,
            start_parameter_services=False,
            enable_rosout=False,
            use_global_arguments=False,
        )
        self._clients: dict[str, Client] = {}
        self._lock = threading.Lock()
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(self._node)
        self._stop = threading.Event()
        # Has the executor return, with nothing to do; its own `wake` has it wait on.
        self._end = self._node.create_guard_condition(lambda: None)
        self._thread = threading.Thread(target=self._serve, name='supervision', daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            while not self._stop.is_set() and self._node.context.ok():
                try:
                    self._executor.spin_once()
                except CONTEXT_ERRORS:
                    # Whoever asked has gone, or another thread has destroyed what was waited for.
                    self._stop.wait(ERROR_PAUSE)
                except ExternalShutdownException:
                    raise
                except Exception as error:
                    # Without this thread nothing could be stopped.
                    self._owner.get_logger().error(
                        f'supervision: {describe(error)}', throttle_duration_sec=ERROR_PERIOD
                    )
                    self._stop.wait(ERROR_PAUSE)

    # --- stops --------------------------------------------------------------------------------

    def serve(self, name: str, answer: Callable[[Any, Any], Any]) -> None:
        """Serve a std_srvs/Trigger of that name below the other node's."""
        service = self._owner.resolve_service_name(f'~/{name}')
        self._node.create_service(Trigger, service, answer)

    # --- calls --------------------------------------------------------------------------------

    def is_there(self, kind: type, name: str, timeout: float) -> bool:
        """Whether somebody serves it within the time-out [s]; False at the end of the node."""
        deadline = time.monotonic() + timeout
        try:
            client = self._client(kind, name)
            while not client.service_is_ready():
                left = deadline - time.monotonic()
                if left <= 0.0 or self._has_ended(min(left, SERVICE_POLL)):
                    return False
        except CONTEXT_ERRORS:
            return False
        return True

    def call(self, kind: type, name: str, request: Any, timeout: float) -> Any:
        """Call a service and wait for its answer; not from a callback of this node.

        Args:
            kind: service class.
            name: its name, relative to the other node's namespace or absolute.
            request: the request.
            timeout: longest wait for the service, and then for the answer [s].

        Raises:
            ServiceUnavailable: nobody serves it or there was no answer in time, it disappeared
                in the meantime, or this node has ended.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError(f'{name!r} is called in the thread that takes the answer')
        if not self.is_there(kind, name, timeout):
            if self._has_ended():
                raise ServiceUnavailable(name, 'the node has ended')
            raise ServiceUnavailable(name, 'nobody serves it', timeout)
        answered = threading.Event()
        try:
            client = self._client(kind, name)
            future = client.call_async(request)
            future.add_done_callback(lambda _: answered.set())
            try:
                self._await_answer(client, name, answered, timeout)
            except ServiceUnavailable:
                client.remove_pending_request(future)
                raise
        except CONTEXT_ERRORS as error:
            raise ServiceUnavailable(name, 'the node has ended') from error
        return future.result()

    def _await_answer(
        self, client: Client, name: str, answered: threading.Event, timeout: float
    ) -> None:
        deadline = time.monotonic() + timeout
        while not answered.wait(max(0.0, min(deadline - time.monotonic(), PRESENCE_POLL))):
            if self._has_ended():
                raise ServiceUnavailable(name, 'the node has ended')
            if not client.service_is_ready():
                raise ServiceUnavailable(name, 'it disappeared without an answer')
            if time.monotonic() >= deadline:
                raise ServiceUnavailable(name, 'there was no answer', timeout)

    def _client(self, kind: type, name: str) -> Client:
        with self._lock:
            if name not in self._clients:
                service = self._owner.resolve_service_name(name)
                self._clients[name] = self._node.create_client(kind, service)
            return self._clients[name]

    def _has_ended(self, wait: float = 0.0) -> bool:
        """Whether nothing is served any more; waits so long [s] for the end."""
        return self._stop.wait(wait) or not self._node.context.ok()

    # --- activity -----------------------------------------------------------------------------

    def watch_activity(
        self, manager: str, changed: Callable[[dict[str, str]], None]
    ) -> Callable[[], None]:
        """Listen to controller_manager's activity.

        Args:
            manager: name of the controller_manager.
            changed: called in this node's thread with the state of each controller by name.

        Returns:
            A function that ends it: `changed` is not called any more once it has returned.

        Raises:
            ImportError: controller_manager_msgs is not installed.
        """
        from controller_manager_msgs.msg import ControllerManagerActivity

        told = threading.RLock()
        is_wanted = True

        def receive(data: bytes) -> None:
            activity = read_message(data, ControllerManagerActivity)
            with told:
                if activity is not None and is_wanted:
                    changed({one.name: one.state.label for one in activity.controllers})

        def end() -> None:
            nonlocal is_wanted
            with told:
                is_wanted = False
            with contextlib.suppress(*CONTEXT_ERRORS):
                self._node.destroy_subscription(subscription)

        topic = self._owner.resolve_topic_name(f'{manager}/activity')
        subscription = self._node.create_subscription(
            ControllerManagerActivity, topic, receive, ACTIVITY_QOS, raw=True
        )
        return end

    def close(self) -> None:
        """End all waits and the thread, and remove the node; may be called more than once."""
        if self._stop.is_set():
            return
        self._stop.set()
        with contextlib.suppress(*CONTEXT_ERRORS):
            self._end.trigger()
        self._thread.join(END_TIMEOUT)
        with contextlib.suppress(*CONTEXT_ERRORS):
            self._executor.shutdown(0.0)
            self._node.destroy_node()
