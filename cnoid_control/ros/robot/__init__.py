"""The robot on ROS topics: joint states, devices, command controllers, controller_manager."""

from importlib import import_module
from typing import Any

_MODULES = {
    'CommandParameters': 'parameters',
    'ControllerManager': 'controller_manager',
    'RobotCallbacks': 'hardware',
    'Ros2ControlHardware': 'hardware',
    'Ros2ControlParameters': 'parameters',
    'StandaloneHardware': 'standalone',
}
__all__ = [
    'CommandParameters',
    'ControllerManager',
    'RobotCallbacks',
    'Ros2ControlHardware',
    'Ros2ControlParameters',
    'StandaloneHardware',
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: rclpy takes its time."""
    if name not in _MODULES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(f'{__name__}.{_MODULES[name]}'), name)
