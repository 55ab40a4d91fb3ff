"""The control node: life cycle, services, parameters and diagnostics of a running loop."""

from cnoid_control.lazy import lazy_names

_MODULES = {
    'ControlNode': 'control_node',
    'main': 'control_node',
}
__all__ = ['ControlNode', 'main']

__getattr__ = lazy_names(__name__, _MODULES)
