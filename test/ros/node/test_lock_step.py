"""Both nodes in lock-step, in processes of their own: a slow machine changes nothing."""

import time

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs MuJoCo')

SIMULATOR = ('-p', 'pacing:=lockstep', '-p', 'real_time_factor:=0.0')


@pytest.fixture
def observer(ros_domain):
    """Return an observer of two of SR1's joints."""
    from cnoid_control.demo.robot_observer import RobotObserver

    observer = RobotObserver(
        ros_domain,
        ['LLEG_KNEE', 'RLEG_KNEE'],
        'cnoid_control_mujoco/root',
        'cnoid_control/joint_commands',
        [],
    )
    yield observer
    observer.close()


def test_watches_on_the_wall_clock_do_not_stop_a_robot_in_lock_step(start_process, observer, root):
    """With the shortest thresholds that are allowed the robot is still controlled.

    Not that of control(): one that is given is kept, whoever waits for whom.
    """
    config = ('--ros-args', '--params-file', str(root / 'config' / 'sr1_pd.yaml'))
    impatient = ('subscriber_timeout', 'state_timeout')
    watchdog = [w for name in impatient for w in ('-p', f'watchdog.{name}:=0.001')]
    start_process('cnoid_control.ros.sim.node', *config, *SIMULATOR)
    node = start_process(
        'cnoid_control.ros.node.control_node',
        *config,
        *('-p', 'hardware.ros2_control.lock_step:=true'),
        *watchdog,
        *('-p', 'watchdog.grace:=0.0'),
    )
    deadline = time.monotonic() + 90
    while not observer.samples or observer.samples[-1].time < 0.3:
        assert time.monotonic() < deadline, node.log_path.read_text()
        assert node.poll() is None, node.log_path.read_text()
        observer.look(0.1)
    assert 'limit' not in node.log_path.read_text()
    assert np.abs(observer.samples[-1].q - 0.0785).max() < 0.05
