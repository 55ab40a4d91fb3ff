"""SR1 stands up, shifts its weight, waves and sits down, on the hardware of your choice."""

from launch import LaunchDescription

from cnoid_control.ros.launch import bringup


def generate_launch_description() -> LaunchDescription:
    """SR1 and the control node; `--show-args` lists the launch arguments."""
    return bringup(config='sr1_routine')
