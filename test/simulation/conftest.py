"""A pendulum that nobody else has, and a box on the ground."""

from __future__ import annotations

from pathlib import Path

import pytest

ARM = """<robot name="arm"><link name="world"/><link name="base"/>
<joint name="fix" type="fixed"><parent link="world"/><child link="base"/></joint>
<link name="upper"><inertial><mass value="2"/><origin xyz="0.25 0 0"/>
<inertia ixx="0.01" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0.25 0 0"/><geometry><box size="0.5 0.04 0.2"/></geometry></collision>
</link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
<axis xyz="0 0 1"/><origin xyz="0 0 0.5"/>
<limit lower="-3" upper="3" velocity="20" effort="200"/></joint></robot>"""
BOX = """<robot name="box"><link name="box"><inertial><mass value="4"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.4 0.4 0.4"/></geometry></collision></link></robot>"""
CONFIG = """
/**:
  ros__parameters:
    robot: {model: arm.urdf}
    rate: 200.0
    controller: pd
    pd: {kp: 100.0, kd: 20.0}
    hardware: {mujoco: {floor: false, gravity: 0.0, time_step: 0.001}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the models and a configuration of the arm."""
    (tmp_path / 'arm.urdf').write_text(ARM)
    (tmp_path / 'box.urdf').write_text(BOX)
    (tmp_path / 'arm.yaml').write_text(CONFIG)
    return tmp_path
