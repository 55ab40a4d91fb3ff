"""SR1's routine through ROS: the state machine of the configuration on a robot by topics."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile

# In lock-step the robot waits, so a machine that is busy with other things is no hazard.
LOCK_STEP = ['-p', 'hardware.ros2_control.lock_step:=true', '-p', 'watchdog.control_timeout:=5.0']
LOCK_STEP += ['-p', 'watchdog.subscriber_timeout:=30.0', '-p', 'watchdog.state_timeout:=10.0']
LOCK_STEP += ['-p', 'watchdog.device_timeout:=10.0']
FREE_RUNNING = ['-p', 'pacing:=lockstep', '-p', 'real_time_factor:=0.0']


def test_the_routine_runs_through_ros(start_process, ros_node, spin_until, root) -> None:
    """SR1 stands up, leans over its right foot and stays there while it waves."""
    config = ['--ros-args', '--params-file', str(root / 'config' / 'sr1_routine.yaml')]
    robot = start_process('cnoid_control.ros.sim.node', *config, *FREE_RUNNING)
    places: list[tuple[float, float, float]] = []
    times: list[float] = []

    def receive(message: Odometry) -> None:
        stamp = message.header.stamp
        place = message.pose.pose.position
        times.append(stamp.sec + 1e-9 * stamp.nanosec)
        places.append((place.x, place.y, place.z))

    ros_node.create_subscription(
        Odometry, 'cnoid_control_mujoco/root', receive, QoSProfile(depth=1000)
    )
    # The robot waits at its first state: nothing is missed.
    assert spin_until(lambda: bool(times), timeout=60), robot.log_path.read_text()
    node = start_process('cnoid_control.ros.node.control_node', *config, *LOCK_STEP)
    done = spin_until(lambda: times and times[-1] > 6.6, timeout=100)
    assert done, robot.log_path.read_text() + node.log_path.read_text()
    path, time = np.array(places), np.array(times)
    assert path[(time > 3.0) & (time < 3.3), 2].min() == pytest.approx(0.708, abs=0.005)
    assert path[(time > 5.5) & (time < 6.5), 1].max() < -0.04
