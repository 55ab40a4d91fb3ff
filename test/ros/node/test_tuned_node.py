"""A configuration that was found by a search, as it is, on the node."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from mujoco_rig import ARM
from node_rig import NodeRig
from sensor_msgs.msg import JointState

from cnoid_control import tune

CONFIG = """
/**:
  ros__parameters:
    robot: {model: arm.urdf, base: fixed, posture: [0.3, -0.2]}
    rate: 250.0
    controller: pd
    randomize:
      mass: {uniform: [0.8, 1.2]}
    hardware:
      type: mujoco
      mujoco: {floor: false}
      ros2_control: {lock_step: true, startup_timeout: 20.0}
cnoid_control:
  ros__parameters: {swap_blend_time: 0.1}
"""


def test_a_tuned_file_runs_on_the_node(ros_node, spin_until, start_process, tmp_path: Path):
    """The node and the simulated robot take the file; the gains are those that were found."""
    (tmp_path / 'arm.urdf').write_text(ARM)
    (tmp_path / 'arm.yaml').write_text(CONFIG)
    found = tune(
        tmp_path / 'arm.yaml',
        {'pd.kp': '50..500:log', 'pd.kd': '5..50:log', 'rate': {'choice': [250, 500]}},
        minimize='max_joint_error',
        duration=0.2,
        trials=4,
        runs=2,
        workers=0,
    )
    (tmp_path / 'elsewhere').mkdir()
    file = tmp_path / 'elsewhere' / 'tuned.yaml'
    found.save(file)
    rig = NodeRig(ros_node, spin_until, start_process, file)
    states: list[JointState] = []
    ros_node.create_subscription(JointState, 'joint_states', states.append, 10)
    rig.start_robot()
    rig.start_node()
    rig.wait_for_state('active')
    assert rig.get('pd.kp') == found.best.values['pd.kp']
    assert rig.get('swap_blend_time') == 0.1
    count = len(states)
    assert spin_until(lambda: len(states) > count + 20, 30.0), rig.logs
    held = found.best.score.values[0]
    assert states[-1].position == pytest.approx([0.3, -0.2], abs=2.0 * held + 0.02)
