"""Listener to the activity of controller_manager."""

from __future__ import annotations

import threading
from collections.abc import Callable

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from cnoid_control.ros.message_types import read_message
from cnoid_control.ros.raw_dds import open_subscription

ACTIVITY_QOS = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
# Longest wait in one piece [s].
WAIT_SLICE = 1.0


class ActivityWatch:
    """Listens to controller_manager/activity in its own thread."""

    def __init__(
        self,
        node: Node,
        manager: str,
        changed: Callable[[dict[str, str]], None],
        public: bool = False,
    ) -> None:
        """Subscribe and begin to wait.

        Args:
            node: node that subscribes.
            manager: name of the controller_manager.
            changed: called in that thread with the state of each controller by name.
            public: use only public calls of rclpy.
        """
        from controller_manager_msgs.msg import ControllerManagerActivity

        self._kind = ControllerManagerActivity
        self._changed = changed
        self._subscription = open_subscription(
            node, ControllerManagerActivity, f'{manager}/activity', ACTIVITY_QOS, public
        )
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name='activity', daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.is_set():
            self._subscription.wait(WAIT_SLICE)
            while (data := self._subscription.take()) is not None:
                activity = read_message(data, self._kind)
                if activity is not None:
                    self._changed({one.name: one.state.label for one in activity.controllers})

    def close(self) -> None:
        """End the thread and unsubscribe."""
        self._stop.set()
        self._subscription.wake()
        self._thread.join()
        self._subscription.close()
