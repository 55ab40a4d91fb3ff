"""The messages room: its public names, and that it needs no ROS."""

import subprocess
import sys

import pytest

import cnoid_control.messages as room


@pytest.mark.parametrize('name', room.__all__)
def test_public_names_are_there(name):
    """Each name of `__all__` can be imported from the room."""
    assert getattr(room, name) is not None


def test_unknown_names_are_refused():
    """As by any other module."""
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        room.Nothing  # noqa: B018


def test_no_ros_is_needed():
    """All modules of the room and of the log import without rclpy."""
    code = (
        'import sys; sys.modules["rclpy"] = None\n'
        'from cnoid_control.messages import *\n'
        'import cnoid_control.log.device_messages\n'
    )
    subprocess.run([sys.executable, '-c', code], check=True)
