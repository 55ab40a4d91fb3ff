"""Heartbeat monitor: holds the robot when the control node dies."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import rclpy
from rclpy.node import Node

from cnoid_control.body.channels import BY_INTERFACE
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.messages.exceptions import MalformedMessage
from cnoid_control.messages.joint_state import JointStateDecoder, find_layout
from cnoid_control.parameters import not_allowed, parse_parameters
from cnoid_control.ros.exceptions import (
    MissingInterfaces,
    ServiceUnavailable,
    UnusableController,
)
from cnoid_control.ros.node.control_node import given_parameters, given_priority
from cnoid_control.ros.node.parameters import nested_values
from cnoid_control.ros.raw_dds import open_subscription
from cnoid_control.ros.robot.command_controllers import ordered_joints
from cnoid_control.ros.robot.command_publisher import (
    COMMAND_QOS,
    STATES_UNTIL_OBEYED,
    CommandPublisher,
)
from cnoid_control.ros.robot.controller_manager import ControllerManager
from cnoid_control.ros.robot.device_readers import STATE_QOS
from cnoid_control.ros.robot.parameters import Ros2ControlParameters, command_options
from cnoid_control.ros.robot.supervision_node import SupervisionNode
from cnoid_control.ros.signals import catch_stop_signals, ignore_stop_signals
from cnoid_control.ros.start import init_ros
from cnoid_control.ros.transport import avoid_shared_memory
from cnoid_control.runtime.config import DEFAULT_RATE, PRIORITY, HeartbeatParameters
from cnoid_control.runtime.realtime import SWITCH_INTERVAL, request_realtime
from cnoid_control.runtime.safety.safe_command import final_values

# Time between two checks for changes, for managers that do not publish their activity [s].
REFRESH_PERIOD = 3.0
# Least time between two warnings of the same kind [s].
WARNING_PERIOD = 5.0
# How long controllers that are not found at once are looked for [s].
FINDING_TIME = 1.0
# Longest wait for the answer of a controller that is there [s].
ANSWER_TIME = 5.0
# Interfaces whose last command stays in force.
LASTING = tuple(name for name in BY_INTERFACE if final_values(name, np.zeros(0)) is None)
# Time after which no thread still uses a publisher that was replaced [s].
RETIREMENT = 0.1


class LastCommand:
    """What a command controller was told last, by whomever, to be told again."""

    def __init__(self, node: Node, publisher: CommandPublisher) -> None:
        """Listen to the commands of a publisher's controller."""
        self._publisher = publisher
        self._heard = open_subscription(node, publisher.kind, publisher.topic, COMMAND_QOS)
        self._last: bytes | None = None

    def repeat(self) -> None:
        """Send it again, where there was one."""
        self._last = self._heard.take() or self._last
        if self._last is not None:
            self._publisher.send_message(self._last)

    def close(self) -> None:
        """Unsubscribe."""
        self._heard.close()


