"""Twists of both types feed a mailbox: by option, or by what is published."""

from __future__ import annotations

import time

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import PoseStamped, Twist, TwistStamped
from nav_msgs.msg import Odometry
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import Joy

from cnoid_control.controllers.velocity_command import MESSAGES
from cnoid_control.plugin.mailbox import Mailbox
from cnoid_control.plugin.mailbox import Twist as TwistOrder
from cnoid_control.ros.node.mailboxes import MailboxBridge


def message(kind: type, speed: float, turn: float = 0.0):
    """Twist of either type."""
    plain = Twist()
    plain.linear.x, plain.angular.z = speed, turn
    if kind is Twist:
        return plain
    stamped = TwistStamped(twist=plain)
    stamped.header.frame_id = 'base'
    return stamped


@pytest.fixture
def others(ros_domain):
    """Return a node of somebody else: a participant of its own."""
    context = Context()
    rclpy.init(context=context, domain_id=ros_domain)
    node = Node('sender', context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    yield node
    node.destroy_node()
    rclpy.try_shutdown(context=context)


@pytest.fixture
def hear(ros_node, spin_until, others):
    """Return a function that publishes until the mailbox has got the message, or does not."""

    def publish(mailbox: Mailbox, publisher, speed: float, timeout: float = 15.0):
        taken = []

        def arrived() -> bool:
            publisher.publish(message(publisher.msg_type, speed, -speed))
            taken.append(mailbox.take_latest())
            return taken[-1] is not None and taken[-1].linear[0] == speed

        return taken[-1] if spin_until(arrived, timeout=timeout) else None

    return publish


def test_the_type_that_is_published_is_taken(ros_node, others, hear) -> None:
    """Twists first, then stamped ones of another sender, then twists again."""
    bridge = MailboxBridge(ros_node)
    mailbox: Mailbox = Mailbox('cmd_vel', TwistOrder, 'cmd_vel')
    bridge.open([mailbox])
    for speed, kind in ((0.25, Twist), (0.5, TwistStamped), (0.75, Twist)):
        publisher = others.create_publisher(kind, 'cmd_vel', 10)
        heard = hear(mailbox, publisher, speed)
        assert heard is not None, kind
        np.testing.assert_allclose(heard.linear, [speed, 0.0, 0.0])
        np.testing.assert_allclose(heard.angular, [0.0, 0.0, -speed])
        assert heard.frame == ('base' if kind is TwistStamped else '')
        others.destroy_publisher(publisher)
    bridge.close()


def test_several_controllers_hear_one_topic(ros_node, others, spin_until) -> None:
    """Stages of a composition, say: a topic can have one type in a process, so they share it."""
    bridge = MailboxBridge(ros_node)
    boxes = [Mailbox(f'{name}/cmd_vel', TwistOrder, 'cmd_vel') for name in ('walk', 'run')]
    bridge.open(boxes)
    publisher = others.create_publisher(Twist, 'cmd_vel', 10)
    heard: dict[str, float] = {}

    def arrived() -> bool:
        publisher.publish(message(Twist, 0.25))
        for mailbox in boxes:
            taken = mailbox.take_latest()
            if taken is not None:
                heard[mailbox.name] = float(taken.linear[0])
        return len(heard) == 2

    assert spin_until(arrived, timeout=15.0)
    assert heard == {'walk/cmd_vel': 0.25, 'run/cmd_vel': 0.25}
    bridge.close()


def test_a_topic_that_others_have_with_another_type_is_told(
    ros_node, others, spin_until, capfd
) -> None:
    """A mailbox of a fixed type keeps it; the node goes on."""
    bridge = MailboxBridge(ros_node)
    free: Mailbox = Mailbox('a', TwistOrder, 'cmd_vel')
    fixed: Mailbox = Mailbox('b', TwistOrder, 'cmd_vel')
    fixed.message_type = MESSAGES['TwistStamped']
    bridge.open([free, fixed])
    others.create_publisher(Twist, 'cmd_vel', 10)
    told: list[str] = []

    def is_told() -> bool:
        told.append(capfd.readouterr().err)
        return 'cmd_vel: RCLError: ' in ''.join(told)

    assert spin_until(is_told, timeout=15.0), told
    bridge.close()


def test_an_option_chooses_the_type(ros_node, others, hear) -> None:
    """Twists of the other type are not heard, however long they come."""
    bridge = MailboxBridge(ros_node)
    mailbox: Mailbox = Mailbox('cmd_vel', TwistOrder, 'cmd_vel')
    mailbox.message_type = MESSAGES['TwistStamped']
    bridge.open([mailbox])
    plain = others.create_publisher(Twist, 'cmd_vel', 10)
    assert hear(mailbox, plain, 0.25, timeout=2.0) is None
    others.destroy_publisher(plain)
    assert hear(mailbox, others.create_publisher(TwistStamped, 'cmd_vel', 10), 0.5) is not None
    bridge.close()


def test_a_type_that_nobody_can_take_is_told(ros_node, others, spin_until, capfd) -> None:
    """Silence would be the worst; and a mailbox that asks for one is left out by name."""
    bridge = MailboxBridge(ros_node)
    mailbox: Mailbox = Mailbox('cmd_vel', TwistOrder, 'cmd_vel')
    bridge.open([mailbox])
    others.create_publisher(PoseStamped, 'cmd_vel', 10)
    told: list[str] = []

    def is_told(words: str) -> bool:
        told.append(capfd.readouterr().err)
        return words in ''.join(told)

    words = 'cmd_vel: geometry_msgs/msg/PoseStamped is published, which is none of'
    assert spin_until(lambda: is_told(words), timeout=15.0), told
    mailbox.message_type = 'geometry_msgs/msg/PoseStamped'
    bridge.open([mailbox])
    assert is_told("mailbox 'cmd_vel' gets nothing from ROS: ValueError: geometry_msgs/msg/Pose")
    bridge.close()


@pytest.mark.parametrize('kind', [Twist, TwistStamped])
def test_twists_drive_the_car(start_process, ros_node, spin_until, root, kind) -> None:
    """Through the node as it is started: at the speed that is asked for, and not any more."""
    pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')
    config = ['--ros-args', '--params-file', str(root / 'config' / 'car.yaml')]
    robot = start_process('cnoid_control.ros.sim.node', *config, '-p', 'pacing:=lockstep')
    options = ['car.velocity.joystick.source:=messages', 'hardware.ros2_control.lock_step:=true']
    # In lock-step the robot's time may run ahead of the messages.
    options += ['car.velocity.timeout:=5.0', 'car.velocity.upper:=[0.4, 0.0, 1.0]']
    words = [word for option in options for word in ('-p', option)]
    node = start_process('cnoid_control.ros.node.control_node', *config, *words)
    speeds: list[float] = []
    ros_node.create_subscription(
        Odometry,
        'cnoid_control_mujoco/root',
        lambda odometry: speeds.append(odometry.twist.twist.linear.x),
        10,
    )
    publisher = ros_node.create_publisher(kind, 'cmd_vel', 10)

    def driven() -> bool:
        publisher.publish(message(kind, 3.0))
        time.sleep(0.02)
        return bool(speeds) and abs(speeds[-1] - 0.4) < 0.02

    def logs() -> str:
        return robot.log_path.read_text() + node.log_path.read_text()

    assert spin_until(driven, timeout=60.0), logs()
    assert spin_until(lambda: abs(speeds[-1]) < 1e-2, timeout=60.0), logs()


def test_sticks_drive_the_car_while_the_button_is_held(
    start_process, ros_node, spin_until, root
) -> None:
    """Full stick without the button moves nothing; with it, at the end of the range."""
    pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')
    config = ['--ros-args', '--params-file', str(root / 'config' / 'car.yaml')]
    robot = start_process('cnoid_control.ros.sim.node', *config, '-p', 'pacing:=lockstep')
    options = ['car.velocity.joystick.source:=messages', 'hardware.ros2_control.lock_step:=true']
    options += ['car.velocity.joystick.timeout:=5.0', 'car.velocity.upper:=[0.4, 0.0, 1.0]']
    words = [word for option in options for word in ('-p', option)]
    node = start_process('cnoid_control.ros.node.control_node', *config, *words)
    speeds: list[float] = []
    times: list[float] = []

    def receive(odometry: Odometry) -> None:
        times.append(odometry.header.stamp.sec + 1e-9 * odometry.header.stamp.nanosec)
        speeds.append(odometry.twist.twist.linear.x)

    ros_node.create_subscription(Odometry, 'cnoid_control_mujoco/root', receive, 10)
    publisher = ros_node.create_publisher(Joy, 'joy', 10)

    def push(button: int, condition) -> bool:
        """Push the stick ahead until something is so."""

        def pushed() -> bool:
            publisher.publish(Joy(axes=[0.0, 1.0], buttons=[0, 0, 0, 0, button]))
            time.sleep(0.02)
            return condition()

        return spin_until(pushed, timeout=60.0)

    def logs() -> str:
        return robot.log_path.read_text() + node.log_path.read_text()

    assert spin_until(lambda: publisher.get_subscription_count() and times, timeout=60.0), logs()
    start = times[-1]
    assert push(0, lambda: times[-1] > start + 1.0), logs()
    assert max(map(abs, speeds)) < 0.01
    assert push(1, lambda: abs(speeds[-1] - 0.4) < 0.02), logs()
    assert push(0, lambda: abs(speeds[-1]) < 0.01), logs()
