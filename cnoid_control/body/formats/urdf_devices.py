"""Reads devices from the `<gazebo><sensor>` and `<ros2_control><sensor>` tags of a URDF.

Tags of one name describe one device: the Gazebo tag says where it is and what it can do, the
ros2_control tag which of its values are read.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from cnoid_control.body.description import BodyDescription
from cnoid_control.body.devices import (
    AccelerationSensor,
    Camera,
    ForceSensor,
    GenericDevice,
    ImageType,
    Imu,
    LensType,
    OpticalFrame,
    RangeCamera,
    RangeSensor,
    RateGyroSensor,
    VisionSensor,
)
from cnoid_control.body.devices.base import Device
from cnoid_control.body.exceptions import UnknownLink, invalid_value
from cnoid_control.body.formats.xml_reader import Element, XmlReader, label
from cnoid_control.body.rotations import rpy_matrix

Devices = dict[str, tuple[str, Device]]


def read_devices(reader: XmlReader, description: BodyDescription) -> Devices:
    """Name of the link and device for every sensor tag, by the sensor's name.

    Gazebo's sensors that no device stands for become generic ones, and those on links that do
    not exist are passed over, with a warning: they are no reason to refuse a robot.

    Raises:
        UnknownLink: a ros2_control sensor on a link that does not exist.
    """
    devices: Devices = {}
    link_of = {link.joint_name: link.name for link in description.links}
    link_of.update({link.name: link.name for link in description.links})
    for gazebo in reader.root.findall('gazebo'):
        for sensor in gazebo.findall('sensor'):
            name = reader.text(sensor, 'name', sensor)
            reference = gazebo.get('reference', '')
            kind = sensor.get('type', '')
            if reference not in link_of:
                reader.warn(
                    f'sensor {name!r} of type {kind!r} on link {reference!r} is passed over: '
                    'there is no such link'
                )
                continue
            devices[name] = (link_of[reference], _gazebo_device(reader, sensor, name))
    for sensor in reader.root.iterfind('ros2_control/sensor'):
        name = reader.text(sensor, 'name', sensor)
        if name in devices:
            link, device = devices[name]
            devices[name] = (link, _narrow(device, sensor))
            continue
        narrow = _ros2_control_device(reader, sensor, name)
        devices[name] = (_link_of_sensor(reader, sensor, description, link_of), narrow)
    return devices


def _gazebo_device(reader: XmlReader, sensor: Element, name: str) -> Device:
    kind = sensor.get('type', '')
    if kind in GAZEBO_SENSORS:
        device = GAZEBO_SENSORS[kind](reader, sensor, name)
    else:
        device = GenericDevice(name, kind)
        reader.warn(f'sensor {name!r} of type {kind!r} has no class here; it is a GenericDevice')
    pose = sensor.find('pose')
    if pose is not None:
        values = reader.parse_vector(pose.text, sensor, 'pose', 6)
        turned = np.eye(4)
        turned[:3, :3] = rpy_matrix(values[3:])
        turned[:3, 3] = values[:3]
        device.T_local = turned @ device.T_local
    return device


def _force_sensor(reader: XmlReader, sensor: Element, name: str) -> Device:
    return ForceSensor(name)


def _imu(reader: XmlReader, sensor: Element, name: str) -> Device:
    return Imu(name)


def _camera(reader: XmlReader, sensor: Element, name: str) -> Device:
    device = Camera(name)
    _read_camera(reader, sensor, device)
    if sensor.get('type') == 'wideanglecamera':
        device.lens_type = LensType.FISHEYE
    return device


def _range_camera(reader: XmlReader, sensor: Element, name: str) -> Device:
    device = RangeCamera(name, organized=True)
    _read_camera(reader, sensor, device)
    device.min_distance, device.max_distance = device.near, device.far
    if sensor.get('type', '').startswith('depth'):
        device.image_type = ImageType.NONE
    return device


def _read_camera(reader: XmlReader, sensor: Element, device: Camera) -> None:
    # SDF's cameras look along X.
    device.optical_frame = OpticalFrame.ROBOTICS
    device.width = _count(reader, sensor, 'camera/image/width', device.width)
    device.height = _count(reader, sensor, 'camera/image/height', device.height)
    device.near = _value(reader, sensor, 'camera/clip/near', device.near)
    device.far = _value(reader, sensor, 'camera/clip/far', device.far)
    device.frame_rate = _value(reader, sensor, 'update_rate', device.frame_rate)
    horizontal = _value(reader, sensor, 'camera/horizontal_fov', device.horizontal_field_of_view)
    shorter = min(device.width, device.height) / device.width
    device.field_of_view = 2.0 * math.atan(shorter * math.tan(horizontal / 2.0))
    picture = sensor.findtext('camera/image/format', '').strip().upper()
    if picture.startswith('L') or picture.startswith('MONO'):
        device.image_type = ImageType.GRAYSCALE


def _range_sensor(reader: XmlReader, sensor: Element, name: str) -> Device:
    block = 'lidar' if sensor.find('lidar') is not None else 'ray'
    device = RangeSensor(name, optical_frame=OpticalFrame.ROBOTICS)
    device.frame_rate = _value(reader, sensor, 'update_rate', device.frame_rate)
    device.min_distance = _value(reader, sensor, f'{block}/range/min', device.min_distance)
    device.max_distance = _value(reader, sensor, f'{block}/range/max', device.max_distance)
    middle = []
    for axis, scan in (('yaw', 'horizontal'), ('pitch', 'vertical')):
        path = f'{block}/scan/{scan}'
        samples = _count(reader, sensor, f'{path}/samples', 1)
        lower = _value(reader, sensor, f'{path}/min_angle', 0.0)
        upper = _value(reader, sensor, f'{path}/max_angle', 0.0)
        full = upper - lower if samples > 1 else 0.0
        setattr(device, f'{axis}_range', full)
        setattr(device, f'{axis}_step', full / (samples - 1) if full > 0.0 else 1.0)
        middle.append((upper + lower) / 2.0)
    # A scan that is not symmetric is a symmetric one of a sensor that is turned.
    device.T_local[:3, :3] = rpy_matrix(np.array([0.0, -middle[1], middle[0]]))
    return device


GAZEBO_SENSORS: dict[str, Callable[[XmlReader, Element, str], Device]] = {
    'force_torque': _force_sensor,
    'imu': _imu,
    'camera': _camera,
    'wideanglecamera': _camera,
    'depth': _range_camera,
    'depth_camera': _range_camera,
    'rgbd': _range_camera,
    'rgbd_camera': _range_camera,
    'ray': _range_sensor,
    'gpu_ray': _range_sensor,
    'lidar': _range_sensor,
    'gpu_lidar': _range_sensor,
}


def _value(reader: XmlReader, sensor: Element, path: str, default: float) -> float:
    element = sensor.find(path)
    return default if element is None else reader.parse_number(element.text, sensor, path)


def _count(reader: XmlReader, sensor: Element, path: str, default: int) -> int:
    element = sensor.find(path)
    count = default if element is None else reader.parse_integer(element.text, sensor, path)
    if count < 1:
        raise invalid_value(label(sensor), path, count, 'a number above 0', reader.source)
    return count


def _quantities(sensor: Element) -> set[str]:
    names = (state.get('name', '') for state in sensor.findall('state_interface'))
    return {name.partition('.')[0] for name in names}


def _ros2_control_device(reader: XmlReader, sensor: Element, name: str) -> Device:
    quantities = _quantities(sensor)
    if quantities & {'force', 'torque'}:
        return ForceSensor(name)
    if quantities & {'orientation', 'angular_velocity', 'linear_acceleration'}:
        return _narrow(Imu(name), sensor)
    if 'range' in quantities:
        return RangeSensor(name, yaw_range=0.0, optical_frame=OpticalFrame.ROBOTICS)
    listed = ', '.join(sorted(quantities)) or 'nothing'
    reader.warn(f'sensor {name!r} measures {listed}; it is a GenericDevice')
    states = [state.get('name', '') for state in sensor.findall('state_interface')]
    return GenericDevice(name, 'ros2_control', {'state_interfaces': states}, size=len(states))


def _narrow(device: Device, sensor: Element) -> Device:
    """Gyro or accelerometer where only one half of an IMU is read."""
    quantities = _quantities(sensor)
    if isinstance(device, Imu) and quantities == {'angular_velocity'}:
        return RateGyroSensor(device.name, T_local=device.T_local)
    if isinstance(device, Imu) and quantities == {'linear_acceleration'}:
        return AccelerationSensor(device.name, T_local=device.T_local)
    return device


def _link_of_sensor(
    reader: XmlReader, sensor: Element, description: BodyDescription, link_of: dict[str, str]
) -> str:
    frame = sensor.find('param[@name="frame_id"]')
    wanted = (frame.text or '').strip() if frame is not None else sensor.get('name', '')
    if wanted in link_of:
        return link_of[wanted]
    if frame is not None:
        raise UnknownLink(wanted, link_of, reader.source)
    root = next(link.name for link in description.links if link.parent is None)
    reader.warn(
        f'sensor {wanted!r} is taken to be on the root link {root!r}: nothing says where it is '
        '(a <param name="frame_id"> with the name of a link would)'
    )
    return root


def to_optical_frame(device: VisionSensor, frame: OpticalFrame) -> None:
    """Turn the device's axes to another convention without turning what it sees."""
    seen = device.R_optical
    device.optical_frame = frame
    device.T_local[:3, :3] = np.eye(3)
    device.T_local[:3, :3] = seen @ device.R_optical.T
