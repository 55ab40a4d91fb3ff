"""A simulated robot that fails on demand."""

from __future__ import annotations

import contextlib
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String

from cnoid_control.messages.cdr import NANOSECONDS, STAMP
from cnoid_control.messages.joint_state import find_layout
from cnoid_control.ros.raw_dds import RawPublisher
from cnoid_control.ros.sim import node as mujoco_node
from cnoid_control.ros.sim.controller_server import ControllerServer, controller_node
from cnoid_control.ros.sim.controllers import SimulatedController, SimulatedControllers
from cnoid_control.ros.sim.state import StatePublishers

# Name of its hardware component.
ROBOT = 'SR1'


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
        rate: float,
    ) -> None:
        """Join the robot's domain.

        Args:
            robot: the simulated robot's node.
            controllers: the controllers.
            call: runs a function in the simulation's thread.
            activated: told the names of the controllers that were activated.
            rate: rate of the controllers [Hz].
        """
        self._rate = rate
        self.server: ControllerServer | None = None
        self._robot = robot
        self._controllers = controllers
        self._call = call
        self._activated = activated
        self._broadcasting = [c.name for c in controllers if c.active and not c.interface]
        self._context = Context()
        self._nodes: dict[str, Node] = {}
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
        self.server = ControllerServer(
            host, self._controllers, self._call, self._activated, self._rate, ROBOT
        )
        executor = SingleThreadedExecutor(context=context)
        self._nodes = {c.name: controller_node(host, c) for c in self._controllers}
        nodes = [host, *self.server.nodes, *self._nodes.values()]
        for node in nodes:
            executor.add_node(node)

        def spin() -> None:
            with contextlib.suppress(ExternalShutdownException):
                executor.spin()
            for node in nodes:
                node.destroy_node()

        self._thread = threading.Thread(target=spin, name='controller manager', daemon=True)
        self._thread.start()

    def reload(self, controller: SimulatedController) -> None:
        """Tell the joints of a controller as they are now, and who is active."""
        joints = list(controller.joints)
        controller.parameters['joints'] = joints
        self._nodes[controller.name].set_parameters([Parameter('joints', value=joints)])
        if self.server is not None:
            self.server.publish_activity()

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


# Step of the stamps [s].
JUMP = 1
# Messages that are spoilt.
BURST = 20
# Copies of each message.
FLOOD = 10
# Time for which controller_manager is away [s].
MANAGER_DOWNTIME = 1.0


