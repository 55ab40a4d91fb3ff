"""Readers and writers of robot models: URDF, MJCF and Choreonoid's .body."""

from cnoid_control.body.formats.load import load_body, load_description
from cnoid_control.body.formats.ros2_control_tag import select_hardware

__all__ = ['load_body', 'load_description', 'select_hardware']
