"""A function that makes a controller, as the controller of the node, and another swapped in."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from mujoco_rig import ARM
from node_rig import NodeRig
from sensor_msgs.msg import JointState

CONFIG = """
/**:
  ros__parameters:
    robot: {model: arm.urdf, base: fixed, posture: [0.3, -0.2]}
    rate: 250.0
    controller: mine.py:make
    make: {goal: 0.2, actuators: controller, kp: 300.0, kd: 30.0}
    hardware:
      type: mujoco
      mujoco: {floor: false, gravity: 0.0}
      ros2_control: {lock_step: true, startup_timeout: 20.0}
cnoid_control:
  ros__parameters: {allow_file_plugins: true}
"""
MINE = """
import numpy as np
from cnoid_control import SimpleController, StateFlag
from cnoid_control.controllers.composition import LambdaController

def make(robot, goal: float = 0.0, weights=np.ones(3)):
    return LambdaController(lambda t: {'qcmd': np.full(robot.num_joints, goal)}, ['t'])

class Hold(SimpleController):
    def __init__(self, goal):
        self.goal = goal
    def initialize(self, io):
        self.body = io.body
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_EFFORT
            io.enable_input(joint, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
            io.enable_output(joint)
        return True
    def control(self):
        self.body.u[:] = 300.0 * (self.goal - self.body.q) - 30.0 * self.body.dq
        return True

def hold(robot, goal: float = -0.1):
    return Hold(goal)

def wrong():
    return None
"""


def test_functions_on_the_node(ros_node, spin_until, start_process, tmp_path: Path) -> None:
    """They run, take options, and are swapped; what makes no controller is refused."""
    (tmp_path / 'arm.urdf').write_text(ARM)
    (tmp_path / 'mine.py').write_text(MINE)
    file = tmp_path / 'node.yaml'
    file.write_text(CONFIG)
    rig = NodeRig(ros_node, spin_until, start_process, file)
    states: list[JointState] = []
    ros_node.create_subscription(JointState, 'joint_states', states.append, 10)

    def reaches(goal: float) -> bool:
        return spin_until(
            lambda: states and max(abs(q - goal) for q in states[-1].position) < 0.05, 30.0
        )

    rig.start_robot()
    rig.start_node()
    rig.wait_for_state('active')
    assert reaches(0.2), (states[-1:], rig.logs)
    done, reason = rig.set(controller='mine.py:wrong')
    assert not done
    assert 'it must take the robot' in reason
    assert rig.set(make__kp=350.0) == (True, '')
    done, reason = rig.set(make__goal=0.4)
    assert not done
    assert 'make.goal' in reason
    done, reason = rig.set(controller='mine.py:hold')
    assert done, reason
    assert reaches(-0.1), rig.logs
