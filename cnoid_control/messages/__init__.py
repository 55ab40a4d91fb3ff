"""ROS 2 messages as bytes: one codec for the node, the simulated robot and the log."""

from cnoid_control.lazy import lazy_names

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

__getattr__ = lazy_names(__name__, _MODULES)
