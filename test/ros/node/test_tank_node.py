"""The tank through ROS: sensor_msgs/Joy drives it and switches its lights, with every pacing."""

from __future__ import annotations

import time

import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from nav_msgs.msg import Odometry
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState, Joy
from std_msgs.msg import Float64MultiArray

# A busy machine is no hazard here: what is late is waited for.
PATIENT = ['-p', 'watchdog.control_timeout:=5.0', '-p', 'watchdog.subscriber_timeout:=30.0']
PATIENT += ['-p', 'watchdog.state_timeout:=10.0', '-p', 'watchdog.device_timeout:=10.0']
SOURCE = ['-p', 'tank_joystick_light.velocity.joystick.source:=messages']
LOCK_STEP = ['-p', 'hardware.ros2_control.lock_step:=true']
# A clock of its own would end the messages before a slow machine has driven anywhere.
SLOW = ['-p', 'tank_joystick_light.velocity.joystick.timeout:=3.0', '-p', 'realtime_priority:=0']
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.mark.parametrize('pacing', ['lockstep', 'paced', 'free'])
def test_joystick_drives_the_tank(start_process, ros_node, spin_until, root, pacing) -> None:
    """It goes ahead while Joy messages come, its lamps obey the button, and then it stops."""
    config = ['--ros-args', '--params-file', str(root / 'config' / 'tank.yaml'), *SLOW]
    robot = start_process('cnoid_control.ros.sim.node', *config, '-p', f'pacing:={pacing}')
    places: list[float] = []
    speeds: list[float] = []
    lamp: list[list[float]] = []
    tracks: list[float] = []

    def receive(message: Odometry) -> None:
        places.append(message.pose.pose.position.x)
        speeds.append(message.twist.twist.linear.x)

    def receive_joints(message: JointState) -> None:
        tracks.append(message.velocity[message.name.index('left_track')])

    ros_node.create_subscription(Odometry, 'cnoid_control_mujoco/root', receive, 10)
    ros_node.create_subscription(JointState, 'joint_states', receive_joints, 10)
    ros_node.create_subscription(
        Float64MultiArray, 'LeftLamp/command', lambda m: lamp.append(list(m.data)), LATCHED
    )
    lock_step = LOCK_STEP if pacing == 'lockstep' else []
    node = start_process(
        'cnoid_control.ros.node.control_node', *config, *SOURCE, *PATIENT, *lock_step
    )
    publisher = ros_node.create_publisher(Joy, 'joy', 10)

    def logs() -> str:
        return robot.log_path.read_text() + node.log_path.read_text()

    # The controller switches all lamps on in its first tick.
    assert spin_until(lambda: lamp and lamp[-1][0] == 1.0, timeout=90), logs()
    assert spin_until(publisher.get_subscription_count, timeout=30), logs()
    assert spin_until(lambda: places and tracks, timeout=30), logs()
    start = places[-1]

    def drive(condition, buttons=(0, 0, 0)) -> bool:
        """Push the left stick ahead until something is so."""
        deadline = time.monotonic() + 60.0
        while not condition():
            publisher.publish(Joy(axes=[0.0, 1.0], buttons=list(buttons)))
            spin_until(condition, timeout=0.1)
            if time.monotonic() > deadline:
                return False
        return True

    assert drive(lambda: places[-1] > start + 0.5), logs()
    assert speeds[-1] == pytest.approx(0.5, abs=0.05)
    assert tracks[-1] == pytest.approx(0.5, abs=1e-6)
    assert drive(lambda: lamp[-1][0] == 0.0, (0, 0, 1)), logs()
    # Nobody sends any more.
    assert spin_until(lambda: abs(speeds[-1]) < 1e-3 and tracks[-1] == 0.0, timeout=60), logs()
    assert robot.poll() is None
    assert node.poll() is None
