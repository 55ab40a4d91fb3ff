"""The package's own policy through DDS: the robot in one process, the network in another."""

import numpy as np
import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')
pytest.importorskip('onnxruntime', reason='needs onnxruntime')

from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile

from cnoid_control import Simulation

# Two seconds of walking after one of standing.
DURATION = 3.0


# By itself the robot knows nothing but joints, IMU and forces.
ODOMETRY = {
    'policy.base': 'hardware',
    'hardware.ros2_control.odometry': 'cnoid_control_mujoco/root',
}
# At the network's own rate PD in the node is too slow: by efforts the robot falls. With gains its
# drives do it, at the step of the physics.
AT_50_HZ = {
    **ODOMETRY,
    'rate': 50.0,
    'hardware.mujoco.time_step': 0.002,
    'policy.actuators': 'hardware',
    'hardware.ros2_control.joint_pid': 'interfaces',
}


@pytest.mark.parametrize(
    'changes', [{}, ODOMETRY, AT_50_HZ], ids=['estimator', 'odometry', 'gains at 50 Hz']
)
def test_trotter_walks_through_dds_as_embedded(start_process, ros_node, spin_until, root, changes):
    """In lock-step the trunk is where it is when all runs in one process, and it has walked."""
    rate = changes.get('rate', 500.0)
    config = ['--ros-args', '--params-file', str(root / 'config' / 'trotter_walk.yaml')]
    for key, value in changes.items():
        config += ['-p', f'{key}:={value!r}']
    lockstep = ['-p', 'pacing:=lockstep', '-p', 'real_time_factor:=0.0']
    if 'hardware.ros2_control.odometry' not in changes:
        # Else it comes with every state by itself: the node needs it.
        lockstep += ['-p', f'root_rate:={rate}']
    robot = start_process('cnoid_control.ros.sim.node', *config, *lockstep)
    places = {}

    def receive(message):
        stamp, place = message.header.stamp, message.pose.pose.position
        places[round((stamp.sec + stamp.nanosec * 1e-9) * rate)] = (place.x, place.y, place.z)

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
        '-p',
        'hardware.ros2_control.allow_scripts:=true',
    )
    last = round(DURATION * rate)
    reached = spin_until(lambda: places and max(places) > last, timeout=90)
    assert reached, robot.log_path.read_text() + node.log_path.read_text()
    with Simulation('trotter_walk', changes=changes) as simulation:
        simulation.run(DURATION)
        expected = np.array(simulation.recorded.root_position)
    seen = sorted(tick for tick in places if 0 < tick <= last)
    assert len(seen) > last // 10
    difference = np.array([places[tick] for tick in seen]) - expected[np.array(seen) - 1]
    assert np.abs(difference).max() < 1e-2
    assert expected[-1, 0] > 0.8 * 0.5 * 1.8
    assert expected[-1, 2] > 0.25