class WatchedControllers:
    """Finds the command controllers in its own thread, again whenever it is asked.

    The result is kept up to date from then on, until `rest`.

    Attributes:
        publishers: one per command controller; replaced as a whole, never changed.
        last_commands: by name those whose last command is to stay in force.
        problem: why they cannot be relied on; empty where they can.
    """

    def __init__(
        self,
        node: Node,
        supervision: SupervisionNode,
        robot: Ros2ControlParameters,
        find_manager: Callable[[], bool],
        period: float,
    ) -> None:
        """Start the thread; `ask` tells it what to find.

        Args:
            node: node that publishes the commands.
            supervision: calls and hears controller_manager.
            robot: how the robot's topics are used.
            find_manager: whether controller_manager is there; called in the thread.
            period: time between two commands [s].
        """
        self.publishers: tuple[CommandPublisher, ...] = ()
        self.last_commands: dict[str, LastCommand] = {}
        self.problem = ''
        self._node = node
        self._options = command_options(robot)
        self._find_manager = find_manager
        self._period = period
        self._supervision = supervision
        self._manager = ControllerManager(robot.controller_manager, supervision, ANSWER_TIME)
        self._was_managed = False
        self._names: tuple[str, ...] = ()
        self._asked = 0
        self._answered = 0
        self._wake = threading.Event()
        self._end_activity: Callable[[], None] | None = None
        self._stop = threading.Event()
        if robot.controller_manager:
            self._begin_to_look(robot.controller_manager)
        self._thread = threading.Thread(target=self._run, name='command_controllers', daemon=True)
        self._thread.start()

    def _begin_to_look(self, manager: str) -> None:
        for name in self._options:
            if self._must_ask(name):
                # Discovery takes a while, and begins with the first look.
                self._manager.is_loaded(name, 0.0)
        # Where its messages are not installed, there is no manager for us.
        with contextlib.suppress(ImportError):
            self._end_activity = self._supervision.watch_activity(
                manager, lambda states: self._wake.set()
            )

    def ask(self, names: tuple[str, ...]) -> None:
        """Have the command controllers of these joints found again; does not wait for it."""
        self._names = names
        self._asked += 1
        self._wake.set()

    def rest(self) -> None:
        """Keep nothing up to date until the next `ask`."""
        self._names = ()

    @property
    def is_known(self) -> bool:
        """Whether the last `ask` was answered."""
        return self._answered == self._asked

    def _run(self) -> None:
        while True:
            self._wake.wait(REFRESH_PERIOD)
            self._wake.clear()
            if self._stop.is_set() or not self._node.context.ok():
                return
            # In this order: names that come in between are learnt once more.
            asked, names = self._asked, self._names
            if not names:
                continue
            is_new = asked != self._answered
            before = self.publishers
            try:
                self.publishers, self.problem = self._learn(names, is_new)
            except Exception as error:
                # Without this thread nothing would be watched, and nobody would be told.
                self.problem = f'{type(error).__name__}: {error}'
            self._answered = asked
            # At the end of the node, or of this one, others end as well.
            if self.problem and not is_new and self._names == names:
                self._node.get_logger().warning(
                    f'command controllers may have changed: {self.problem}',
                    throttle_duration_sec=WARNING_PERIOD,
                )
            self._retire([publisher for publisher in before if publisher not in self.publishers])

    def _learn(
        self, names: tuple[str, ...], is_new: bool
    ) -> tuple[tuple[CommandPublisher, ...], str]:
        """One publisher per command controller, and why they may be wrong; empty where not."""
        is_managed = self._find_manager()
        if self._was_managed and not is_managed:
            # Without it the order of the joints could only be guessed.
            return self.publishers, 'controller_manager has disappeared'
        self._was_managed = is_managed
        # What is only refreshed will be looked for again.
        deadline = time.monotonic() + (FINDING_TIME if is_new else 0.0)
        problem = ''
        known = {publisher.name: publisher for publisher in self.publishers}
        found = []
        for name, options in self._options.items():
            publisher = known.get(name)
            before = publisher.joints if publisher is not None else []
            ask = partial(self._ask_for_joints, name, deadline) if is_managed else None
            try:
                joints = ordered_joints(options, names, ask)
            except ServiceUnavailable as error:
                problem = str(error)
                joints = before
            if not joints and not is_new:
                # It may be out of sight for a moment; a command to nobody does no harm.
                joints = before
            if not joints or not set(joints) <= set(names):
                continue
            if publisher is None or publisher.joints != joints:
                publisher = CommandPublisher(self._node, name, options, joints, self._period)
                if options.interface in LASTING:
                    self._listen(publisher)
            found.append(publisher)
        return tuple(found), problem

    def _must_ask(self, name: str) -> bool:
        """Whether only the controller itself can tell the order of its joints."""
        options = self._options[name]
        return not options.joints and options.type != 'joint_state'

    def _ask_for_joints(self, name: str, deadline: float) -> list[str]:
        """Joints of a controller in its own order; none where it is not loaded or has none.

        Raises:
            ServiceUnavailable: it is there and did not answer.
        """
        if not self._manager.is_loaded(name, max(0.0, deadline - time.monotonic())):
            return []  # it cannot have the robot
        try:
            return self._manager.joints(name)
        except UnusableController:
            return []

    def _listen(self, publisher: CommandPublisher) -> None:
        """Keep what the controllers with this name are told."""
        before = self.last_commands.get(publisher.name)
        self.last_commands = {
            **self.last_commands,
            publisher.name: LastCommand(self._node, publisher),
        }
        if before is not None:
            self._stop.wait(RETIREMENT)
            before.close()

    def _retire(self, publishers: list[CommandPublisher]) -> None:
        if publishers:
            self._stop.wait(RETIREMENT)
        for publisher in publishers:
            publisher.close()

    def close(self) -> None:
        """End the thread and stop advertising."""
        self._stop.set()
        self._wake.set()
        self._thread.join()
        if self._end_activity is not None:
            self._end_activity()
        for last in self.last_commands.values():
            last.close()
        for publisher in self.publishers:
            publisher.close()


