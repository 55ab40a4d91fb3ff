"""SR1 walks: a recorded motion on a robot of one's choice."""

from launch import LaunchDescription

from cnoid_control.ros.launch import bringup


def generate_launch_description() -> LaunchDescription:
    """Describe what is started; `ros2 launch cnoid_control sr1_walk.launch.py --show-args`."""
    return bringup(config='sr1_walk', controllers_file='controller_manager/sr1')
