"""An arm, and a box that is pushed over or not."""

from __future__ import annotations

from pathlib import Path

import pytest

ARM = """<robot name="arm"><link name="world"/><link name="base"/>
<joint name="fix" type="fixed"><parent link="world"/><child link="base"/></joint>
<link name="upper"><inertial><mass value="2"/><origin xyz="0.25 0 0"/>
<inertia ixx="0.01" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
<axis xyz="0 0 1"/><origin xyz="0 0 0.5"/>
<limit lower="-3" upper="3" velocity="20" effort="200"/></joint></robot>"""
CONFIG = """
/**:
  ros__parameters:
    robot: {model: arm.urdf}
    rate: 200.0
    duration: 0.01
    controller: pd
    pd: {kp: 50.0, kd: 4.0}
    # For the node.
    realtime_priority: 7
    hardware: {mujoco: {floor: false, gravity: 0.0}}
cnoid_control_mujoco:
  ros__parameters: {real_time_factor: 0.5}
"""
# A mast on a foot: it stands where kp is above its weight times height, 8 kg at 0.5 m.
POST = """<robot name="post">
<link name="mast"><inertial><mass value="8"/><origin xyz="0 0 0.5"/>
<inertia ixx="0.1" iyy="0.1" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="foot"><inertial><mass value="4"/><origin xyz="0 0 -0.05"/>
<inertia ixx="0.05" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0 0 -0.05"/><geometry><box size="0.6 0.6 0.1"/></geometry></collision>
</link>
<joint name="ankle" type="revolute"><parent link="mast"/><child link="foot"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" velocity="50" effort="500"/></joint></robot>"""
POST_CONFIG = """
/**:
  ros__parameters:
    robot: {model: post.urdf, base: floating}
    rate: 500.0
    duration: 3.0
    controller: pd
    pd: {kp: 20.0, kd: 2.0}
    randomize:
      push: {first: {link: mast, force: {uniform: [5.0, 10.0]}, heading: 0.0, time: 0.1,
                     duration: 0.1}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, with the models and their configurations."""
    for name, text in {
        'arm.urdf': ARM,
        'arm.yaml': CONFIG,
        'post.urdf': POST,
        'post.yaml': POST_CONFIG,
    }.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path
