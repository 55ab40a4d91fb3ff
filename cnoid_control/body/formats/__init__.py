"""Readers and writers of robot models: URDF, xacro, MJCF and Choreonoid's .body."""

from cnoid_control.body.formats.load import load_body, load_description

__all__ = ['load_body', 'load_description']
