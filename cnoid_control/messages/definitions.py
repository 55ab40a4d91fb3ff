"""Definitions of the ROS 2 messages that are read and written as bytes.

Where a number stands in a serialized message follows from these texts alone (see `cdr`); a log
file carries them as its schemas.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

PRIMITIVES = re.compile(r'^(bool|byte|char|float\d+|u?int\d+|string)\b')
SEPARATOR = '=' * 80
# numpy types of the numbers in a definition.
NUMBER_TYPES = {
    'bool': 'u1',
    'byte': 'u1',
    'uint8': 'u1',
    'int32': 'i4',
    'uint32': 'u4',
    'float32': 'f4',
    'float64': 'f8',
}
# Seconds and nanoseconds, taken as one field of two numbers.
TIMES = ('builtin_interfaces/Time', 'builtin_interfaces/Duration')

DEFINITIONS = {
    'builtin_interfaces/Time': 'int32 sec\nuint32 nanosec',
    'builtin_interfaces/Duration': 'int32 sec\nuint32 nanosec',
    'std_msgs/Header': 'builtin_interfaces/Time stamp\nstring frame_id',
    'std_msgs/MultiArrayDimension': 'string label\nuint32 size\nuint32 stride',
    'std_msgs/MultiArrayLayout': 'std_msgs/MultiArrayDimension[] dim\nuint32 data_offset',
    'std_msgs/Float64MultiArray': 'std_msgs/MultiArrayLayout layout\nfloat64[] data',
    'std_msgs/String': 'string data',
    'geometry_msgs/Point': 'float64 x\nfloat64 y\nfloat64 z',
    'geometry_msgs/Vector3': 'float64 x\nfloat64 y\nfloat64 z',
    'geometry_msgs/Quaternion': 'float64 x\nfloat64 y\nfloat64 z\nfloat64 w',
    'geometry_msgs/Pose': ('geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation'),
    'geometry_msgs/PoseWithCovariance': 'geometry_msgs/Pose pose\nfloat64[36] covariance',
    'geometry_msgs/Twist': 'geometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular',
    'geometry_msgs/TwistWithCovariance': 'geometry_msgs/Twist twist\nfloat64[36] covariance',
    'geometry_msgs/Transform': (
        'geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation'
    ),
    'geometry_msgs/TransformStamped': (
        'std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform'
    ),
    'geometry_msgs/Vector3Stamped': 'std_msgs/Header header\ngeometry_msgs/Vector3 vector',
    'geometry_msgs/Wrench': 'geometry_msgs/Vector3 force\ngeometry_msgs/Vector3 torque',
    'geometry_msgs/WrenchStamped': 'std_msgs/Header header\ngeometry_msgs/Wrench wrench',
    'nav_msgs/Odometry': (
        'std_msgs/Header header\nstring child_frame_id\n'
        'geometry_msgs/PoseWithCovariance pose\ngeometry_msgs/TwistWithCovariance twist'
    ),
    'control_msgs/JointCommand': (
        'std_msgs/Header header\nstring[] joint_names\nstring interface_name\nfloat64[] values'
    ),
    'sensor_msgs/JointState': (
        'std_msgs/Header header\nstring[] name\n'
        'float64[] position\nfloat64[] velocity\nfloat64[] effort'
    ),
    'sensor_msgs/Imu': (
        'std_msgs/Header header\n'
        'geometry_msgs/Quaternion orientation\nfloat64[9] orientation_covariance\n'
        'geometry_msgs/Vector3 angular_velocity\nfloat64[9] angular_velocity_covariance\n'
        'geometry_msgs/Vector3 linear_acceleration\nfloat64[9] linear_acceleration_covariance'
    ),
    'sensor_msgs/Image': (
        'std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\n'
        'uint8 is_bigendian\nuint32 step\nuint8[] data'
    ),
    'sensor_msgs/PointField': 'string name\nuint32 offset\nuint8 datatype\nuint32 count',
    'sensor_msgs/PointCloud2': (
        'std_msgs/Header header\nuint32 height\nuint32 width\n'
        'sensor_msgs/PointField[] fields\nbool is_bigendian\nuint32 point_step\n'
        'uint32 row_step\nuint8[] data\nbool is_dense'
    ),
    'sensor_msgs/LaserScan': (
        'std_msgs/Header header\nfloat32 angle_min\nfloat32 angle_max\n'
        'float32 angle_increment\nfloat32 time_increment\nfloat32 scan_time\n'
        'float32 range_min\nfloat32 range_max\nfloat32[] ranges\nfloat32[] intensities'
    ),
    'sensor_msgs/Range': (
        'std_msgs/Header header\nuint8 radiation_type\nfloat32 field_of_view\n'
        'float32 min_range\nfloat32 max_range\nfloat32 range\nfloat32 variance'
    ),
    'rosgraph_msgs/Clock': 'builtin_interfaces/Time clock',
    'tf2_msgs/TFMessage': 'geometry_msgs/TransformStamped[] transforms',
    'trajectory_msgs/JointTrajectoryPoint': (
        'float64[] positions\nfloat64[] velocities\nfloat64[] accelerations\n'
        'float64[] effort\nbuiltin_interfaces/Duration time_from_start'
    ),
    'trajectory_msgs/JointTrajectory': (
        'std_msgs/Header header\nstring[] joint_names\n'
        'trajectory_msgs/JointTrajectoryPoint[] points'
    ),
}


class Field(NamedTuple):
    """One field of a message.

    Attributes:
        name: name of the field.
        dtype: numpy type of its numbers, without a byte order; empty where it holds none.
        parts: fields of the message that it is made of; empty for numbers and texts.
        size: how many: 1, the size of a fixed array, or -1 for a sequence.
    """

    name: str
    dtype: str
    parts: tuple[Field, ...]
    size: int


@functools.cache
def fields_of(schema: str) -> tuple[Field, ...]:
    """Fields of `package/msg/Type`, in their order.

    Raises:
        KeyError: there is no definition of it here.
    """
    return tuple(
        _field(*line.split()) for line in DEFINITIONS[schema.replace('/msg/', '/')].splitlines()
    )


def _field(kind: str, name: str) -> Field:
    kind, _, size = kind.partition('[')
    count = 1 if not size else int(size[:-1] or -1)
    if kind in TIMES:
        return Field(name, 'u4', (), 2)
    if kind in NUMBER_TYPES or kind == 'string':
        return Field(name, NUMBER_TYPES.get(kind, ''), (), count)
    return Field(name, '', fields_of(kind), count)


def full_definition(schema: str) -> str:
    """Definition of `package/msg/Type` followed by those of all types that it is made of."""
    name = schema.replace('/msg/', '/')
    text = DEFINITIONS[name]
    for used in _used_types(name, []):
        text += f'\n{SEPARATOR}\nMSG: {used}\n{DEFINITIONS[used]}'
    return text


def _used_types(name: str, found: list[str]) -> list[str]:
    for line in DEFINITIONS[name].splitlines():
        if PRIMITIVES.match(line):
            continue
        used = line.split()[0].split('[')[0]
        if used not in found:
            found.append(used)
            _used_types(used, found)
    return found
