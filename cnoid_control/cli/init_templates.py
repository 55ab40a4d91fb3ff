"""Texts of the files that `cnoid_control init` writes."""

from __future__ import annotations

CONTROLLER = '''"""$class_name holds its posture; change it into what you need."""

from dataclasses import dataclass

import numpy as np

from cnoid_control import ControllerIO, SimpleController, StateFlag, parameter
$imports

class $class_name(SimpleController):
    """Holds the initial posture by joint efforts."""

    @dataclass
    class Parameters:
        """What $name.yaml, `--option` and `ros2 param set` can set."""

        kp: dict[str, float] = parameter(
            {}, 'position gain of each joint', unit='N m/rad or N/m', minimum=0.0
        )
        kd: dict[str, float] = parameter(
            {}, 'velocity gain of each joint', unit='N m s/rad or N s/m', minimum=0.0
        )

    def initialize(self, io: ControllerIO) -> bool:
        """Say what is read and commanded, and remember the posture."""
        self.io, self.body = io, io.body
        names = {name for name in self.body.joint_names if name}
        for gains in (io.parameters.kp, io.parameters.kd):
            wrong = sorted(names ^ set(gains))
            if wrong:
                print('kp and kd: wrong or missing joints:', *wrong, file=io.os)
                return False
        for joint in self.body.joints:
            joint.actuation_mode = StateFlag.JOINT_EFFORT
            io.enable_io(joint)
            io.enable_input(joint, StateFlag.JOINT_VELOCITY)
        self.q_ref = self.body.q.copy()
        self.update_parameters(io.parameters, io.parameters)
$prepare        return True

    def update_parameters(self, old: Parameters, new: Parameters) -> None:
        """Take over gains that are changed while running."""
        names = self.body.joint_names
        self.kp = np.array([new.kp.get(name, 0.0) for name in names])
        self.kd = np.array([new.kd.get(name, 0.0) for name in names])

    def control(self) -> bool:
        """Compute the efforts of one tick."""
        body = self.body
        body.q_target[:] = self.q_ref
        efforts = self.kp * (self.q_ref - body.q) - self.kd * body.dq
$compensate        body.u[:] = np.clip(efforts, body.u_lower, body.u_upper)
        return True
'''

GRAVITY = {
    'imports': 'from cnoid_control.controllers.drive.laws import InverseDynamics\n',
    'prepare': '        self.dynamics = InverseDynamics(self.body)\n'
    '        self.still = np.zeros(self.body.num_joints)\n',
    'compensate': '        # The base is fixed: the model tells the weight of the links.\n'
    '        efforts += self.dynamics.effort(body.q, self.still, self.still)\n',
}
NO_GRAVITY = {'imports': '', 'prepare': '', 'compensate': ''}

TEST = '''"""$class_name holds its posture in MuJoCo."""

from pathlib import Path

from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.summary import RunMonitor

CONFIG = Path(__file__).parent / '$name.yaml'


def test_holds_its_posture():
    """For two seconds no joint leaves its place, and the robot does not fall."""
    loop = make_loop(load_config(CONFIG))
    monitor = RunMonitor(loop)
    outcome = loop.run(2.0)
    assert outcome.exit == 'completed', outcome.reason
    assert not monitor.fell
    assert monitor.max_joint_error < 0.2  # rad or m


def test_a_misspelt_joint_is_refused():
    """Gains are by joint name: one that does not exist is no silent nothing."""
    loop = make_loop(load_config(CONFIG, {'$section.kp.no_such_joint': 1.0}))
    assert loop.run(0.1).exit == 'failed'
'''

LAUNCH = '''"""$class_name on the hardware of your choice.

`hardware:=` takes mujoco, mock, topic, gazebo, mujoco_ros2_control or real.
"""

from pathlib import Path

from launch import LaunchDescription

from cnoid_control.ros.launch import bringup

FOLDER = Path(__file__).resolve().parent


def generate_launch_description() -> LaunchDescription:
    """The robot and the control node; `--show-args` lists the launch arguments."""
    return bringup(
        config=FOLDER / '$name.yaml',
        controllers_file=FOLDER / 'controllers.yaml',
        description_file=FOLDER / '$name.urdf',
    )
'''

CONFIG = """# $class_name holds its posture: cnoid_control run $name.yaml
$asked/**:
  ros__parameters:
    robot:
      model: $model
      # $base_reason
      base: $base
$posture    rate: $rate
    controller: $name.py:$class_name
$gains    hardware:
      type: mujoco
"""
