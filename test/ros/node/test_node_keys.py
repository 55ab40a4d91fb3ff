"""Keys of a parameter file that are the nodes' own."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from cnoid_control.ros.node.parameters import NODE_KEYS
from cnoid_control.runtime.config import ROS_KEYS


def test_a_run_without_ros_ignores_exactly_the_parameters_of_the_nodes() -> None:
    """The list that the command line uses names what the nodes declare, no more and no less."""
    assert ROS_KEYS == NODE_KEYS
