"""The simulated robot as a node: what ros2_control would serve, from MuJoCo."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import String

from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.formats.robot_description import robot_description, to_text
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.hardware.mujoco.hardware import MujocoHardware
from cnoid_control.hardware.mujoco.parameters import MujocoParameters
from cnoid_control.parameters import not_allowed, parse_parameters
from cnoid_control.ros.config_folder import config_folder
from cnoid_control.ros.node.control_node import given_parameters, given_priority
from cnoid_control.ros.node.diagnostics import Diagnostics
from cnoid_control.ros.node.parameters import (
    NODE_KEYS,
    SIMULATION_KEYS,
    declare_schema,
    nested_values,
)
from cnoid_control.ros.robot.parameters import MEASURED, Ros2ControlParameters
from cnoid_control.ros.signals import catch_stop_signals, ignore_stop_signals
from cnoid_control.ros.sim.actuation import SimulatedActuation
from cnoid_control.ros.sim.assembly import (
    JOINT_STATE_BROADCASTER,
    broadcaster_name,
    command_qos,
    make_controllers,
    served_devices,
    state_qos,
    ticks_between,
)
from cnoid_control.ros.sim.commands import CommandInput, ForwardInput, TopicFeed, TopicInput
from cnoid_control.ros.sim.controller_server import (
    LATCHED,
    ControllerServer,
    controller_node,
    watch_activity,
)
from cnoid_control.ros.sim.devices import DeviceInputs, DevicePublisher, make_publisher
from cnoid_control.ros.sim.frames import FramePublisher, frame_prefix
from cnoid_control.ros.sim.loop import SimulationLoop
from cnoid_control.ros.sim.pacing import FREE, LOCKSTEP, Pacing
from cnoid_control.ros.sim.parameters import STRICTNESS, TOPIC, SimulationParameters
from cnoid_control.ros.sim.services import (
    REQUEST_TIMEOUT,
    SimulationDiagnostics,
    SimulationServices,
)
from cnoid_control.ros.sim.state import (
    ClockPublisher,
    JointStatePublisher,
    RootPublisher,
    SlowPublisher,
    StatePublishers,
)
from cnoid_control.ros.start import init_ros
from cnoid_control.ros.transport import avoid_shared_memory
from cnoid_control.runtime.config import parse_config
from cnoid_control.runtime.defaults import make_robot
from cnoid_control.runtime.realtime import QuietProcess, request_realtime

# Rate of ~/root and /tf where none is given [Hz].
ROOT_RATE = 100.0
# Time between looks for a signal that ends the process [s].
STOP_POLL = 0.1
# Longest wait, when told to end, for the controllers to be switched off [s].
SHUTDOWN_TIMEOUT = 2.0


class MujocoNode(Node):
    """Simulates the robot of a configuration and serves it as ros2_control would.

    The physics, the states and the commands are the loop's, in a thread of their own; services
    and parameters are served by the executor.

    Attributes:
        loop: the simulation.
        companions: the nodes of controller_manager and of the controllers.
    """

    def __init__(self, **node: Any) -> None:
        """Build the simulation from the node's parameters.

        Raises:
            CnoidControlError: the configuration cannot be simulated.
        """
        super().__init__(
            'cnoid_control_mujoco',
            allow_undeclared_parameters=True,
            automatically_declare_parameters_from_overrides=True,
            **node,
        )
        declare_schema(self, SimulationParameters)
        values = nested_values(self)
        own = {key: value for key, value in values.items() if key in SIMULATION_KEYS}
        self.parameters = parse_parameters(SimulationParameters, own)
        run = {key: value for key, value in values.items() if key not in NODE_KEYS}
        config = parse_config(run, 'cnoid_control_mujoco', config_folder(values))
        self.body = make_robot(config.parameters.robot, config.folder, config.time_step)
        physics = config.hardware.get('mujoco', MujocoParameters())
        self.hardware = MujocoHardware(self.body, physics, config.time_step)
        self._devices = served_devices(self.body, config.parameters.devices)
        robot = config.hardware.get('ros2_control', Ros2ControlParameters())
        self._is_root_read = bool(robot.odometry)
        self.controllers = make_controllers(
            self.body,
            robot,
            self._devices,
            self.parameters.active_controllers,
            self._interfaces(),
            STRICTNESS[self.parameters.default_strictness],
        )
        self._inputs = self._make_inputs()
        parameters = self.parameters
        hold_time = parameters.hold_time
        if hold_time < 0:
            # Behind a manager time must go on, and commands come whether they are answers or not.
            hold_time = 1.0 if parameters.pacing == FREE or parameters.interface == TOPIC else 0.0
        self.loop = SimulationLoop(
            self.hardware,
            SimulatedActuation(
                self.hardware, {device.name for device, _ in self._devices.values()}
            ),
            self._active_inputs,
            self._make_publishers(),
            Pacing(
                parameters.pacing,
                parameters.real_time_factor,
                parameters.command_timeout,
                config.time_step,
                parameters.command_age,
            ),
            hold_time,
            self._drop,
        )
        self._device_inputs = DeviceInputs(self, self.body, self.loop.call)
        self.companions: list[Node] = []
        self._server: ControllerServer | None = None
        if parameters.interface == TOPIC:
            self._activity = watch_activity(self, self.controllers, self._on_activity)
        else:
            self._serve_controllers()
            self._publish_description()
        self._services_of_simulation = SimulationServices(self, self.loop, parameters)
        watch = SimulationDiagnostics(self.loop, self._active_inputs)
        self._diagnostics = Diagnostics(self, watch.collect, watch.statistics, self.body.name)
        self._thread = threading.Thread(target=self._run, name='simulation', daemon=True)
        self._failure = ''

    def _interfaces(self) -> dict[str, Sequence[str]] | None:
        """Command interfaces of each joint; None for all: JointStateTopicSystem has no gains."""
        if self.parameters.interface != TOPIC:
            return None
        return dict.fromkeys(self.body.joint_names, MEASURED)

    def _make_inputs(self) -> dict[str, CommandInput]:
        qos = command_qos(self.parameters.pacing)
        forward = [controller for controller in self.controllers if controller.interface]
        if self.parameters.interface == TOPIC:
            for one in forward:
                if one.interface not in MEASURED:
                    raise not_allowed('interface', TOPIC, f'{one.name} needs {one.interface}')
            feed = TopicFeed(self, self.parameters.joint_commands_topic, self.body, qos)
            # A manager that goes by this robot's clock cannot answer while that stands still.
            clocked = self.parameters.clock_rate > 0
            return {c.name: TopicInput(feed, c, self.body, clocked) for c in forward}
        return {c.name: ForwardInput(self, c, self.body, qos) for c in forward}

    def _active_inputs(self) -> list[CommandInput]:
        return [self._inputs[controller.name] for controller in self.controllers.active_forward]

    def _make_publishers(self) -> StatePublishers:
        parameters, qos, dt = self.parameters, state_qos(), self.hardware.time_step
        topic = 'joint_states'
        if parameters.interface == TOPIC:
            topic = parameters.joint_states_topic
        prefix = frame_prefix(self, parameters.frame_prefix)
        joints = JointStatePublisher(self, self.body, topic, qos, prefix)
        devices = [
            (
                make_publisher(self, device, topic, qos, stream, prefix),
                self._is_active(broadcaster_name(topic)),
            )
            for topic, (device, stream) in self._devices.items()
        ]
        # Pictures cost: cameras look while somebody looks at them.
        publishers: dict[str, list[DevicePublisher]] = {}
        for publisher, _ in devices:
            publishers.setdefault(publisher.device.name, []).append(publisher)
        self.hardware.look_while(
            lambda name: any(one.outbox.reader_count for one in publishers[name])
        )
        slower: list[tuple[SlowPublisher, int]] = []
        if parameters.clock_rate > 0:
            slower.append((ClockPublisher(self, qos), ticks_between(parameters.clock_rate, dt)))
        if parameters.root_rate != 0.0:
            usual = parameters.root_rate if parameters.root_rate > 0.0 else ROOT_RATE
            ticks = ticks_between(usual, dt)
            follows = parameters.root_rate < 0.0 and parameters.pacing == LOCKSTEP
            every = 1 if follows and self._is_root_read else ticks
            slower.append((RootPublisher(self, self.body, qos, prefix), every))
            # Behind a controller_manager robot_state_publisher has the links.
            links = parameters.link_frames and parameters.interface != TOPIC
            try:
                slower.append((FramePublisher(self, self.body, prefix, links), ticks))
            except ImportError as error:
                self.get_logger().info(f'/tf is not published: {error}')
        joints_active = self._is_active(JOINT_STATE_BROADCASTER)
        return StatePublishers(self.body, [(joints, joints_active)], devices, slower)

    def _is_active(self, name: str) -> Any:
        for controller in self.controllers:
            if controller.name == name:
                return lambda: controller.active
        return lambda: True

    def _serve_controllers(self) -> None:
        self.companions = [controller_node(self, controller) for controller in self.controllers]
        try:
            self._server = ControllerServer(
                self,
                self.controllers,
                self.loop.call,
                self._forget_commands,
                1.0 / self.hardware.time_step,
                self.body.name,
            )
            self.companions += self._server.nodes
        except ImportError as error:
            first = next(c for c in self.controllers if c.interface)
            if not self.controllers.active_forward:
                first.active = True
            self.get_logger().warning(
                f'controllers cannot be switched ({error}); active: '
                f'{", ".join(c.name for c in self.controllers.active_forward)}'
            )

    def _on_activity(self, active: set[str]) -> None:
        """Drive the joints by the controllers that a real controller_manager has active."""

        def switch() -> None:
            started = [c.name for c in self.controllers if c.name in active and not c.active]
            for controller in self.controllers:
                if controller.interface:
                    controller.active = controller.name in active
            self._forget_commands(started)

        self.loop.call(switch)

    def _forget_commands(self, activated: Sequence[str]) -> None:
        for name in activated:
            if name in self._inputs:
                self._inputs[name].forget()

    def _drop(self, name: str, reason: str) -> None:
        self.get_logger().error(f'{name}: {reason}')
        self.controllers.fail(name)
        if self._server is not None:
            self._server.publish_activity()

    def _publish_description(self) -> None:
        # Meshes of a format that is not URDF are there as long as the node.
        self._folder = tempfile.TemporaryDirectory(prefix='cnoid_control_')
        try:
            robot = robot_description(self.body.description, Path(self._folder.name))
        except ModelError as error:
            self.get_logger().warning(f'no robot_description: {error}')
            return
        self._description = self.create_publisher(String, 'robot_description', LATCHED)
        self._description.publish(String(data=to_text(robot)))

    def start(self) -> None:
        """Begin to simulate."""
        self._thread.start()

    def _run(self) -> None:
        quiet = QuietProcess()
        quiet.begin()
        try:
            self.loop.run()
        except Exception as error:
            self._failure = f'{type(error).__name__}: {error}'
            self.get_logger().fatal(f'the simulation has failed: {self._failure}')
            self.context.try_shutdown()
        finally:
            quiet.end()
            # Cameras must be closed in the thread that has drawn their pictures.
            self.hardware.close()

    def finish(self) -> str:
        """End the simulation; returns what failed, empty for nothing."""
        self.loop.stop()
        if self._thread.is_alive():
            self._thread.join(REQUEST_TIMEOUT)
        return self._failure


def main(args: list[str] | None = None, make_node: Callable[[], MujocoNode] = MujocoNode) -> int:
    """Run the node until it is told to end; the exit status is 1 where it failed.

    Args:
        args: the words of the command line; those of the process where None.
        make_node: makes the node once ROS is there.
    """
    words = list(sys.argv if args is None else args)
    avoid_shared_memory()
    # Before the middleware's threads are there: they inherit it.
    scheduling = request_realtime(_wanted_priority(words))
    stop = catch_stop_signals()
    try:
        init_ros(words)
        node = make_node()
    except (CnoidControlError, ParameterException) as error:
        print(f'cnoid_control_mujoco: {error}', file=sys.stderr)
        rclpy.try_shutdown()
        return 1
    node.get_logger().info(scheduling)
    executor = SingleThreadedExecutor()
    for served in (node, *node.companions):
        executor.add_node(served)
    node.start()
    with contextlib.suppress(ExternalShutdownException):
        while not stop.is_set():
            executor.spin_once(timeout_sec=STOP_POLL)
        # Who was told to end at the same time wants to switch its controllers off.
        deadline = time.monotonic() + SHUTDOWN_TIMEOUT
        while node.controllers.active_forward and time.monotonic() < deadline:
            executor.spin_once(timeout_sec=STOP_POLL)
    failure = node.finish()
    ignore_stop_signals()
    rclpy.try_shutdown()
    return 1 if failure else 0


def _wanted_priority(words: Sequence[str]) -> int:
    """Real-time priority that the arguments ask for; 0 in lock-step, where nothing is late."""
    values = given_parameters(words)
    return 0 if values.get('pacing') == LOCKSTEP else given_priority(values)


if __name__ == '__main__':
    sys.exit(main())
