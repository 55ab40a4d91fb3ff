"""A robot brought up by its launch file on a ROS domain of its own, for launch_testing."""

import time
from contextlib import ExitStack

import rclpy
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription, SetEnvironmentVariable
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest
from nav_msgs.msg import Odometry
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState

from cnoid_control.ros.transport import reserved_domain
from cnoid_control.share import shared_file

STANDING_HEIGHT = 0.708


def seconds(message):
    """Return the stamp of a message [s]."""
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


class LaunchRig:
    """What `ros2 launch` starts, and how the robot fares."""

    def __init__(self):
        """Reserve nothing yet."""
        self._domain = ExitStack()
        self._number = 0

    def describe(self, name='sr1_pd', **arguments):
        """Return the description of a launch file with these arguments; tests begin at once."""
        self._number = self._domain.enter_context(reserved_domain())
        file = shared_file('launch', name, '.launch.py')
        included = IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(file)), launch_arguments=list(arguments.items())
        )
        variable = SetEnvironmentVariable('ROS_DOMAIN_ID', str(self._number))
        return LaunchDescription([variable, included, ReadyToTest()])

    def pose_after(self, duration, timeout=80.0):
        """Return the pose of the root when the robot has been commanded for so long [s]."""
        return self._last_after(duration, timeout, Odometry, 'cnoid_control_mujoco/root').pose.pose

    def state_after(self, duration, timeout=80.0):
        """Return the joint state when the robot has been commanded for so long [s]."""
        return self._last_after(duration, timeout, JointState, 'joint_states')

    def _last_after(self, duration, timeout, kind, topic):
        context = Context()
        rclpy.init(context=context, domain_id=self._number)
        node = Node('tester', context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        commands, received = [], []
        node.create_subscription(JointState, 'cnoid_control/joint_commands', commands.append, 1)

        def receive(message):
            if commands:
                received.append(message)

        node.create_subscription(kind, topic, receive, 1)
        deadline = time.monotonic() + timeout
        while not received or seconds(received[-1]) - seconds(received[0]) < duration:
            assert time.monotonic() < deadline, f'only {len(received)} messages in {timeout} s'
            executor.spin_once(timeout_sec=0.1)
        node.destroy_node()
        rclpy.shutdown(context=context)
        return received[-1]

    def close(self):
        """Give the domain back."""
        self._domain.close()
