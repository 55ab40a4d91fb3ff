"""The robot on ROS topics: joint states, devices, command controllers, controller_manager."""

from cnoid_control.lazy import lazy_names

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

__getattr__ = lazy_names(__name__, _MODULES)
