"""Hardware that the control loop runs on: the protocol, the registry, and backends without ROS."""

from cnoid_control.hardware.exceptions import HardwareError
from cnoid_control.hardware.hardware import Hardware, IORequest
from cnoid_control.hardware.registry import HardwareKind, create_hardware, hardware_names

__all__ = [
    'Hardware',
    'HardwareError',
    'HardwareKind',
    'IORequest',
    'create_hardware',
    'hardware_names',
]
