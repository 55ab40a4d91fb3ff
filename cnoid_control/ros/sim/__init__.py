"""The simulated robot: a MuJoCo node with the topics and services of ros2_control."""

from cnoid_control.lazy import lazy_names

_MODULES = {
    'MujocoNode': 'node',
    'SimulationParameters': 'parameters',
    'main': 'node',
}
__all__ = ['MujocoNode', 'SimulationParameters', 'main']

__getattr__ = lazy_names(__name__, _MODULES)
