"""The simulated robot: a MuJoCo node with the topics and services of ros2_control."""

from importlib import import_module
from typing import Any

_MODULES = {
    'MujocoNode': 'node',
    'SimulationParameters': 'parameters',
    'main': 'node',
}
__all__ = ['MujocoNode', 'SimulationParameters', 'main']


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: rclpy takes its time."""
    if name not in _MODULES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(f'{__name__}.{_MODULES[name]}'), name)
