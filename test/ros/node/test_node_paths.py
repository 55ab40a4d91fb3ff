"""Relative paths in a node's parameters start at the folder of its parameter file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from mujoco_rig import ARM
from node_rig import CONFIG, CONTROLLERS, NodeRig

from cnoid_control.ros.config_folder import config_folder


def test_model_and_controller_beside_the_parameter_file(
    ros_node, spin_until, start_process, tmp_path: Path
) -> None:
    """Of the node and of the simulated robot, whatever folder they are started in."""
    (tmp_path / 'models').mkdir()
    (tmp_path / 'models/arm.urdf').write_text(ARM)
    shutil.copy(CONTROLLERS, tmp_path / 'mine.py')
    file = tmp_path / 'node.yaml'
    text = CONFIG.format(model='models/arm.urdf', controllers='mine.py', timeout=20.0)
    file.write_text(text)
    rig = NodeRig(ros_node, spin_until, start_process, file)
    rig.start_robot()
    rig.start_node()
    rig.wait_for_state('active')
    assert rig.set(controller='mine.py:Hold') == (True, ''), 'the same one is no swap'


def test_the_first_file_is_the_configuration(tmp_path: Path) -> None:
    """What a launch file changes comes behind it; a parameter overrules both."""
    words = ['x', '--ros-args', '--params-file', f'{tmp_path}/a.yaml', '--params-file', '/b.yaml']
    assert config_folder({}, words) == tmp_path
    assert config_folder({'config_folder': '/c'}, words) == Path('/c')
    assert config_folder({}, ['x']) == Path.cwd()
