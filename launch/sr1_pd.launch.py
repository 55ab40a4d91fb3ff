"""SR1 stands: a torque controller on a robot of one's choice."""

from launch import LaunchDescription

from cnoid_control.ros.launch import bringup


def generate_launch_description() -> LaunchDescription:
    """Describe what is started; `ros2 launch cnoid_control sr1_pd.launch.py --show-args`."""
    return bringup(config='sr1_pd', controllers_file='controller_manager/sr1')
