"""The launch file that `cnoid_control init` writes: a test of launch_testing.

launch_testing comes with ROS 2 and is not on PyPI; where it is missing this test is skipped.
"""

import tempfile
import unittest
from pathlib import Path

import pytest

pytest.importorskip('launch_ros', reason='launch_ros is not installed: it comes with ROS 2')
pytest.importorskip('launch_testing', reason='launch_testing is not installed: as launch_ros')

from launch_rig import LaunchRig
from launch_testing import post_shutdown_test
from launch_testing.asserts import assertExitCodes

from cnoid_control.cli.init_command import create_robot_folder
from cnoid_control.runtime.config import load_config

rig = LaunchRig()
folder = tempfile.TemporaryDirectory()


@pytest.mark.launch_test
def generate_test_description():
    """Start what `ros2 launch FOLDER/own_arm.launch.py` starts, nothing edited."""
    create_robot_folder('arm.urdf', Path(folder.name) / 'own_arm')
    file = Path(folder.name) / 'own_arm' / 'own_arm.launch.py'
    return rig.describe(str(file), pacing='lockstep')


class TestWhileItRuns(unittest.TestCase):
    """The robot, as its joint states tell it."""

    def test_it_holds_its_posture(self):
        """After a second of commands every joint is where the configuration says."""
        config = load_config(Path(folder.name) / 'own_arm' / 'own_arm.yaml')
        state = rig.state_after(1)
        posture = dict(zip(state.name, state.position, strict=True))
        assert posture == pytest.approx(config.parameters.robot.posture, abs=0.01)


@post_shutdown_test()
class TestAfterwards(unittest.TestCase):
    """What SIGINT, which ends a launch, leaves behind."""

    def test_all_ended_in_order(self, proc_info):
        """Node, simulated robot and monitor ended by themselves and say that nothing failed."""
        rig.close()
        folder.cleanup()
        assert len(list(proc_info.process_names())) == 3
        assertExitCodes(proc_info)
