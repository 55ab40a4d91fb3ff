"""A controller that commands gains, through DDS: what the robot's drives are told."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')
pytest.importorskip('mujoco', reason='needs MuJoCo')

from lifecycle_msgs.msg import Transition
from node_rig import CONTROLLERS, NodeRig, write_config
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

POSTURE = [0.3, -0.2]
LIMITS = ('-p', 'limits.max_stiffness:=350.0')


class Drives:
    """What the drives are told, and where the joints are."""

    def __init__(self, node) -> None:
        """Listen."""
        self.last: dict[str, list[float]] = {}
        self.states: list[JointState] = []
        for name in ('effort', 'stiffness', 'damping', 'position'):
            node.create_subscription(
                Float64MultiArray,
                f'{name}_controller/commands',
                lambda message, name=name: self.last.__setitem__(name, list(message.data)),
                10,
            )
        node.create_subscription(JointState, 'joint_states', self.states.append, 10)


@pytest.fixture
def rig(ros_node, spin_until, start_process, tmp_path):
    """Return a rig whose node runs a controller of gains."""
    config = write_config(tmp_path)
    config.write_text(config.read_text().replace(':Hold', ':Gains').replace('hold:', 'gains:'))
    return NodeRig(ros_node, spin_until, start_process, config)


def test_gains_reach_the_drives_and_leave_them_safe(rig, ros_node, spin_until):
    """Within limits, without a jump in a swap to efforts and back; damping is what is left."""
    drives = Drives(ros_node)
    rig.start_robot()
    rig.start_node(*LIMITS)
    rig.wait_for_state('active')
    assert spin_until(lambda: drives.last.get('stiffness') == [300.0, 300.0]), rig.logs
    assert drives.last['damping'] == [5.0, 5.0]
    assert rig.set(gains__kp=500.0) == (True, '')
    assert spin_until(lambda: drives.last['stiffness'] == [350.0, 350.0])
    rig.wait_for_swap()
    drives.states.clear()
    assert spin_until(lambda: drives.states), rig.logs
    for name in ('GainsByEffort', 'Gains'):
        assert rig.set(controller=f'{CONTROLLERS}:{name}')[0], rig.logs
        rig.wait_for_swap()
    # Either holds where it began, and sinks until gravity is balanced, at 0.5 rad/s; an arm that
    # nobody holds is faster after 50 ms.
    speed = np.abs([state.velocity for state in drives.states]).max()
    assert speed < 0.8
    assert rig.trigger('stop')[0]
    assert spin_until(lambda: drives.last['stiffness'] != [350.0, 350.0])
    assert spin_until(lambda: max(drives.last['stiffness']) <= 350.0)
    assert min(drives.last['damping']) > 0.0
    assert rig.trigger('estop')[0]
    assert spin_until(lambda: drives.last['stiffness'] == [0.0, 0.0])
    assert spin_until(lambda: drives.last['damping'] == [0.0, 0.0])
    assert rig.trigger('reset')[0], rig.logs
    assert spin_until(lambda: drives.last['damping'] == [5.0, 5.0]), rig.logs
    assert rig.change_state(Transition.TRANSITION_DEACTIVATE)
    assert spin_until(lambda: drives.last['stiffness'] == [0.0, 0.0])
    assert drives.last['damping'] == [5.0, 5.0]
    assert drives.last['effort'] == [0.0, 0.0]


def test_gains_that_could_not_be_meant_stop_the_controller(rig, ros_node, spin_until):
    """More than ten times the limit, three times in a row: the safe state holds the robot."""
    drives = Drives(ros_node)
    rig.start_robot()
    rig.start_node(*LIMITS)
    rig.wait_for_state('active')
    assert spin_until(lambda: drives.last.get('stiffness') == [300.0, 300.0]), rig.logs
    rig.set(gains__kp=1e4)
    rig.wait_for_log('safe state')
    assert "stiffness 10000 of joint 'shoulder'" in rig.log
    assert max(drives.last['stiffness']) <= 350.0


def test_without_gain_interfaces_the_node_computes_them(rig, ros_node, spin_until):
    """The same controller holds the same arm by efforts; when the node stops they are zero."""
    drives = Drives(ros_node)
    rig.start_robot()
    rig.start_node('-p', 'hardware.ros2_control.joint_pid:=effort')
    rig.wait_for_state('active')
    rig.wait_for_log('PD of shoulder, elbow is computed here, at 250 Hz')
    rig.wait_for_swap(1.0)
    assert 'stiffness' not in drives.last

    def is_balanced() -> bool:
        if not drives.states or 'effort' not in drives.last:
            return False
        error = np.subtract(POSTURE, drives.states[-1].position)
        return np.allclose(drives.last['effort'], 300.0 * error, atol=0.5)

    # At rest gravity is balanced by kp times the error.
    assert spin_until(is_balanced), rig.logs
    assert rig.change_state(Transition.TRANSITION_DEACTIVATE)
    assert spin_until(lambda: drives.last['effort'] == [0.0, 0.0])


def test_the_drives_damp_when_the_node_is_killed(rig, ros_node, spin_until, start_process):
    """The monitor takes the stiffness away; the arm sinks as slowly as its damping lets it."""
    drives = Drives(ros_node)
    rig.start_robot('-p', 'pacing:=paced')
    rig.start_node(
        *('-p', 'gains.kd:=20.0', '-p', 'hardware.ros2_control.lock_step:=false'),
        *('-p', 'watchdog.state_timeout:=5.0'),
    )
    monitor = start_process(
        'cnoid_control.ros.heartbeat',
        *('--ros-args', '--params-file', str(rig.config)),
        *('-p', 'heartbeat.timeout:=1.0', '-p', 'heartbeat.realtime_priority:=0'),
    )
    said = monitor.log_path.read_text
    assert spin_until(lambda: 'watching' in said(), timeout=60), said() + rig.logs
    assert spin_until(lambda: drives.last.get('stiffness') == [300.0, 300.0]), rig.logs
    rig.process.kill()
    assert spin_until(lambda: 'deactivated:' in said(), timeout=30), said()
    assert spin_until(lambda: drives.last['stiffness'] == [0.0, 0.0]), said()
    assert drives.last['damping'] == [20.0, 20.0]
    drives.states.clear()
    assert spin_until(lambda: drives.states and drives.states[-1].position[0] > 0.8), rig.logs
    # Gravity has 10 N m on the shoulder at most; without damping the arm would be at 5 rad/s.
    assert np.abs([state.velocity for state in drives.states]).max() < 1.0


def test_without_states_the_stiffness_fades(rig, ros_node, spin_until):
    """The robot falls silent: what its drives are told in the end is to damp."""
    drives = Drives(ros_node)
    rig.start_robot('-p', 'pacing:=paced')
    rig.start_node('-p', 'hardware.ros2_control.lock_step:=false')
    rig.wait_for_state('active')
    assert spin_until(lambda: drives.last.get('stiffness') == [300.0, 300.0]), rig.logs
    rig.robot.kill()
    rig.wait_for_log('safe state: no joint states')
    assert spin_until(lambda: drives.last['stiffness'] == [0.0, 0.0]), rig.log
    assert drives.last['effort'] == [0.0, 0.0]
    assert min(drives.last['damping']) > 0.0
