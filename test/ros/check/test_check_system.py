"""`check --ros` over DDS: a robot in the test's hands, and the simulated one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest
from mujoco_rig import ARM, write_arm
from rclpy.qos import DurabilityPolicy, QoSProfile
from robot_rig import QOS, ManagerNode
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

pytest.importorskip('controller_manager_msgs.msg', reason='interfaces are not built')

from cnoid_control.ros.check.check import check_system
from cnoid_control.ros.check.section import hardware_section
from cnoid_control.ros.robot_config import load_robot_config

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
CONFIG = """
/**:
  ros__parameters:
    controller: pd
    rate: {rate}
    use_sim_time: {simulated}
"""


def publish_states(rig) -> None:
    """Publish joint states with the machine's time, about fifty times a second."""

    def publish():
        rig.stamp = time.time()
        rig.publish(dt=0.0)

    rig.repeat(publish)


def describe(rig) -> None:
    """Publish the arm's description."""
    rig.robot.create_publisher(String, 'robot_description', LATCHED).publish(String(data=ARM))


def subjects(report) -> list[str]:
    """What the errors are about."""
    return [one.subject for one in report.findings if one.level == 'error']


def test_a_good_robot_is_usable_and_left_alone(rig) -> None:
    """The section names what is there; nothing was switched, published or advertised."""
    entry = ('inactive', ['elbow', 'shoulder'], 'effort')
    manager = ManagerNode(rig, {'effort_controller': entry}, update_rate=50)
    received = rig.listen(Float64MultiArray, 'effort_controller/commands')
    describe(rig)
    publish_states(rig)
    report = check_system(duration=1.0)
    assert subjects(report) == []
    assert report.is_usable
    options = hardware_section(report.plan)['hardware']['ros2_control']
    assert options == {
        'joint_states': 'joint_states',
        'controller_manager': 'controller_manager',
        'commands': {'effort_controller': {'interface': 'effort', 'type': 'forward'}},
    }
    assert report.plan.commands['effort'][0].joints == ['elbow', 'shoulder']
    timing = report.survey.joint_states[0].timing
    assert timing.count > 3
    assert 0.0 < timing.rate < 60.0
    assert report.survey.description.body.num_joints == 2
    assert manager.requests == []
    assert received == []
    assert rig.robot.count_publishers('/effort_controller/commands') == 0


def test_no_manager(rig) -> None:
    """Joint states alone: the manager is what to start first."""
    describe(rig)
    publish_states(rig)
    assert subjects(check_system(duration=0.6)) == ['controller_manager']


def test_faults_come_in_the_order_in_which_to_mend_them(rig, tmp_path) -> None:
    """Two publishers, no clock, a wrong rate, no controller and a second commander at once."""
    entry = ('inactive', ['shoulder', 'wrist'], 'effort')
    ManagerNode(rig, {'effort_controller': entry}, update_rate=50, use_sim_time=True)
    rig.node.create_publisher(JointState, 'joint_states', QOS)
    rig.node.create_publisher(Float64MultiArray, 'effort_controller/commands', QOS)
    describe(rig)
    publish_states(rig)
    config = tmp_path / 'arm.yaml'
    config.write_text(CONFIG.format(rate=1000.0, simulated='true'))
    report = check_system(load_robot_config(config), duration=0.6)
    assert subjects(report) == [
        '/joint_states',
        '/clock',
        'rate',
        'command controllers',
        'effort_controller',
        'other commanders',
    ]
    # A busy machine adds warnings.
    messages = {one.subject: one.message for one in report.findings if one.level == 'error'}
    assert 'several publishers: /cnoid_control, /robot' in messages['/joint_states']
    assert 'expects 1000 Hz' in messages['rate']
    assert 'elbow: effort_controller has shoulder, wrist' in messages['command controllers']
    assert 'it has wrist' in messages['effort_controller']
    assert 'commanded by /cnoid_control' in messages['other commanders']
    assert not report.is_usable


def test_wrong_joints_are_named(rig, tmp_path) -> None:
    """A model whose joints have other names than the joint states."""
    joints = ['left_shoulder', 'left_elbow']
    ManagerNode(rig, {'effort_controller': ('inactive', joints, 'effort')}, update_rate=50)

    def publish():
        rig.stamp = time.time()
        rig.publish(names=joints, dt=0.0)

    rig.repeat(publish)
    report = check_system(load_robot_config(write_arm(tmp_path)), duration=0.6)
    # Its controller is SR1's: that comes first.
    assert subjects(report)[:2] == ['arm', '/joint_states']
    assert "controller 'sr1_minimum', initialize()" in report.findings[0].message
    assert 'lacks shoulder, elbow; it has left_shoulder, left_elbow' in report.findings[1].message


def run_command(*words: str) -> subprocess.CompletedProcess:
    """Run the command line as a user does."""
    return subprocess.run(
        [sys.executable, '-m', 'cnoid_control.cli.main', 'check', '--ros', *words],
        capture_output=True,
        text=True,
        env=os.environ,
        timeout=120,
    )


def test_the_command_on_the_simulated_robot(start_process, ros_node, spin_until, tmp_path) -> None:
    """What it writes is a section that the same command then finds nothing wrong with."""
    config = write_arm(tmp_path)
    words = ['--ros-args', '--params-file', str(config), '-p', 'realtime_priority:=0']
    start_process('cnoid_control.ros.sim.node', *words, '-p', 'pacing:=free')
    states = []
    ros_node.create_subscription(JointState, 'joint_states', states.append, 1)
    assert spin_until(lambda: states, timeout=60)
    written = tmp_path / 'section.yaml'
    result = run_command('--duration', '1', '--json', '--write', str(written))
    report = json.loads(result.stdout)
    assert result.returncode == (0 if report['usable'] else 1), result.stderr
    options = report['configuration']['hardware']['ros2_control']
    assert list(options['commands']) == [
        'effort_controller',
        'position_controller',
        'velocity_controller',
        'damping_controller',
        'stiffness_controller',
    ]
    manager = report['seen']['managers'][0]
    assert manager['update_rate'] == 500.0
    assert manager['command_interfaces']['elbow/effort'] is True
    assert report['seen']['description']['joints'] == ['shoulder', 'elbow']
    text = written.read_text()
    assert 'controller_manager: controller_manager' in text
    # Written once, it is not overwritten.
    again = run_command('--write', str(written))
    assert again.returncode == 1
    assert 'exists already' in again.stderr
    # As a configuration with a controller, it is accepted.
    config = tmp_path / 'mine.yaml'
    config.write_text(text.replace('ros__parameters:', 'ros__parameters:\n    controller: pd'))
    load_robot_config(config)
    table = run_command(str(config), '--duration', '0.6')
    assert 'would be used' in table.stdout, table.stderr
    assert '/effort_controller/commands (inactive): shoulder, elbow' in table.stdout
