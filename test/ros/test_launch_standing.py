"""SR1 stands by its launch file, and everything ends in order: a test of launch_testing.

launch_testing comes with ROS 2 and is not on PyPI; where it is missing this test is skipped.
"""

import unittest

import pytest

pytest.importorskip('launch_ros', reason='launch_ros is not installed: it comes with ROS 2')
pytest.importorskip('launch_testing', reason='launch_testing is not installed: as launch_ros')

from launch_rig import STANDING_HEIGHT, LaunchRig
from launch_testing import post_shutdown_test
from launch_testing.asserts import assertExitCodes

rig = LaunchRig()


@pytest.mark.launch_test
def generate_test_description():
    """Start what `ros2 launch cnoid_control sr1_pd.launch.py pacing:=lockstep` starts."""
    return rig.describe(pacing='lockstep')


class TestWhileItRuns(unittest.TestCase):
    """The robot, as its ground truth tells it."""

    def test_sr1_stands(self):
        """After two seconds SR1 stands upright."""
        assert rig.pose_after(2).position.z == pytest.approx(STANDING_HEIGHT, abs=0.01)


@post_shutdown_test()
class TestAfterwards(unittest.TestCase):
    """What SIGINT, which ends a launch, leaves behind."""

    def test_all_ended_in_order(self, proc_info):
        """All processes ended by themselves and say that nothing failed."""
        rig.close()
        assert len(list(proc_info.process_names())) == 3
        assertExitCodes(proc_info)
