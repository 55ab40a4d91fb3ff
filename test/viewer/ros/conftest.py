"""Tests of the view beside ROS: each on a domain of its own."""

from pathlib import Path

import pytest
from ros_fixtures import skip_without_ros


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip this folder's tests, with the reason, where rclpy is not installed."""
    skip_without_ros(Path(__file__).parent, items)


@pytest.fixture(autouse=True)
def _own_domain(ros_domain: int) -> None:
    """Put every test of this folder on its own domain."""
