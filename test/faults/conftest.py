"""Every fault test on a ROS domain of its own."""

import pytest


@pytest.fixture(autouse=True)
def _own_domain(ros_domain: int) -> None:
    """Put every test of this folder on its own domain."""