LOOKS_PER_TIMEOUT = 10
# Time between two safe commands [s].
REPEAT_PERIOD = 0.01
# Longest wait at the end for command controllers that are being deactivated [s].
END_TIMEOUT = 2.0


class HeartbeatMonitor:
    """Watches one node; when that falls silent, sends the safe command and deactivates.

    Messages on the node's `~/joint_commands` that arrive steadily arm it; an empty one, which the
    node sends when it stops cleanly, disarms it. The safe command holds measured positions, with
    no velocity, effort and stiffness; a damping stays as it was commanded last.

    Attributes:
        armed: whether silence would mean that the node is dead.
        fired: how often it has stopped the robot.
    """

    def __init__(
        self, node: Node, parameters: HeartbeatParameters, robot: Ros2ControlParameters
    ) -> None:
        """Subscribe.

        Args:
            node: node that subscribes and publishes; it needs no executor.
            parameters: options.
            robot: how the robot's topics are used, as the watched node knows it.
        """
        from sensor_msgs.msg import JointState

        self.armed = False
        self.fired = 0
        self._node = node
        self._parameters = parameters
        self._robot = robot
        self._commands = open_subscription(
            node, JointState, f'{parameters.node}/joint_commands', COMMAND_QOS
        )
        self._states = open_subscription(node, JointState, robot.joint_states, STATE_QOS)
        self._supervision = SupervisionNode(node)
        self._manager = ControllerManager(robot.controller_manager, self._supervision)
        self._names: tuple[str, ...] = ()
        self._decoder: JointStateDecoder | None = None
        self._controllers = WatchedControllers(
            node, self._supervision, robot, self._find_manager, REPEAT_PERIOD
        )
        self._heard = self._looked = self._steady_since = time.monotonic()
        self._repeat_until = 0.0
        self._next_repeat = 0.0
        self._deactivation: threading.Thread | None = None
        # Joint states since it has fired, and whether the command was passed on by then.
        self._states_seen = 0
        self._obeyed = threading.Event()

    def run(self, stop: threading.Event) -> None:
        """Watch until `stop` is set or the context is gone."""
        pause = self._parameters.timeout / LOOKS_PER_TIMEOUT
        while self._node.context.ok() and not stop.is_set():
            self.look()
            time.sleep(pause)

    def look(self) -> None:
        """Take the messages that have arrived and decide."""
        now = time.monotonic()
        # A monitor that was itself suspended cannot tell whether the node was silent.
        slept = now - self._looked > 0.5 * self._parameters.timeout
        self._looked = now
        data = self._commands.take()
        if data is not None:
            self._hear(data, now)
        elif self.armed and not slept and now - self._heard > self._parameters.timeout:
            self._fire(now)
        if now < self._repeat_until and now >= self._next_repeat:
            self._send()

    def _hear(self, data: bytes, now: float) -> None:
        try:
            names = find_layout(data).names
        except MalformedMessage:
            return
        silence, self._heard = now - self._heard, now
        self._repeat_until = 0.0
        if not names:
            if self.armed:
                self._node.get_logger().info(f'{self._parameters.node!r} has stopped cleanly')
            self.armed = False
            # A node that is started again may have another robot.
            self._names = ()
            self._controllers.rest()
        elif not self.armed:
            if silence > self._parameters.timeout or names != self._names:
                self._steady_since = now
                self._get_to_know(names)
            if now - self._steady_since >= self._parameters.grace:
                self._arm(now)

    def _arm(self, now: float) -> None:
        """Begin to watch, or look for command controllers again where nothing could be done."""
        if not self._controllers.is_known:
            return
        publishers = self._controllers.publishers
        reason = self._controllers.problem
        # It listens itself where the last command is to stay.
        heard = [one for one in publishers if one.interface not in LASTING]
        if not reason and not any(one.reader_count for one in heard):
            topics = ', '.join(one.topic for one in publishers) or 'no topic is known'
            reason = f'nobody would get the safe command ({topics})'
        if not reason:
            self.armed = True
            self._node.get_logger().info(f'watching {self._parameters.node!r}')
        else:
            self._node.get_logger().warning(
                f'cannot watch {self._parameters.node!r} yet: {reason}',
                throttle_duration_sec=WARNING_PERIOD,
            )
            self._steady_since = now
            self._get_to_know(self._names)

    def _get_to_know(self, names: tuple[str, ...]) -> None:
        if names != self._names:
            self._names = names
            self._decoder = JointStateDecoder(names)
        self._controllers.ask(names)

    def _find_manager(self) -> bool:
        try:
            return bool(self._robot.controller_manager) and self._manager.prepare_switch()
        except MissingInterfaces:
            return False

    def _fire(self, now: float) -> None:
        self.armed = False
        self.fired += 1
        # A slow manager needs its time: see `_deactivate`.
        patience = max(self._parameters.repeat, self._parameters.timeout)
        self._repeat_until = now + patience
        self._states_seen = 0
        self._obeyed.clear()
        self._send()
        self._deactivation = threading.Thread(
            target=self._deactivate, args=(patience,), daemon=True
        )
        self._deactivation.start()
        self._controllers.rest()
        self._node.get_logger().error(
            f'no commands of {self._parameters.node!r} for {1e3 * (now - self._heard):.3g} ms '
            f'(limit {1e3 * self._parameters.timeout:g} ms): the robot is stopped'
        )

    def _send(self) -> None:
        self._next_repeat = time.monotonic() + REPEAT_PERIOD
        decoder = self._decoder
        if decoder is None:
            return
        data = self._states.take()
        if data is not None:
            decoder.decode(data)
            self._states_seen += 1
            # One more: the first one has waited since the last time.
            if self._states_seen > STATES_UNTIL_OBEYED:
                self._obeyed.set()
        position_of = dict(zip(decoder.names, decoder.position, strict=True))
        for publisher in self._controllers.publishers:
            measured = np.array([position_of[joint] for joint in publisher.joints])
            values = final_values(publisher.interface, measured)
            if values is None:
                self._controllers.last_commands[publisher.name].repeat()
            elif np.isfinite(values).all():
                publisher.send_values(values, decoder.stamp)

    def _deactivate(self, patience: float) -> None:
        """Deactivate the command controllers once they have passed the safe command on.

        A manager deactivates before it updates: what was commanded last would stay in force.

        Args:
            patience: longest wait for that [s].
        """
        self._obeyed.wait(patience)
        names = [publisher.name for publisher in self._controllers.publishers]
        if not names or not self._find_manager():
            return
        try:
            self._manager.switch([], names, strict=False)
            self._node.get_logger().error(f'deactivated: {", ".join(names)}')
        except CnoidControlError as error:
            self._node.get_logger().error(f'cannot deactivate {", ".join(names)}: {error}')

    def close(self) -> None:
        """Finish a deactivation in progress, and unsubscribe."""
        self._commands.close()
        self._states.close()
        if self._deactivation is not None:
            self._deactivation.join(END_TIMEOUT)
        self._controllers.rest()
        # First: nobody waits for an answer any more.
        self._supervision.close()
        self._controllers.close()