class CorruptingPublisher:
    """Publishes joint states that a fault has corrupted, delayed or repeated."""

    def __init__(self, publisher: RawPublisher) -> None:
        """Pass everything on to a publisher until `begin`."""
        self._publisher = publisher
        self._count = 0
        self._last = b''
        self._corrupt: Callable[[bytes], None] = self._pass
        self._faults: dict[str, Callable[[bytes], None]] = {
            '': self._pass,
            'slow': self._slow,
            'half': self._half,
            'jump': lambda data: self._pass(_shifted(data, JUMP)),
            'back': lambda data: self._pass(_shifted(data, -JUMP)),
            'reorder': self._reorder,
            'missing': self._burst(_without_last_joint),
            'nan': self._burst(lambda data: _with_value(data, np.nan)),
            'inf': self._burst(lambda data: _with_value(data, np.inf)),
            'truncate': self._burst(lambda data: data[: len(data) // 2]),
            'flood': self._flood,
        }

    def begin(self, fault: str) -> None:
        """Inject a fault from the next message on; an empty name for none."""
        self._count = 0
        self._corrupt = self._faults[fault]

    def send(self, data: bytes) -> bool:
        """Send a message as the fault leaves it."""
        self._count += 1
        if self._count == 1 and self._corrupt != self._pass:
            print(f'injected at {time.time_ns()}', flush=True)
        self._corrupt(data)
        self._last = data
        return True

    def _pass(self, data: bytes) -> None:
        self._publisher.send(data)

    def _slow(self, data: bytes) -> None:
        if self._count % 500 == 0:
            self._publisher.send(data)

    def _half(self, data: bytes) -> None:
        if self._count % 2:
            self._publisher.send(data)

    def _reorder(self, data: bytes) -> None:
        self._publisher.send(data)
        if self._count % 3 == 0:
            self._publisher.send(_shifted(self._last, 0, -5_000_000))

    def _burst(self, corrupt: Callable[[bytes], bytes]) -> Callable[[bytes], None]:
        def send(data: bytes) -> None:
            self._publisher.send(corrupt(data) if self._count <= BURST else data)

        return send

    def _flood(self, data: bytes) -> None:
        for _ in range(FLOOD):
            self._publisher.send(data)


class MutedSubscription:
    """Stands in for a subscription that was closed: nothing arrives."""

    lost = 0
    restarts = 0
    sent_at = 0

    def take(self) -> bytes | None:
        """Nothing."""
        return None

    def wait(self, timeout: float) -> None:
        """Sleep."""
        time.sleep(min(timeout, 0.01))

    def wake(self) -> None:
        """Nobody sleeps for long."""

    def close(self) -> None:
        """It is closed already."""


class FaultyRobot(mujoco_node.MujocoNode):
    """The MuJoCo node, with faults between it and the wire."""

    def __init__(self, **node: Any) -> None:
        """Build the node and listen to `fault`."""
        super().__init__(**node)
        self.create_subscription(String, 'fault', self._on_fault, 1)

    def _make_publishers(self) -> StatePublishers:
        publishers = super()._make_publishers()
        joints = publishers.joint_publishers[0]
        self._corrupter = CorruptingPublisher(joints.outbox)
        joints.outbox = self._corrupter  # type: ignore[assignment]
        return publishers

    def _serve_controllers(self) -> None:
        self._manager = RestartableManager(
            self,
            self.controllers,
            self.loop.call,
            self._forget_commands,
            1.0 / self.hardware.time_step,
        )
        self._server = self._manager.server

    def _on_fault(self, message: Any) -> None:
        if message.data == 'unsubscribe':
            self.loop.call(self._unsubscribe)
        elif message.data == 'reload_controller':
            threading.Thread(target=self._reload_controller, daemon=True).start()
        elif message.data == 'restart_manager':
            threading.Thread(target=self._restart_manager, daemon=True).start()
        else:
            self.loop.call(lambda: self._corrupter.begin(message.data))

    def _restart_manager(self) -> None:
        print(f'injected at {time.time_ns()}', flush=True)
        self._server = None
        self._manager.leave()
        time.sleep(MANAGER_DOWNTIME)
        self._manager.come_back()
        self._server = self._manager.server
        print('controller_manager is back', flush=True)

    def _reload_controller(self) -> None:
        """Load the effort controller anew, with its joints in another order."""
        controller = self.controllers['effort_controller']

        def change() -> None:
            controller.active = False
            controller.joints = controller.joints[::-1]
            source = self._inputs[controller.name]
            source.slots = source.slots[::-1].copy()
            source.forget()

        print(f'injected at {time.time_ns()}', flush=True)
        self.loop.call(change).result()
        self._manager.reload(controller)

    def _unsubscribe(self) -> None:
        closed = [source.subscription for source in self._inputs.values()]
        for source in self._inputs.values():
            source.subscription = MutedSubscription()

        def close() -> None:
            for subscription in closed:
                subscription.close()
            print(f'injected at {time.time_ns()}', flush=True)

        # The robot does not stand still meanwhile.
        threading.Thread(target=close, daemon=True).start()


def _shifted(data: bytes, seconds: int, nanoseconds: int = 0) -> bytes:
    """The same state with another stamp."""
    spoilt = bytearray(data)
    whole, part = struct.unpack_from('<iI', spoilt, STAMP)
    stamp = whole * NANOSECONDS + part + seconds * NANOSECONDS + nanoseconds
    struct.pack_into('<iI', spoilt, STAMP, *divmod(max(0, stamp), NANOSECONDS))
    return bytes(spoilt)


def _with_value(data: bytes, value: float) -> bytes:
    """The same state with one position that is something else."""
    spoilt = bytearray(data)
    layout = find_layout(data)
    struct.pack_into('<d', spoilt, layout.arrays['position'] + 8 * 3, value)
    return bytes(spoilt)


def _without_last_joint(data: bytes) -> bytes:
    """The same state, but for the last joint."""
    from rclpy.serialization import deserialize_message, serialize_message
    from sensor_msgs.msg import JointState

    message = deserialize_message(data, JointState)
    for field in ('name', 'position', 'velocity', 'effort'):
        setattr(message, field, list(getattr(message, field))[:-1])
    return bytes(serialize_message(message))


if __name__ == '__main__':
    sys.exit(mujoco_node.main(sys.argv, FaultyRobot))
