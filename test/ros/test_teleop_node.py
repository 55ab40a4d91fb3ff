"""Teleop through ROS: twists, sticks and the stop, from a real terminal to a robot that moves."""

from __future__ import annotations

import math
import os
import time

import numpy as np
import pytest
from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Joy
from std_srvs.srv import Trigger
from terminal_rig import TerminalRig

from cnoid_control.plugin.mailbox import Joy as Sticks
from cnoid_control.ros.teleop_node import TeleopNode, TeleopOptions
from cnoid_control.teleop.device import TeleopDevice

TELEOP = ['-m', 'cnoid_control.cli.main', 'teleop']


class Hand(TeleopDevice):
    """A device in the test's hands."""

    name = help = 'hand'

    def __init__(self) -> None:
        """Begin with everything released."""
        super().__init__()
        self.joy = Sticks()

    def hold(self, *axes: float, enabled: bool = True) -> None:
        """Bring sticks somewhere."""
        self.joy = Sticks(axes=np.array(axes), buttons=(0, 0, 0, 0, int(enabled)))

    def read(self) -> Sticks:
        """As it is held."""
        return self.joy

    def press_stop(self) -> None:
        """Ask for a stop."""
        self._stop.set()

    def close(self) -> None:
        """There is nothing to give back."""


@pytest.fixture
def serve_teleop(ros_context, ros_executor):
    """Return a function that serves a teleop node; it returns the node's hand and its words."""

    def serve(**options) -> tuple[Hand, list[str]]:
        hand, said = Hand(), []
        node = TeleopNode(hand, TeleopOptions(**options), said.append, ros_context)
        ros_executor.add_node(node)
        return hand, said

    return serve


def test_twists_come_while_the_button_is_held(serve_teleop, ros_node, spin_until) -> None:
    """Then zeros, and then none: the topic is free for others."""
    got: list[TwistStamped] = []
    ros_node.create_subscription(TwistStamped, '/rob/drive', got.append, 10)
    hand, _ = serve_teleop(
        namespace='rob', topic='drive', stamped=True, frame='hip', speed=(0.8, 0.4, 2.0), rate=50.0
    )
    hand.hold(-0.5, 1.0, 0.0, 1.0, enabled=False)
    assert not spin_until(lambda: got, timeout=1.0)
    hand.hold(-0.5, 1.0, 0.0, 1.0)
    assert spin_until(lambda: len(got) > 3)
    first = got[0]
    linear, angular = first.twist.linear, first.twist.angular
    assert (linear.x, linear.y, linear.z) == (0.8, -0.2, 0.0)
    assert (angular.x, angular.y, angular.z) == (0.0, 0.0, 2.0)
    assert first.header.frame_id == 'hip'
    assert first.header.stamp.sec > 0
    hand.hold(-0.5, 1.0, enabled=False)
    assert spin_until(lambda: got[-1].twist == Twist())
    spin_until(lambda: False, timeout=0.5)
    number = len(got)
    assert not spin_until(lambda: len(got) > number, timeout=0.5)
    assert [message.twist for message in got[-3:]] == [Twist()] * 3


def test_sticks_are_published_as_joy(serve_teleop, ros_node, spin_until) -> None:
    """All of them, held or not."""
    got: list[Joy] = []
    ros_node.create_subscription(Joy, 'joy', got.append, 10)
    hand, _ = serve_teleop(topic='', joy='joy', rate=50.0)
    hand.hold(0.25, -1.0, enabled=False)
    assert spin_until(lambda: got and list(got[-1].axes) == [0.25, -1.0])
    assert list(got[-1].buttons) == [0] * 5


def test_a_stop_is_asked_for_until_it_is_answered(serve_teleop, ros_node, spin_until) -> None:
    """Zero goes out at once; silence is told, and so is what the node answers."""
    got: list[Twist] = []
    ros_node.create_subscription(Twist, 'cmd_vel', got.append, 10)
    hand, said = serve_teleop(stop_service='robot/stop', rate=50.0)
    hand.press_stop()
    assert spin_until(lambda: got)
    assert got[0] == Twist()
    assert spin_until(lambda: any('/robot/stop does not answer' in line for line in said))
    calls = []

    def answer(request, response):
        calls.append(request)
        response.success, response.message = len(calls) > 1, 'held'
        return response

    ros_node.create_service(Trigger, 'robot/stop', answer)
    assert spin_until(lambda: said[-1] == 'NOT STOPPED: held'), said
    hand.press_stop()
    assert spin_until(lambda: said[-1] == 'stopped: held'), said
    assert len(calls) == 2


def test_a_key_moves_the_car_and_another_stops_it(
    start_process, ros_node, spin_until, root, ros_domain
) -> None:
    """A held key drives it through the node; the space bar brings the node's safe state."""
    pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')
    pytest.importorskip('sshkeyboard', reason='needs sshkeyboard')
    config = ['--ros-args', '--params-file', str(root / 'config' / 'car.yaml')]
    robot = start_process('cnoid_control.ros.sim.node', *config, '-p', 'pacing:=lockstep')
    options = ['car.velocity.joystick.source:=messages', 'hardware.ros2_control.lock_step:=true']
    # In lock-step the robot's time may run ahead of the messages.
    options += ['car.velocity.timeout:=5.0']
    words = [word for option in options for word in ('-p', option)]
    node = start_process('cnoid_control.ros.node.control_node', *config, *words)
    speeds: list[float] = []

    def receive(message: Odometry) -> None:
        speeds.append(math.hypot(message.twist.twist.linear.x, message.twist.twist.linear.y))

    ros_node.create_subscription(Odometry, 'cnoid_control_mujoco/root', receive, 10)
    rig = TerminalRig(*TELEOP, '--ros', '--speed', '0.3', '0', '1', **os.environ)

    def logs() -> str:
        return robot.log_path.read_text() + node.log_path.read_text() + rig.output

    def is_fast() -> bool:
        spin_until(lambda: False, timeout=0.01)
        return bool(speeds) and abs(speeds[-1] - 0.3) < 0.02

    assert rig.wait_for('space STOPS'), rig.output
    assert rig.hold('w', is_fast, timeout=60.0), logs()
    rig.press(' ')
    assert rig.wait_for('stopped: stopped by ~/stop'), logs()
    assert spin_until(lambda: speeds[-1] < 0.02, timeout=30.0), logs()
    # Held again, it does not move: the safe state is for good.
    start = time.monotonic()
    assert rig.hold('w', lambda: time.monotonic() - start > 1.0)
    assert speeds[-1] < 0.02
    rig.press('\x1b')
    rig.process.wait(20.0)
    assert rig.settings == rig.before
    assert rig.close() == 0
