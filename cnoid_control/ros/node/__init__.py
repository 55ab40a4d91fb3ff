"""The control node: life cycle, services, parameters and diagnostics of a running loop."""

from importlib import import_module
from typing import Any

_MODULES = {
    'ControlNode': 'control_node',
    'main': 'control_node',
}
__all__ = ['ControlNode', 'main']


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: rclpy takes its time."""
    if name not in _MODULES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(f'{__name__}.{_MODULES[name]}'), name)
