"""Every ROS test on a domain of its own; the fixtures are in `support/ros_fixtures.py`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ros_fixtures import skip_without_ros


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip this folder's tests, with the reason, where rclpy is not installed."""
    skip_without_ros(Path(__file__).parent, items)


@pytest.fixture(autouse=True)
def _own_domain(ros_domain: int) -> None:
    """Put every test of this folder on its own domain."""


@pytest.fixture
def rig(ros_context: Any) -> Iterator[Any]:
    """Return a robot made of topics and services, in the test's own hands."""
    from robot_rig import RobotRig

    made = RobotRig(ros_context)
    yield made
    made.close()
