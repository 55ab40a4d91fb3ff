"""The robot on ROS 2: the control node, ros2_control, and a simulated robot."""

from importlib import import_module
from typing import Any

_MODULES = {
    'HeartbeatMonitor': 'heartbeat',
    'RobotError': 'exceptions',
    'RosError': 'exceptions',
    'bringup': 'launch',
    'reserved_domain': 'transport',
}
__all__ = ['HeartbeatMonitor', 'RobotError', 'RosError', 'bringup', 'reserved_domain']


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: rclpy takes its time."""
    if name not in _MODULES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(f'{__name__}.{_MODULES[name]}'), name)
