"""Tasks through ROS: targets from topics, switches from parameters, on a simulated arm."""

import json

import numpy as np
import pinocchio as pin
import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from node_rig import NodeRig
from sensor_msgs.msg import JointState

from cnoid_control.body import load_body

POSTURE = [0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0]
CONFIG = """
/**:
  ros__parameters:
    robot: {model: arm.urdf, posture: POSTURE}
    rate: 250.0
    controller: tasks
    tasks:
      joint_group: all
      output: position
      tasks:
        hand: {type: body_position, link: hand, gain: 4.0}
      constraints:
        speed: {type: joint_velocity, joint_group: all, maximum: 0.5}
    hardware:
      type: mujoco
      ros2_control: {lock_step: true, startup_timeout: 20.0}
cnoid_control_mujoco:
  ros__parameters: {pacing: lockstep, real_time_factor: 0.0}
"""


@pytest.fixture
def rig(ros_node, spin_until, start_process, tmp_path):
    """Return a rig with the seven-joint arm; nothing is started."""
    config = tmp_path / 'tasks.yaml'
    config.write_text(CONFIG.replace('POSTURE', json.dumps(POSTURE)))
    return NodeRig(ros_node, spin_until, start_process, config)


def hand_at(positions):
    """Pose of the hand with these joint positions, by name."""
    body = load_body('package://cnoid_control/urdf/arm.urdf')
    body.q[:] = [positions[name] for name in body.joint_names]
    body.calc_forward_kinematics()
    return body.link('hand').T.copy()


def pose_message(pose):
    """Make the message of a pose in the frame of the base, which stands in the world's origin."""
    message = PoseStamped()
    message.header.frame_id = 'base'
    position, orientation = message.pose.position, message.pose.orientation
    position.x, position.y, position.z = pose[:3, 3].tolist()
    quaternion = pin.Quaternion(pose[:3, :3]).coeffs().tolist()
    orientation.x, orientation.y, orientation.z, orientation.w = quaternion
    return message


def test_the_hand_goes_where_a_topic_says(rig):
    """A pose in the frame of a link is reached, it is reported, and the task can be switched."""
    rig.start_robot()
    rig.start_node()
    rig.wait_for_state('active')
    states, diagnostics = [], []
    rig.node.create_subscription(JointState, 'joint_states', states.append, 50)
    rig.node.create_subscription(DiagnosticArray, '/diagnostics', diagnostics.append, 10)
    goal = hand_at({f'joint{i + 1}': q for i, q in enumerate(POSTURE)})
    goal[:3, 3] += [-0.05, 0.1, -0.05]

    def distance():
        pose = hand_at(dict(zip(states[-1].name, states[-1].position, strict=True)))
        return np.linalg.norm(pose[:3, 3] - goal[:3, 3])

    publisher = rig.node.create_publisher(PoseStamped, 'cnoid_control/hand/target', 10)
    assert rig.spin_until(publisher.get_subscription_count)
    publisher.publish(pose_message(goal))
    assert rig.spin_until(lambda: states and distance() < 5e-3, timeout=60.0), rig.log

    def wait_for_states(number):
        count = len(states)
        assert rig.spin_until(lambda: len(states) > count + number), rig.log

    def told():
        return {
            value.key: value.value
            for message in diagnostics
            for status in message.status
            for value in status.values
        }

    assert rig.spin_until(lambda: any('hand.error' in key for key in told())), told()
    assert rig.set(tasks__tasks__hand__gain=2.0) == (True, '')
    success, reason = rig.set(tasks__tasks__hand__gain=-1.0)
    assert not success
    assert 'gain' in reason
    assert rig.set(tasks__tasks__hand__enabled=False) == (True, '')

    def rests():
        return np.ptp([state.position for state in states[-50:]], axis=0).max() < 1e-3

    wait_for_states(50)
    assert rig.spin_until(rests, timeout=60.0), states[-1]
    still = distance()
    farther = goal.copy()
    farther[2, 3] += 0.1
    publisher.publish(pose_message(farther))
    wait_for_states(300)
    assert distance() == pytest.approx(still, abs=2e-3)
