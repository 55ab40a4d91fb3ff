"""A slow controller_manager deactivates before it updates: the safe command must act before."""

from __future__ import annotations

import threading
import time

import pytest
from robot_rig import QOS, ManagerNode, effort_request
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

pytest.importorskip('controller_manager_msgs.msg', reason='interfaces are not built')

from rclpy.node import Node

from cnoid_control.body import StateFlag
from cnoid_control.parameters import parse_parameters
from cnoid_control.ros.heartbeat import HeartbeatMonitor
from cnoid_control.ros.message_types import read_message
from cnoid_control.ros.raw_dds import open_subscription
from cnoid_control.ros.robot.hardware import Ros2ControlHardware
from cnoid_control.ros.robot.parameters import CommandParameters, Ros2ControlParameters
from cnoid_control.runtime.config import HeartbeatParameters

PERIOD = 0.1
JOINTS = ['shoulder', 'elbow']
OPTIONS = {
    'commands': {'velocity_controller': {'interface': 'velocity'}},
    'startup_timeout': 20.0,
    'state_timeout': 20.0,
    'rate_check': 'ignore',
}


class SlowRobot:
    """Cycles of a manager at 10 Hz: switch, update, write; velocities move the robot."""

    def __init__(self, rig) -> None:
        self.velocity = [0.0, 0.0]
        self.position = [0.3, -0.2]
        self.manager = ManagerNode(rig, {'velocity_controller': ('inactive', JOINTS, 'velocity')})
        self._states = rig._states
        topic = '/velocity_controller/commands'
        self._commands = open_subscription(rig.robot, Float64MultiArray, topic, QOS)
        self._node = rig.robot
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    @property
    def is_active(self) -> bool:
        """Whether the controller is."""
        return self.manager.controllers['velocity_controller'][0] == 'active'

    def _run(self) -> None:
        while not self._stop.wait(PERIOD):
            is_active = self.is_active
            while (data := self._commands.take()) is not None:
                message = read_message(data, Float64MultiArray)
                if is_active:
                    self.velocity = list(message.data)
            self.position = [
                q + PERIOD * dq for q, dq in zip(self.position, self.velocity, strict=True)
            ]
            state = JointState(name=JOINTS, position=self.position, velocity=self.velocity)
            state.header.stamp = self._node.get_clock().now().to_msg()
            self._states.publish(state)

    def close(self) -> None:
        """End."""
        self._stop.set()
        self._thread.join()
        self._commands.close()


@pytest.fixture
def robot(rig):
    """Return a slow robot."""
    made = SlowRobot(rig)
    yield made
    made.close()


def test_a_robot_that_is_let_go_has_stopped(rig, robot) -> None:
    """The last velocity does not stay in force when the controller is deactivated."""
    given = parse_parameters(Ros2ControlParameters, OPTIONS)
    hardware = Ros2ControlHardware(rig.body(), given, PERIOD, rig.node, rig.supervision)
    hardware.connect()
    hardware.open(effort_request(hardware.body, StateFlag.JOINT_VELOCITY))
    for _ in range(4):
        assert hardware.read()
        hardware.body.dq_target[:] = [0.3, -0.3]
        hardware.write()
    rig.wait(lambda: robot.velocity == [0.3, -0.3])
    hardware.close()
    assert not robot.is_active
    assert robot.velocity == [0.0, 0.0]


def test_a_robot_whose_node_has_died_has_stopped(rig, robot) -> None:
    """The heartbeat monitor deactivates no earlier than its command acts."""
    robot.manager.controllers['velocity_controller'][0] = 'active'
    own = Node('cnoid_control_heartbeat', context=rig.context)
    commands = {'velocity_controller': CommandParameters(interface='velocity')}
    monitor = HeartbeatMonitor(
        own,
        HeartbeatParameters(timeout=0.35, grace=0.3, repeat=0.3),
        Ros2ControlParameters(commands=commands),
    )
    echo = rig.robot.create_publisher(JointState, 'cnoid_control/joint_commands', QOS)
    motion = rig.robot.create_publisher(Float64MultiArray, 'velocity_controller/commands', QOS)
    stop = threading.Event()
    thread = threading.Thread(target=monitor.run, args=(stop,))
    thread.start()
    deadline = time.monotonic() + 20.0
    while not monitor.armed and time.monotonic() < deadline:
        echo.publish(JointState(name=JOINTS, position=[0.0, 0.0]))
        motion.publish(Float64MultiArray(data=[0.3, -0.3]))
        time.sleep(0.05)
    assert monitor.armed
    rig.wait(lambda: robot.velocity == [0.3, -0.3])
    rig.wait(lambda: not robot.is_active)
    assert robot.velocity == [0.0, 0.0]
    stop.set()
    thread.join()
    monitor.close()
    own.destroy_node()
