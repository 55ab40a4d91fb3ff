"""The same walk in one process and through DDS between two."""

import numpy as np
import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile

from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config

# Ticks that are compared: SR1 has bent its knees by then.
TICKS = 800


def walk_in_process(ticks):
    """Return the root's position at each tick of the embedded walk, shape (ticks, 3)."""
    loop = make_loop(load_config('sr1_walk'))
    loop.open()
    positions = []
    for _ in range(ticks):
        loop.step()
        positions.append(loop.hardware.body.root_link.p.copy())
    loop.close()
    return np.array(positions)


def test_a_walk_through_dds_is_the_embedded_walk(start_process, ros_node, spin_until, root):
    """In lock-step the root is, tick by tick, where it is when all runs in one process."""
    config = ['--ros-args', '--params-file', str(root / 'config' / 'sr1_walk.yaml')]
    lockstep = ['-p', 'pacing:=lockstep', '-p', 'real_time_factor:=0.0']
    robot = start_process('cnoid_control.ros.sim.node', *config, *lockstep)
    positions = {}

    def receive(message):
        stamp = message.header.stamp
        place = message.pose.pose.position
        tick = round((stamp.sec + stamp.nanosec * 1e-9) * 500.0) - 1
        positions[tick] = (place.x, place.y, place.z)

    ros_node.create_subscription(
        Odometry, 'cnoid_control_mujoco/root', receive, QoSProfile(depth=1000)
    )
    # The robot stands still until it is commanded: nothing of the walk is missed.
    assert spin_until(lambda: ros_node.count_publishers('cnoid_control_mujoco/root'))
    node = start_process(
        'cnoid_control.ros.node.control_node',
        *config,
        '-p',
        'hardware.ros2_control.lock_step:=true',
    )
    reached = spin_until(lambda: positions and max(positions) >= TICKS, timeout=90)
    assert reached, robot.log_path.read_text() + node.log_path.read_text()
    expected = walk_in_process(TICKS)
    seen = sorted(tick for tick in positions if tick < TICKS)
    assert len(seen) > TICKS // 10
    difference = np.array([positions[tick] for tick in seen]) - expected[seen]
    assert np.abs(difference).max() < 1e-3
    assert np.ptp(expected[:, 2]) > 0.02
