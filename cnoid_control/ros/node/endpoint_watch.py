"""Watch on the other ends of the robot's topics."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

from cnoid_control.exceptions import describe
from cnoid_control.ros.node.command_echo import CommandEcho
from cnoid_control.ros.raw_dds import CONTEXT_ERRORS, RawSubscription, open_subscription
from cnoid_control.ros.robot.hardware import Ros2ControlHardware
from cnoid_control.ros.robot.joint_states import are_different, publishing_nodes
from cnoid_control.ros.robot.supervision_node import SupervisionNode
from cnoid_control.runtime.safety.watchdog import Watchdog

# Time between two checks [s].
PERIOD = 0.1
# Time after which the middleware has given up a process that was killed [s].
LEASE = 25.0
CLOCK = '/clock'
CLOCK_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


class EndpointWatch:
    """Tells the watchdog about publishers of joint states and receivers of commands.

    Joint states must come from one node. Each command topic must have a subscriber, and each
    command controller must be active where a controller_manager tells its activity. The clock of a
    simulator is watched where the watchdog has a time-out for it.
    """

    def __init__(
        self,
        node: Node,
        hardware: Ros2ControlHardware,
        watchdog: Watchdog,
        supervision: SupervisionNode,
        echo: CommandEcho | None = None,
    ) -> None:
        """Use a node; `start` begins to watch.

        Args:
            node: node that sees the topics.
            hardware: the robot.
            watchdog: told what is found.
            supervision: hears controller_manager.
            echo: looks whether somebody listens, if there is one.
        """
        self._node = node
        self._hardware = hardware
        self._watchdog = watchdog
        self._supervision = supervision
        self._echo = echo
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._end_activity: Callable[[], None] | None = None
        self._clock: RawSubscription | None = None
        self._has_subscribers = True
        # Nobody need receive what is not sent.
        self._is_dry_run = hardware.parameters.dry_run
        # When the joint states had one publisher last, monotonic clock [s].
        self._single_publisher_time = time.monotonic()

    def start(self) -> None:
        """Begin to watch."""
        self.stop()
        self._has_subscribers = True
        self._watchdog.subscribers_found(True)
        if self._watchdog.parameters.clock_timeout:
            from rosgraph_msgs.msg import Clock

            self._clock = open_subscription(self._node, Clock, CLOCK, CLOCK_QOS)
        # The node's executor may be busy with controllers that take long.
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(self._stop,), name='endpoints', daemon=True
        )
        self._thread.start()
        manager = self._hardware.parameters.controller_manager
        if manager and not self._is_dry_run:
            # Also where none was found: one may be started later. That its messages are not
            # installed was logged when it was looked for.
            with contextlib.suppress(ImportError):
                self._end_activity = self._supervision.watch_activity(
                    manager, self._check_activity
                )

    def stop(self) -> None:
        """Watch no more."""
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None
        if self._clock is not None:
            self._clock.close()
            self._clock = None
        if self._end_activity is not None:
            self._end_activity()
            self._end_activity = None

    def after_tick(self) -> None:
        """Check subscribers again if there were none, so that no time without one is too long.

        Called in the loop's thread.
        """
        if not self._has_subscribers:
            self._check_subscribers()

    def _run(self, stop: threading.Event) -> None:
        try:
            self._check_until(stop)
        finally:
            if self._echo is not None:
                # Nobody looks any more: who subscribes later must be heard.
                self._echo.has_readers = True

    def _check_until(self, stop: threading.Event) -> None:
        while not stop.wait(PERIOD):
            try:
                self._check()
            except CONTEXT_ERRORS:
                # The context is lost: the loop finds that out itself.
                return
            except Exception as error:
                self._watchdog.trip(
                    'topics', 'safe', f'topics cannot be watched: {describe(error)}'
                )
                return

    def _check(self) -> None:
        if not self._is_dry_run:
            self._check_subscribers()
        self._check_publishers()
        self._check_clock()
        if self._echo is not None:
            self._echo.look()

    def _check_clock(self) -> None:
        if self._clock is not None:
            self._watchdog.clock_found(self._clock.take() is not None)

    def _check_subscribers(self) -> None:
        publishers = self._hardware.command_publishers
        self._has_subscribers = all(publisher.reader_count for publisher in publishers)
        self._watchdog.subscribers_found(self._has_subscribers)

    def _check_publishers(self) -> None:
        topic = self._hardware.topic
        now = time.monotonic()
        count = self._node.count_publishers(topic)
        if count < 2:
            self._single_publisher_time = now
        elif now - self._single_publisher_time <= LEASE and not are_different(
            publishing_nodes(self._node, topic)
        ):
            # One in the place of another that was killed.
            count = 1
        self._watchdog.publishers_found(topic, count)

    def _check_activity(self, states: dict[str, str]) -> None:
        if self._hardware.is_halted:
            return  # a manager that is told to end at the same time is not somebody else
        manager = self._hardware.command_controllers.manager
        for publisher in self._hardware.command_publishers:
            if publisher.parameters.type == 'joint_state':
                continue  # no controller of the manager
            is_intended = manager is not None and publisher.name in manager.deactivated
            # One that is not listed is not even loaded any more.
            if states.get(publisher.name) != 'active' and not is_intended:
                self._watchdog.command_controller_lost(publisher.name)
