"""The public names of the ROS rooms."""

import importlib
import importlib.util

import pytest


@pytest.mark.parametrize('room', ['ros', 'ros.node', 'ros.robot', 'ros.sim'])
def test_every_public_name_can_be_had(room):
    """What a room lists it has, and nothing else is found by accident."""
    module = importlib.import_module(f'cnoid_control.{room}')
    for name in module.__all__:
        if name == 'bringup' and importlib.util.find_spec('launch_ros') is None:
            continue
        assert getattr(module, name).__name__ == name
    with pytest.raises(AttributeError, match='has no attribute'):
        module.nothing  # noqa: B018
