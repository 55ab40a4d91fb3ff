"""The MuJoCo node as a process: how it ends."""

import signal

import pytest
from mujoco_rig import write_arm
from sensor_msgs.msg import JointState


@pytest.fixture
def arm(tmp_path):
    """Return a configuration file of a robot of two joints."""
    return write_arm(tmp_path)


def start(start_process, arm, *arguments):
    """Start the node without real-time priority."""
    ros = ['--ros-args', '--params-file', str(arm), '-p', 'realtime_priority:=0']
    return start_process('cnoid_control.ros.sim.node', *ros, *arguments)


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['-p', 'pacing:=sideways'], 'sideways'),
        (['-p', 'active_controllers:=[elbow_controller]'], 'elbow_controller'),
        (['-p', 'devices.Nose:=nose/imu'], 'devices.Nose'),
        (['-p', 'real_time_factor:=-1.0'], 'real_time_factor'),
        (['-p', 'hardware.mujoco.gravitas:=1.0'], 'gravitas'),
    ],
)
def test_a_bad_configuration_ends_the_node(start_process, arm, arguments, words):
    """The process ends with status 1 and a sentence that names what is wrong."""
    process = start(start_process, arm, *arguments)
    assert process.wait(timeout=60) == 1
    log = process.log_path.read_text()
    assert words in log
    assert 'Traceback' not in log


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_told(start_process, ros_node, spin_until, arm, number):
    """SIGINT and SIGTERM end the process with status 0."""
    process = start(start_process, arm)
    states = []
    ros_node.create_subscription(JointState, 'joint_states', states.append, 1)
    assert spin_until(lambda: states, timeout=60)
    process.send_signal(number)
    assert process.wait(timeout=20) == 0, process.log_path.read_text()
