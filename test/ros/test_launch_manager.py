"""SR1 stands behind a real controller_manager: a test of launch_testing.

Where launch_testing or ros2_control is missing this test is skipped.
"""

import unittest

import pytest

pytest.importorskip('launch_ros', reason='launch_ros is not installed: it comes with ROS 2')
pytest.importorskip('launch_testing', reason='launch_testing is not installed: as launch_ros')

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch_rig import STANDING_HEIGHT, LaunchRig
from launch_testing import post_shutdown_test
from launch_testing.asserts import assertExitCodes

PACKAGES = (
    'controller_manager',
    'forward_command_controller',
    'joint_state_broadcaster',
    'joint_state_topic_hardware_interface',
    'robot_state_publisher',
)


def missing():
    """Return why the test cannot be run; empty where it can."""
    try:
        for package in PACKAGES:
            get_package_prefix(package)
    except (PackageNotFoundError, LookupError, OSError) as error:
        return f'ros2_control is not installed: {error}'
    return ''


rig = LaunchRig()

if missing():
    # Skipped here and not above: launch_testing imports this file to see what it is, and a skip
    # would take the whole folder along.
    @pytest.mark.skip(reason=missing())
    def test_sr1_stands_behind_a_manager():
        """Tell why it is skipped."""

else:

    @pytest.mark.launch_test
    def generate_test_description():
        """Start what `ros2 launch ... hardware:=topic pacing:=lockstep` starts."""
        return rig.describe(hardware='topic', pacing='lockstep')

    class TestWhileItRuns(unittest.TestCase):
        """The robot, as its ground truth tells it."""

        def test_sr1_stands(self):
            """After three seconds, the first of which it is held by its servos, SR1 stands."""
            assert rig.pose_after(3).position.z == pytest.approx(STANDING_HEIGHT, abs=0.01)

    @post_shutdown_test()
    class TestAfterwards(unittest.TestCase):
        """What SIGINT, which ends a launch, leaves behind."""

        def test_all_ended_in_order(self, proc_info):
            """All processes ended by themselves and say that nothing failed."""
            rig.close()
            assert len(list(proc_info.process_names())) == 7
            assertExitCodes(proc_info)
