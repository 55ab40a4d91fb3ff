"""Message definitions for log files."""

from __future__ import annotations

import re

PRIMITIVES = re.compile(r'^(bool|byte|char|float\d+|u?int\d+|string)\b')
SEPARATOR = '=' * 80

DEFINITIONS = {
    'builtin_interfaces/Time': 'int32 sec\nuint32 nanosec',
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
    'geometry_msgs/Vector3Stamped': 'std_msgs/Header header\ngeometry_msgs/Vector3 vector',
    'geometry_msgs/Wrench': 'geometry_msgs/Vector3 force\ngeometry_msgs/Vector3 torque',
    'geometry_msgs/WrenchStamped': 'std_msgs/Header header\ngeometry_msgs/Wrench wrench',
    'nav_msgs/Odometry': (
        'std_msgs/Header header\nstring child_frame_id\n'
        'geometry_msgs/PoseWithCovariance pose\ngeometry_msgs/TwistWithCovariance twist'
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
}


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
