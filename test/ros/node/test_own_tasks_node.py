"""Classes of one's own and bundles of tasks on ROS: parameters set their options and switches."""

import shutil
from pathlib import Path

import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from node_rig import NodeRig
from sensor_msgs.msg import JointState

OWN = Path(__file__).resolve().parents[2] / 'controllers' / 'tasks' / 'own_classes.py'
CONFIG = """
/**:
  ros__parameters:
    robot: {model: arm.urdf, posture: [0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0]}
    rate: 250.0
    controller: tasks
    tasks:
      joint_group: all
      output: position
      tasks:
        swing: {type: "FILE:Swing", link: hand, options: {speed: 0.02, frequency: 0.1}}
      configurations:
        motion: {tasks: [swing]}
    hardware:
      type: mujoco
      ros2_control: {lock_step: true, startup_timeout: 20.0}
cnoid_control_mujoco:
  ros__parameters: {pacing: lockstep, real_time_factor: 0.0}
"""


def test_options_and_bundles_follow_parameters(ros_node, spin_until, start_process, tmp_path):
    """A task of a file swings; its speed and its bundle are set, what is wrong is refused."""
    shutil.copy(OWN, tmp_path)
    config = tmp_path / 'own.yaml'
    config.write_text(CONFIG.replace('FILE', str(tmp_path / OWN.name)))
    rig = NodeRig(ros_node, spin_until, start_process, config)
    rig.start_robot()
    rig.start_node()
    states = []
    rig.node.create_subscription(JointState, 'joint_states', states.append, 50)
    rig.wait_for_state('active')

    def rate():
        """Speed of the second joint over the last 20 messages."""
        first, last = states[-21].header.stamp, states[-1].header.stamp
        joint = states[-1].name.index('joint2')
        change = states[-1].position[joint] - states[-21].position[joint]
        return abs(change / (last.sec - first.sec + 1e-9 * (last.nanosec - first.nanosec)))

    def wait_for(condition):
        count = len(states)
        assert rig.spin_until(
            lambda: len(states) > count + 40 and condition(rate()), timeout=60.0
        ), rig.logs

    wait_for(lambda moved: moved > 5e-3)
    assert rig.set(tasks__tasks__swing__options__speed=0.0) == (True, '')
    wait_for(lambda moved: moved < 5e-4)
    success, reason = rig.set(tasks__tasks__swing__options__speed=-1.0)
    assert not success
    assert 'speed' in reason
    success, reason = rig.set(tasks__tasks__swing__options__frequency=1.0)
    assert not success
    assert 'frequency: read-only' in reason
    assert rig.set(tasks__configurations__motion__enabled=False) == (True, '')
    assert rig.set(tasks__tasks__swing__options__speed=0.02) == (True, '')
    count = len(states)
    assert rig.spin_until(lambda: len(states) > count + 300), rig.logs
    assert rate() < 5e-4
    assert rig.set(tasks__configurations__motion__enabled=True) == (True, '')
    wait_for(lambda moved: moved > 5e-3)