def main(args: Sequence[str] | None = None) -> int:
    """Run the heartbeat monitor until it is told to end; the exit status."""
    words = list(sys.argv if args is None else args)
    avoid_shared_memory()
    # Before the middleware's threads are there, which hear the commands: they inherit it.
    scheduling = request_realtime(_wanted_priority(words))
    stop = catch_stop_signals()
    try:
        init_ros(words)
    except CnoidControlError as error:
        print(f'cnoid_control_heartbeat: {error}', file=sys.stderr)
        return 1
    node = Node('cnoid_control_heartbeat', automatically_declare_parameters_from_overrides=True)
    values: dict[str, Any] = nested_values(node)
    try:
        parameters = parse_parameters(
            HeartbeatParameters, values.get('heartbeat', {}), 'heartbeat'
        )
        rate = values.get('rate', DEFAULT_RATE)
        if not isinstance(rate, (int, float)) or not rate > 0.0:
            raise not_allowed('rate', rate, 'it must be a positive number')
        parameters = replace(parameters, timeout=parameters.limit(1.0 / rate))
        robot = parse_parameters(
            Ros2ControlParameters,
            values.get('hardware', {}).get('ros2_control', {}),
            'hardware.ros2_control',
        )
    except CnoidControlError as error:
        print(f'cnoid_control_heartbeat: {error}', file=sys.stderr)
        rclpy.try_shutdown()
        return 1
    node.get_logger().info(scheduling)
    heartbeat = HeartbeatMonitor(node, parameters, robot)
    # To go through all that is there by now, or to wait for another thread, takes too long.
    gc.freeze()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        heartbeat.run(stop)
    finally:
        heartbeat.close()
        node.destroy_node()
        rclpy.try_shutdown()
    ignore_stop_signals()
    return 0


def _wanted_priority(words: Sequence[str]) -> int:
    section = given_parameters(words).get('heartbeat', {})
    return given_priority(section if isinstance(section, dict) else {}, PRIORITY)


if __name__ == '__main__':
    sys.exit(main())
