"""The enabling switch through DDS: an arm moves while a button of a joystick is held."""

from __future__ import annotations

import time

import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from sensor_msgs.msg import JointState, Joy
from std_srvs.srv import Trigger

GOAL = 0.3
# A busy machine is no hazard here: what is late is waited for.
OPTIONS = ['hardware.ros2_control.lock_step:=true', 'pd.move_time:=4.0', 'enable.topic:=joy']
OPTIONS += ['enable.timeout:=1.0']


def test_the_arm_moves_while_the_button_is_held(start_process, ros_node, spin_until, root) -> None:
    """Released on its way it stops and is held; nobody but the button lets it go on."""
    config = ['--ros-args', '--params-file', str(root / 'config' / 'pd.yaml'), '-p', 'rate:=500.0']
    robot = start_process('cnoid_control.ros.sim.node', *config, '-p', 'pacing:=lockstep')
    words = [word for option in OPTIONS for word in ('-p', option)]
    node = start_process('cnoid_control.ros.node.control_node', *config, *words)
    states: list[tuple[float, float]] = []

    def receive(message: JointState) -> None:
        stamp = message.header.stamp
        place = message.position[message.name.index('joint1')]
        states.append((stamp.sec + 1e-9 * stamp.nanosec, place))

    ros_node.create_subscription(JointState, 'joint_states', receive, 10)
    publisher = ros_node.create_publisher(Joy, 'joy', 10)

    def logs() -> str:
        return robot.log_path.read_text() + node.log_path.read_text()

    def joystick(buttons: list[int], condition, timeout: float = 60.0) -> bool:
        """Say how the buttons stand until something is so."""
        deadline = time.monotonic() + timeout
        while not condition():
            publisher.publish(Joy(axes=[0.0], buttons=buttons))
            spin_until(condition, timeout=0.1)
            if time.monotonic() > deadline:
                return False
        return True

    def places_of_a_second(buttons: list[int]) -> list[float]:
        """Where the joint is while the robot's time goes on for a second."""
        start = len(states)
        assert joystick(
            buttons, lambda: len(states) > start and states[-1][0] > states[start][0] + 1.0
        ), logs()
        return [place for _, place in states[start:]]

    def call(name: str) -> tuple[bool, str]:
        client = ros_node.create_client(Trigger, f'cnoid_control/{name}')
        assert spin_until(client.service_is_ready)
        future = client.call_async(Trigger.Request())
        assert spin_until(future.done)
        return future.result().success, future.result().message

    held, other = [0, 0, 0, 0, 1], [1, 1, 1, 1, 0]
    why = 'the enabling switch is not held (joy, button 4)'
    assert spin_until(lambda: f'safe state: {why}' in logs(), timeout=60.0), logs()
    assert max(abs(place) for place in places_of_a_second(other)) < 0.01
    assert joystick(held, lambda: states[-1][1] > 0.3 * GOAL), logs()
    assert joystick(other, lambda: logs().count(f'safe state: {why}') == 2), logs()
    # The spring that holds it comes to rest.
    places_of_a_second(other)
    places = places_of_a_second(other)
    assert max(places) - min(places) < 0.03
    assert max(places) < 0.9 * GOAL
    assert call('resume') == (False, why)
    assert joystick(held, lambda: states[-1][1] > 0.93 * GOAL), logs()
    # Silence is a released button.
    assert spin_until(lambda: logs().count(f'safe state: {why}') == 3, timeout=60.0), logs()
    # Who stops the robot meanwhile is answered when it is stopped, which nobody undoes by holding.
    assert call('stop') == (True, 'stopped by ~/stop')
    places = places_of_a_second(held)
    assert max(places) - min(places) < 0.03
    assert call('resume') == (False, 'there is no pause: stopped by ~/stop')
    assert robot.poll() is None
    assert node.poll() is None
