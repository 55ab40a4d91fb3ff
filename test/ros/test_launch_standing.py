"""SR1 stands by its launch file, and everything ends in order: a test of launch_testing.

launch_testing comes with ROS 2 and is not on PyPI; where it is missing this test is skipped.
"""

import time
import unittest
from contextlib import ExitStack

import pytest

pytest.importorskip('launch_ros', reason='launch_ros is not installed: it comes with ROS 2')
pytest.importorskip('launch_testing', reason='launch_testing is not installed: as launch_ros')

import rclpy
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription, SetEnvironmentVariable
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing import post_shutdown_test
from launch_testing.actions import ReadyToTest
from launch_testing.asserts import assertExitCodes
from nav_msgs.msg import Odometry
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from cnoid_control.ros.domain import reserved_domain
from cnoid_control.share import shared_file

STANDING_HEIGHT = 0.708
# Kept until the processes have ended.
domain = ExitStack()


@pytest.mark.launch_test
def generate_test_description():
    """Start what `ros2 launch cnoid_control sr1_pd.launch.py pacing:=lockstep` starts."""
    number = domain.enter_context(reserved_domain())
    file = shared_file('launch', 'sr1_pd', '.launch.py')
    return LaunchDescription(
        [
            SetEnvironmentVariable('ROS_DOMAIN_ID', str(number)),
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(str(file)),
                launch_arguments=[('pacing', 'lockstep')],
            ),
            ReadyToTest(),
        ]
    ), {'number': number}


class TestWhileItRuns(unittest.TestCase):
    """The robot, as its ground truth tells it."""

    def test_sr1_stands(self, number):
        """Two seconds after its start SR1 stands upright."""
        context = Context()
        rclpy.init(context=context, domain_id=number)
        node = Node('tester', context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        poses = []
        node.create_subscription(Odometry, 'cnoid_control_mujoco/root', poses.append, 1)
        deadline = time.monotonic() + 80.0
        while time.monotonic() < deadline and not (poses and poses[-1].header.stamp.sec >= 2):
            executor.spin_once(timeout_sec=0.1)
        node.destroy_node()
        rclpy.shutdown(context=context)
        assert poses, 'nothing was heard of the robot'
        assert poses[-1].header.stamp.sec >= 2
        assert poses[-1].pose.pose.position.z == pytest.approx(STANDING_HEIGHT, abs=0.01)


@post_shutdown_test()
class TestAfterwards(unittest.TestCase):
    """What SIGINT, which ends a launch, leaves behind."""

    def test_all_ended_in_order(self, proc_info):
        """Both processes ended by themselves and say that nothing failed."""
        domain.close()
        assert len(list(proc_info.process_names())) == 2
        assertExitCodes(proc_info)
