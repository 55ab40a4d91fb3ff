"""`cnoid_control_deadman`: stops the robot when the node that commands it goes silent.

It runs in a process of its own, so that it outlives whatever happens to the node: a crash,
SIGKILL, a stopped process, a call that holds the interpreter for ever.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import rclpy
from rclpy.node import Node

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import parse_parameters
from cnoid_control.ros.command_outlet import COMMAND_QOS
from cnoid_control.ros.controller_manager import ControllerManager
from cnoid_control.ros.deadman_takers import WARNING_PERIOD, DeadmanTakers
from cnoid_control.ros.exceptions import MalformedMessage, MissingInterfaces
from cnoid_control.ros.fast_path import open_inbox
from cnoid_control.ros.joint_state_decoder import JointStateDecoder
from cnoid_control.ros.joint_state_layout import find_layout
from cnoid_control.ros.node_arguments import given_parameters, given_priority
from cnoid_control.ros.parameter_schema import nested_values
from cnoid_control.ros.ros2_control_parameters import Ros2ControlParameters
from cnoid_control.ros.scheduling import request_realtime
from cnoid_control.ros.service_caller import ServiceCaller
from cnoid_control.ros.topic_reader import STATE_QOS
from cnoid_control.runtime.collector_rest import SWITCH_INTERVAL
from cnoid_control.runtime.deadman_parameters import PRIORITY, DeadmanParameters

LOOKS_PER_TIMEOUT = 10
# Time between two safe commands [s].
REPEAT_PERIOD = 0.01


class Deadman:
    """Watches one node, and commands and deactivates in its stead when it is silent.

    Messages on the node's `~/joint_commands` that come steadily arm it; an empty one, which the
    node sends when it stops in order, disarms it. The safe command holds measured positions and
    has no velocity and no effort.

    Attributes:
        armed: whether silence would mean that the node is dead.
        fired: how often it was.
    """

    def __init__(
        self, node: Node, parameters: DeadmanParameters, robot: Ros2ControlParameters
    ) -> None:
        """Subscribe.

        Args:
            node: the node to do it with; it is served by nobody.
            parameters: options.
            robot: how the robot's topics are used, as the watched node knows it.
        """
        from sensor_msgs.msg import JointState

        self.armed = False
        self.fired = 0
        self._node = node
        self._parameters = parameters
        self._robot = robot
        self._commands = open_inbox(
            node, JointState, f'{parameters.node}/joint_commands', COMMAND_QOS
        )
        self._states = open_inbox(node, JointState, robot.joint_states, STATE_QOS)
        self._caller = ServiceCaller(node.get_name(), node.get_namespace(), node.context)
        self._manager = ControllerManager(robot.controller_manager, self._caller)
        self._names: tuple[str, ...] = ()
        self._decoder: JointStateDecoder | None = None
        self._takers = DeadmanTakers(node, robot, self._find_manager, REPEAT_PERIOD)
        self._heard = self._looked = self._steady_since = time.monotonic()
        self._repeat_until = 0.0
        self._next_repeat = 0.0

    def run(self) -> None:
        """Watch until the context is gone."""
        pause = self._parameters.timeout / LOOKS_PER_TIMEOUT
        while self._node.context.ok():
            self.look()
            time.sleep(pause)

    def look(self) -> None:
        """Take what has come and decide."""
        now = time.monotonic()
        # Who was asleep himself cannot tell that others were silent.
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
                self._node.get_logger().info(f'{self._parameters.node!r} has stopped in order')
            self.armed = False
            # Who comes back may find another robot.
            self._names = ()
            self._takers.rest()
        elif not self.armed:
            if silence > self._parameters.timeout or names != self._names:
                self._steady_since = now
                self._get_to_know(names)
            if now - self._steady_since >= self._parameters.grace:
                self._arm(now)

    def _arm(self, now: float) -> None:
        """Begin to watch; who cannot act yet looks again for who takes commands."""
        if not self._takers.is_known:
            return
        outlets = self._takers.outlets
        reason = self._takers.problem
        if not reason and not any(outlet.reader_count for outlet in outlets):
            topics = ', '.join(outlet.topic for outlet in outlets) or 'no topic is known'
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
        self._takers.ask(names)

    def _find_manager(self) -> bool:
        try:
            return bool(self._robot.controller_manager) and self._manager.prepare_switch()
        except MissingInterfaces:
            return False

    def _fire(self, now: float) -> None:
        self.armed = False
        self.fired += 1
        self._repeat_until = now + self._parameters.repeat
        self._send()
        threading.Thread(target=self._deactivate, daemon=True).start()
        self._takers.rest()
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
        position_of = dict(zip(decoder.names, decoder.position, strict=True))
        for outlet in self._takers.outlets:
            values = np.zeros(len(outlet.joints))
            if outlet.interface == 'position':
                values[:] = [position_of[joint] for joint in outlet.joints]
            if np.isfinite(values).all():
                outlet.send_values(values, decoder.stamp)

    def _deactivate(self) -> None:
        names = [outlet.name for outlet in self._takers.outlets]
        if not names or not self._find_manager():
            return
        try:
            self._manager.switch([], names, strict=False)
            self._node.get_logger().error(f'deactivated: {", ".join(names)}')
        except CnoidControlError as error:
            self._node.get_logger().error(f'cannot deactivate {", ".join(names)}: {error}')

    def close(self) -> None:
        """Unsubscribe."""
        self._commands.close()
        self._states.close()
        self._takers.close()
        self._caller.close()


def main(args: Sequence[str] | None = None) -> int:
    """Run the dead-man until it is told to end; the exit status."""
    words = list(sys.argv if args is None else args)
    # Before the middleware's threads are there, which hear the commands: they inherit it.
    scheduling = request_realtime(_wanted_priority(words))
    rclpy.init(args=words)
    node = Node('cnoid_control_deadman', automatically_declare_parameters_from_overrides=True)
    values: dict[str, Any] = nested_values(node)
    try:
        parameters = parse_parameters(DeadmanParameters, values.get('deadman', {}), 'deadman')
        robot = parse_parameters(
            Ros2ControlParameters,
            values.get('hardware', {}).get('ros2_control', {}),
            'hardware.ros2_control',
        )
    except CnoidControlError as error:
        print(f'cnoid_control_deadman: {error}', file=sys.stderr)
        rclpy.try_shutdown()
        return 1
    node.get_logger().info(scheduling)
    deadman = Deadman(node, parameters, robot)
    # To go through all that is there by now, or to wait for another thread, takes too long.
    gc.freeze()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        deadman.run()
    except KeyboardInterrupt:
        pass
    finally:
        deadman.close()
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


def _wanted_priority(words: Sequence[str]) -> int:
    section = given_parameters(words).get('deadman', {})
    return given_priority(section if isinstance(section, dict) else {}, PRIORITY)


if __name__ == '__main__':
    sys.exit(main())
