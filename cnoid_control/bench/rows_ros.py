"""What a tick costs on ROS: states and devices in, commands out, against rclpy as it comes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from cnoid_control.bench.row import BenchRow, Work
from cnoid_control.body import StateFlag
from cnoid_control.ros.robot.parameters import CommandParameters

FORCE, GYRO = 'right_foot/wrench', 'imu/data'
CONTROLLER = 'effort_controller'


class RobotTopics:
    """A robot of SR1's size: three topics out, one in, all as bytes."""

    def __init__(self, node: Any, prefix: str, names: list[str]) -> None:
        """Advertise and subscribe below a prefix."""
        from geometry_msgs.msg import WrenchStamped
        from rclpy.serialization import serialize_message
        from sensor_msgs.msg import Imu, JointState
        from std_msgs.msg import Float64MultiArray

        from cnoid_control.messages.commands import JointStateEncoder
        from cnoid_control.ros.raw_dds import RawPublisher, open_subscription
        from cnoid_control.ros.robot.device_readers import STATE_QOS

        self.states = RawPublisher(node, JointState, f'{prefix}/joint_states', STATE_QOS)
        self._encoder = JointStateEncoder(names, ('position', 'velocity', 'effort'))
        self._devices = [
            (RawPublisher(node, kind, f'{prefix}/{topic}', STATE_QOS), serialize_message(kind()))
            for kind, topic in ((Imu, GYRO), (WrenchStamped, FORCE))
        ]
        self._node = node
        self._topic = f'{prefix}/{CONTROLLER}/commands'
        self._commands = open_subscription(node, Float64MultiArray, self._topic, STATE_QOS)
        self._stamp = 0

    @property
    def is_known(self) -> bool:
        """Whether somebody reads the states and somebody sends commands."""
        return bool(self.states.reader_count and self._node.count_publishers(self._topic))

    def publish(self) -> None:
        """Send the devices and the next state."""
        self._stamp += 1_000_000
        for outbox, data in self._devices:
            outbox.send(data)
        self.states.send(self._encoder.encode(self._stamp))

    def take_command(self) -> None:
        """Wait for a command."""
        while self._commands.take() is None:
            self._commands.wait(0.1)


def _stock_loop(node: Any, prefix: str, names: list[str]) -> tuple[Any, list[Any]]:
    """Typed subscriptions in an executor, a typed publisher: a node as one writes it first."""
    from geometry_msgs.msg import WrenchStamped
    from rclpy.executors import SingleThreadedExecutor
    from sensor_msgs.msg import Imu, JointState
    from std_msgs.msg import Float64MultiArray

    from cnoid_control.ros.robot.device_readers import STATE_QOS

    publisher = node.create_publisher(
        Float64MultiArray, f'{prefix}/{CONTROLLER}/commands', STATE_QOS
    )
    ticks: list[Any] = []
    index_of = {name: i for i, name in enumerate(names)}
    q = np.zeros(len(names))

    def control(message: Any) -> None:
        for name, position in zip(message.name, message.position, strict=True):
            q[index_of[name]] = position
        publisher.publish(Float64MultiArray(data=q.tolist()))
        ticks.append(message.header.stamp.nanosec)

    def ignore(message: Any) -> None:
        """Take a device's message, as it was decoded."""

    node.create_subscription(JointState, f'{prefix}/joint_states', control, STATE_QOS)
    node.create_subscription(Imu, f'{prefix}/{GYRO}', ignore, STATE_QOS)
    node.create_subscription(WrenchStamped, f'{prefix}/{FORCE}', ignore, STATE_QOS)
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    return executor, ticks


@contextmanager
def _published(robot: RobotTopics) -> Iterator[None]:
    """Show the robot in a thread."""
    stop = threading.Event()

    def run() -> None:
        while not stop.wait(0.01):
            robot.publish()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def _nodes(*names: str) -> Iterator[list[Any]]:
    """Nodes on a domain of their own."""
    import rclpy
    from rclpy.context import Context
    from rclpy.node import Node

    from cnoid_control.ros.transport import reserved_domain

    with reserved_domain() as domain:
        context = Context()
        rclpy.init(context=context, domain_id=domain)
        nodes = [Node(name, context=context) for name in names]
        try:
            yield nodes
        finally:
            for node in nodes:
                node.destroy_node()
            rclpy.try_shutdown(context=context)


@contextmanager
def ros_cycle() -> Iterator[tuple[Work, Work]]:
    """A tick of the hardware, and one of an executor with typed messages."""
    from cnoid_control.hardware.hardware import IORequest
    from cnoid_control.ros.robot.hardware import Ros2ControlHardware
    from cnoid_control.ros.robot.parameters import Ros2ControlParameters
    from cnoid_control.ros.robot.supervision_node import SupervisionNode
    from cnoid_control.runtime.config import load_config
    from cnoid_control.runtime.defaults import make_robot

    config = load_config('sr1_pd')
    body = make_robot(config.parameters.robot, config.folder)
    joints = [joint.name for joint in body.joints]
    request = IORequest(
        inputs=dict.fromkeys(joints, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY),
        outputs=dict.fromkeys(joints, StateFlag.JOINT_EFFORT),
        devices={'WaistGyro', 'RightAnkleForceSensor'},
    )
    parameters = Ros2ControlParameters(
        joint_states='ours/joint_states',
        commands={CONTROLLER: CommandParameters(topic=f'ours/{CONTROLLER}/commands')},
        controller_manager='',
        state_timeout=5.0,
    )
    topics = {'WaistGyro': f'ours/{GYRO}', 'RightAnkleForceSensor': f'ours/{FORCE}'}
    with _nodes('robot', 'cnoid_control', 'stock') as (robot, node, stock):
        ours, theirs = (RobotTopics(robot, side, body.joint_names) for side in ('ours', 'theirs'))
        executor, ticks = _stock_loop(stock, 'theirs', body.joint_names)
        supervision = SupervisionNode(node)
        hardware = Ros2ControlHardware(
            body, parameters, config.time_step, node, supervision, topics
        )
        with _published(ours):
            hardware.connect()
            hardware.open(request)
            while not (hardware.command_publishers[0].reader_count and theirs.is_known):
                time.sleep(0.01)

        def tick() -> None:
            ours.publish()
            hardware.read()
            hardware.write()
            ours.take_command()

        def stock_tick() -> None:
            theirs.publish()
            before = len(ticks)
            while len(ticks) == before:
                executor.spin_once(timeout_sec=1.0)
            theirs.take_command()

        try:
            yield tick, stock_tick
        finally:
            hardware.close()
            supervision.close()
            executor.shutdown()


ROWS = (
    BenchRow(
        'ros_cycle',
        'a tick over DDS in one process: 29 joints, two devices, commands',
        'the same with typed messages in a SingleThreadedExecutor',
        ros_cycle,
        goal=4.0,
        calls=100,
        needs='rclpy',
    ),
)
