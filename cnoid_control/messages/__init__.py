"""ROS 2 messages as bytes: one codec for the node, the simulated robot and the log."""

import importlib
from typing import Any

# Where each public name is; the table of devices imports the robot model.
_MODULES = {
    'ArrayEncoder': 'commands',
    'DEVICE_KINDS': 'devices',
    'DataMessage': 'devices',
    'DeviceKind': 'devices',
    'JointStateDecoder': 'joint_state',
    'JointStateEncoder': 'commands',
    'MalformedMessage': 'exceptions',
    'MessageBuffer': 'layouts',
    'MessageLayout': 'layouts',
    'MessagePlaces': 'cdr',
    'NumbersMessage': 'devices',
    'PointEncoder': 'commands',
    'StampedNumbers': 'layouts',
    'kind_of': 'devices',
    'parse_message': 'cdr',
    'read_stamp': 'cdr',
}

__all__ = [
    'DEVICE_KINDS',
    'ArrayEncoder',
    'DataMessage',
    'DeviceKind',
    'JointStateDecoder',
    'JointStateEncoder',
    'MalformedMessage',
    'MessageBuffer',
    'MessageLayout',
    'MessagePlaces',
    'NumbersMessage',
    'PointEncoder',
    'StampedNumbers',
    'kind_of',
    'parse_message',
    'read_stamp',
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(importlib.import_module(f'{__name__}.{_MODULES[name]}'), name)
