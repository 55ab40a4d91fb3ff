"""Several robots through ROS: one node, one list of tasks, the joint names of both."""

import numpy as np
import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from node_rig import NodeRig
from sensor_msgs.msg import JointState

from cnoid_control.runtime.build import make_robot
from cnoid_control.runtime.config import find_config, load_config

CONFIG = """
cnoid_control:
  ros__parameters:
    hardware:
      ros2_control: {lock_step: true, startup_timeout: 20.0}
cnoid_control_mujoco:
  ros__parameters: {pacing: lockstep, real_time_factor: 0.0}
"""


def test_two_arms_carry_a_frame_over_topics(ros_node, spin_until, start_process, tmp_path):
    """The frame goes on its way, and the hands keep their pose to each other."""
    shipped = find_config('two_arms')
    config = tmp_path / 'two_arms.yaml'
    config.write_text(shipped.read_text() + CONFIG)
    rig = NodeRig(ros_node, spin_until, start_process, config)
    rig.start_robot()
    rig.start_node()
    states = []
    rig.node.create_subscription(JointState, 'joint_states', states.append, 100)
    rig.wait_for_state('active')
    loaded = load_config(shipped)
    body = make_robot(loaded.parameters.robot, loaded.folder)

    def hands(message):
        q = dict(zip(message.name, message.position, strict=True))
        body.q[:] = [q[name] for name in body.joint_names]
        body.calc_forward_kinematics()
        return body.link('left_hand').T.copy(), body.link('right_hand').T.copy()

    left, right = (body.link(f'{side}_hand').T.copy() for side in ('left', 'right'))
    grip = np.linalg.inv(left) @ right

    def has_come_far():
        return states and np.linalg.norm(hands(states[-1])[0][:3, 3] - left[:3, 3]) > 0.1

    assert rig.spin_until(has_come_far, timeout=90.0), rig.logs
    assert set(states[-1].name) == {
        f'{s}_joint{i}' for s in ('left', 'right') for i in range(1, 8)
    }
    for message in states[::20]:
        now = hands(message)
        slip = (np.linalg.inv(now[0]) @ now[1])[:3, 3] - grip[:3, 3]
        assert np.linalg.norm(slip) < 3e-3
