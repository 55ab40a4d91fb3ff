"""Echo of the commands, and a watch on who publishes states and receives commands."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from rclpy.node import Node

from cnoid_control.body.channels import BY_INTERFACE, CHANNELS
from cnoid_control.exceptions import describe
from cnoid_control.messages.commands import JointStateEncoder
from cnoid_control.ros.node.loop_statistics import LoopStatistics
from cnoid_control.ros.raw_dds import CONTEXT_ERRORS, RawPublisher
from cnoid_control.ros.robot.command_publisher import COMMAND_QOS
from cnoid_control.ros.robot.hardware import Ros2ControlHardware
from cnoid_control.ros.robot.joint_states import are_different, publishing_nodes
from cnoid_control.ros.robot.supervision_node import SupervisionNode
from cnoid_control.runtime.safety.watchdog import Watchdog

PERIOD = 0.1
FLUSH_TIMEOUT = 0.2
# Time after which the middleware has given up a process that was killed [s].
LEASE = 25.0


class CommandMonitor:
    """Publishes `~/joint_commands` each tick, and watches the robot's publishers and readers.

    `~/joint_commands` has the stamp of the state that the commands answer; while it arrives, the
    loop is alive. A message without joints says that it has ended cleanly.

    Attributes:
        statistics: how regularly the loop ticks.
    """

    def __init__(
        self,
        node: Node,
        hardware: Ros2ControlHardware,
        watchdog: Watchdog,
        supervision: SupervisionNode,
    ) -> None:
        """Advertise `~/joint_commands`; `start` begins to watch.

        Args:
            node: node that publishes.
            hardware: the robot.
            watchdog: told what is found.
            supervision: listens to controller_manager.
        """
        from sensor_msgs.msg import JointState

        body = hardware.body
        joints = [joint for joint in body.joints if joint.name]
        names = [joint.joint_name for joint in joints]
        ids = np.array([joint.joint_id for joint in joints], np.intp)
        self._encoder = JointStateEncoder(names, tuple(BY_INTERFACE))
        self._copies = [
            _copy(self._encoder.values[channel.interface], body.joint_arrays[channel.command], ids)
            for channel in CHANNELS
        ]
        self._end = JointStateEncoder((), ())
        self._publisher = RawPublisher(node, JointState, '~/joint_commands', COMMAND_QOS)
        self.statistics = LoopStatistics(hardware.time_step)
        self._node = node
        self._hardware = hardware
        self._watchdog = watchdog
        self._watch: threading.Thread | None = None
        self._end_watch = threading.Event()
        self._is_heard = True
        # When the joint states had one publisher last, steady clock [s].
        self._alone = time.monotonic()
        self._supervision = supervision
        self._end_activity: Callable[[], None] | None = None

    def start(self) -> None:
        """Begin to watch."""
        self.stop()
        self._is_heard = True
        self._watchdog.subscribers_found(True)
        # The node's executor may be busy with controllers that take long.
        self._end_watch = threading.Event()
        self._watch = threading.Thread(
            target=self._keep_looking, args=(self._end_watch,), name='topics', daemon=True
        )
        self._watch.start()
        given = self._hardware.parameters
        if given.controller_manager:
            # Also where none was found: one may be started later. That its messages are not
            # installed was logged when it was looked for.
            with contextlib.suppress(ImportError):
                self._end_activity = self._supervision.watch_activity(
                    given.controller_manager, self._active
                )

    def stop(self) -> None:
        """Watch no more."""
        if self._watch is not None:
            self._end_watch.set()
            self._watch.join()
            self._watch = None
        if self._end_activity is not None:
            self._end_activity()
            self._end_activity = None

    def end(self) -> None:
        """Say that the loop has ended cleanly: silence is no alarm any more."""
        self._publisher.send(self._end.encode(self._hardware.stamp))

    def flush(self) -> None:
        """Wait a short time until the readers have received it."""
        self._publisher.flush(FLUSH_TIMEOUT)

    def close(self) -> None:
        """Watch no more and stop advertising."""
        self.stop()
        self._publisher.close()

    def after_tick(self, duration: float) -> None:
        """Publish the commands of a tick; in the loop's thread."""
        hardware = self._hardware
        for copy in self._copies:
            copy()
        self._publisher.send(self._encoder.encode(hardware.stamp))
        if hardware.is_fresh:
            self.statistics.tick(hardware.arrival, duration, hardware.dt)
            self._watchdog.tick_took(duration, hardware.time_step)
        if not self._is_heard:
            # The time without a reader must not end a look too late.
            self._look_for_readers()

    def beat(self) -> None:
        """Publish the last commands again: no state has arrived, but the loop is alive."""
        self._publisher.send(self._encoder.encode(self._hardware.stamp))

    def _keep_looking(self, end: threading.Event) -> None:
        while not end.wait(PERIOD):
            try:
                self._look()
            except CONTEXT_ERRORS:
                # The context is lost: the loop finds that out itself.
                return
            except Exception as error:
                self._watchdog.trip(
                    'topics', 'safe', f'topics cannot be watched: {describe(error)}'
                )
                return

    def _look(self) -> None:
        hardware = self._hardware
        self._look_for_readers()
        now = time.monotonic()
        count = self._node.count_publishers(hardware.topic)
        if count < 2:
            self._alone = now
        elif now - self._alone <= LEASE and not are_different(
            publishing_nodes(self._node, hardware.topic)
        ):
            count = 1
        self._watchdog.publishers_found(hardware.topic, count)

    def _look_for_readers(self) -> None:
        self._is_heard = all(
            publisher.reader_count for publisher in self._hardware.command_publishers
        )
        self._watchdog.subscribers_found(self._is_heard)

    def _active(self, states: dict[str, str]) -> None:
        if self._hardware.is_halted:
            return  # a manager that is told to end at the same time is not somebody else
        manager = self._hardware.command_controllers.manager
        for publisher in self._hardware.command_publishers:
            if publisher.parameters.type == 'joint_state':
                continue  # no controller of the manager
            meant = manager is not None and publisher.name in manager.deactivated
            # One that is not listed is not even loaded any more.
            if states.get(publisher.name) != 'active' and not meant:
                self._watchdog.command_controller_lost(publisher.name)


def _copy(target: np.ndarray, source: np.ndarray, ids: np.ndarray) -> Callable[[], object]:
    """The cheapest call that writes these elements of the source to the target."""
    if np.array_equal(ids, np.arange(len(ids))):
        return partial(target.__setitem__, Ellipsis, source[: len(ids)])
    return partial(source.take, ids, None, target, 'clip')
