"""The robot on ROS 2: the control node, ros2_control, and a simulated robot."""

from cnoid_control.lazy import lazy_names

_MODULES = {
    'HeartbeatMonitor': 'heartbeat',
    'RobotError': 'exceptions',
    'RosError': 'exceptions',
    'bringup': 'launch',
    'reserved_domain': 'transport',
}
__all__ = ['HeartbeatMonitor', 'RobotError', 'RosError', 'bringup', 'reserved_domain']

__getattr__ = lazy_names(__name__, _MODULES)
