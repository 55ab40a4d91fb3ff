"""Any robot with a configuration, on the hardware of your choice."""

from launch import LaunchDescription

from cnoid_control.ros.launch import bringup


def generate_launch_description() -> LaunchDescription:
    """The robot of `config:=...` and the control node; `--show-args` lists the arguments."""
    return bringup()
