"""The heartbeat monitor in a process of its own: it acts when commands stop, and only then."""

from __future__ import annotations

import math
import time

import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

NAMES = ['hip', 'knee', 'ankle']
POSITIONS = [0.1, -0.2, 0.3]


class Robot:
    """A node's commands and a robot's states as messages; keeps what forward controllers get."""

    def __init__(self, node) -> None:
        self.node = node
        self.commands = node.create_publisher(JointState, 'cnoid_control/joint_commands', 1)
        self.states = node.create_publisher(JointState, 'joint_states', 1)
        self.got: dict[str, list[list[float]]] = {}
        self.damping: list[list[float]] = []
        self.damping_commands = node.create_publisher(
            Float64MultiArray, 'damping_controller/commands', 1
        )
        for interface in ('effort', 'position', 'velocity', 'stiffness', 'damping'):
            values = self.damping
            if interface != 'damping':
                values = self.got[interface] = []
            node.create_subscription(
                Float64MultiArray,
                f'{interface}_controller/commands',
                lambda message, values=values: values.append(list(message.data)),
                1,
            )

    def beat(self, names: list[str] = NAMES) -> None:
        """Send a state and a command; an empty command where there are no names."""
        # The robot names its joints in an order of its own.
        self.states.publish(JointState(name=NAMES[::-1], position=POSITIONS[::-1]))
        zeros = [0.0] * len(names)
        self.commands.publish(
            JointState(name=list(names), position=zeros, velocity=zeros, effort=zeros)
        )


@pytest.fixture
def robot(ros_node, start_process, spin_until) -> Robot:
    """Return a robot whose commands a heartbeat monitor watches, armed."""
    robot = Robot(ros_node)
    robot.process = start_process(
        'cnoid_control.ros.heartbeat',
        '--ros-args',
        '-p',
        'heartbeat.realtime_priority:=0',
        '-p',
        'heartbeat.timeout:=0.2',
        '-p',
        'heartbeat.grace:=0.2',
        '-p',
        "hardware.ros2_control.controller_manager:=''",
    )

    def reached() -> bool:
        robot.beat()
        return (
            robot.commands.get_subscription_count() > 0
            and all(ros_node.count_publishers(f'{name}_controller/commands') for name in robot.got)
            and 'watching' in robot.process.log_path.read_text()
        )

    assert spin_until(reached, 15.0), robot.process.log_path.read_text()
    return robot


def beat_for(robot: Robot, spin_until, duration: float) -> None:
    """Send commands every 10 ms for so long [s]."""
    end = time.monotonic() + duration

    def over() -> bool:
        robot.beat()
        return time.monotonic() > end

    spin_until(over)


def test_silence_is_answered_by_the_safe_command(robot: Robot, spin_until) -> None:
    """Positions are held as measured, all else is zero; nothing comes before.

    A damping stays as it was commanded last: it was not too much while the node lived.
    """
    for _ in range(3):
        robot.damping_commands.publish(Float64MultiArray(data=[1.0, 2.0, 3.0]))
    beat_for(robot, spin_until, 0.5)
    assert not any(robot.got.values())
    assert spin_until(lambda: all(len(values) >= 3 for values in robot.got.values()), 10.0)
    for interface, values in robot.got.items():
        expected = POSITIONS if interface == 'position' else [0.0, 0.0, 0.0]
        for sent in values:
            assert sent == pytest.approx(expected)
    assert spin_until(lambda: len(robot.damping) > 5, 10.0)
    assert all(sent == [1.0, 2.0, 3.0] for sent in robot.damping)
    assert 'the robot is stopped' in robot.process.log_path.read_text()


def test_an_orderly_stop_is_left_alone(robot: Robot, spin_until) -> None:
    """After an empty command the silence means nothing, until commands come again."""
    beat_for(robot, spin_until, 0.3)
    assert spin_until(
        lambda: robot.beat([]) or 'stopped cleanly' in robot.process.log_path.read_text(), 10.0
    )
    assert not spin_until(lambda: any(robot.got.values()), 1.0)
    beat_for(robot, spin_until, 1.0)
    assert spin_until(lambda: all(robot.got.values()), 10.0)


def test_unknown_positions_are_not_sent(robot: Robot, spin_until) -> None:
    """Where a position is not known the position command is left out; others are sent."""
    robot.states.publish(JointState(name=NAMES, position=[0.1, math.nan, 0.3]))
    end = time.monotonic() + 0.5

    def over() -> bool:
        robot.states.publish(JointState(name=NAMES, position=[0.1, math.nan, 0.3]))
        zeros = [0.0] * 3
        robot.commands.publish(JointState(name=NAMES, position=zeros))
        return time.monotonic() > end

    spin_until(over)
    assert spin_until(lambda: len(robot.got['effort']) >= 3, 10.0)
    assert robot.got['position'] == []


def test_wrong_options_are_refused(start_process) -> None:
    """The process ends with a message that names the option."""
    process = start_process(
        'cnoid_control.ros.heartbeat', '--ros-args', '-p', 'heartbeat.timeout:=-1.0'
    )
    assert process.wait(30.0) == 1
    assert 'heartbeat.timeout' in process.log_path.read_text()


def test_it_does_not_claim_to_watch_when_nobody_would_hear_it(
    ros_node, start_process, spin_until
) -> None:
    """Without a command controller it says so; once there is one, it watches."""
    states = ros_node.create_publisher(JointState, 'joint_states', 1)
    commands = ros_node.create_publisher(JointState, 'cnoid_control/joint_commands', 1)
    process = start_process(
        'cnoid_control.ros.heartbeat',
        '--ros-args',
        *('-p', 'heartbeat.realtime_priority:=0'),
        *('-p', 'heartbeat.timeout:=0.2'),
        *('-p', 'heartbeat.grace:=0.2'),
        *('-p', "hardware.ros2_control.controller_manager:=''"),
    )

    def says(words: str) -> bool:
        for publisher in (states, commands):
            publisher.publish(JointState(name=NAMES, position=POSITIONS))
        return words in process.log_path.read_text()

    assert spin_until(lambda: says('nobody would get the safe command'), 15.0)
    assert not says('watching')
    ros_node.create_subscription(Float64MultiArray, 'effort_controller/commands', print, 1)
    assert spin_until(lambda: says('watching'), 15.0), process.log_path.read_text()
