"""Postures by joint names as ROS parameters, which know no maps: names with dots between."""

from __future__ import annotations

import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from node_rig import write_config
from robot_rig import RobotRig

from cnoid_control.ros.node.control_node import FAILURE, SUCCESS, ControlNode

NO_MANAGER = ['-p', 'hardware.ros2_control.controller_manager:=""']


@pytest.mark.parametrize('joint', ['elbow', 'nose'])
def test_posture_by_joint_names(ros_context, tmp_path, joint) -> None:
    """The joints that are named are where it says; one that does not exist is refused."""
    rig = RobotRig(ros_context)
    rig.repeat(rig.publish)
    file = write_config(tmp_path, timeout=5.0)
    text = file.read_text().replace('posture: [0.3, -0.2]', f'posture: {{{joint}: 0.3}}')
    start = text.index('    controller:')
    text = (
        text[:start]
        + '    controller: pd\n    pd: {posture: {elbow: 0.1}}\n'
        + (text[text.index('    hardware:') :])
    )
    file.write_text(text)
    words = ['--ros-args', '--params-file', str(file), *NO_MANAGER]
    node = ControlNode(context=rig.context, cli_args=words, use_global_arguments=False)
    try:
        outcome = node.trigger_configure()
        if joint == 'elbow':
            assert outcome == SUCCESS, node.problem
        else:
            assert outcome == FAILURE
            assert 'robot.posture.nose: unknown joint; choose from: shoulder' in node.problem
    finally:
        node.finish()
        node.destroy_node()
        rig.close()
