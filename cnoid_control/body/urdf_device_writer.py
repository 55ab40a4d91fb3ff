"""Writes devices as the sensor tags of a URDF."""

from __future__ import annotations

from xml.etree import ElementTree

import pinocchio as pin

from cnoid_control.body.description import BodyDescription
from cnoid_control.body.device import Device
from cnoid_control.body.devices import (
    AccelerationSensor,
    Camera,
    ForceSensor,
    ImageType,
    Imu,
    LensType,
    OpticalFrame,
    RangeCamera,
    RangeSensor,
    RateGyroSensor,
    VisionSensor,
)
from cnoid_control.body.urdf_devices import to_optical_frame
from cnoid_control.body.xml_format import number, numbers

Element = ElementTree.Element
sub = ElementTree.SubElement

VELOCITY = [f'angular_velocity.{axis}' for axis in 'xyz']
ACCELERATION = [f'linear_acceleration.{axis}' for axis in 'xyz']
STATES: dict[type[Device], list[str]] = {
    ForceSensor: [f'{what}.{axis}' for what in ('force', 'torque') for axis in 'xyz'],
    RateGyroSensor: VELOCITY,
    AccelerationSensor: ACCELERATION,
    Imu: [f'orientation.{axis}' for axis in 'xyzw'] + VELOCITY + ACCELERATION,
}


def write_devices(robot: Element, system: Element, description: BodyDescription) -> None:
    """Add a Gazebo tag for every sensor, and a ros2_control tag for those it can read.

    Lamps have neither; the `<cnoid_control>` element has them whole.

    Args:
        robot: element to add the Gazebo tags to.
        system: the `<ros2_control>` element.
        description: the robot.
    """
    for index, (link, device) in enumerate(description.devices):
        kind = _gazebo_type(device)
        if kind is None:
            continue
        sensor = sub(sub(robot, 'gazebo', reference=link), 'sensor')
        sensor.set('name', device_name(device, index))
        sensor.set('type', kind)
        seen = device.clone()
        if isinstance(seen, VisionSensor):
            to_optical_frame(seen, OpticalFrame.ROBOTICS)
        angles = pin.rpy.matrixToRpy(seen.R_local)
        sub(sensor, 'pose').text = numbers([*seen.p_local, *angles])
        if isinstance(device, VisionSensor):
            sub(sensor, 'update_rate').text = number(device.frame_rate)
        if isinstance(device, Camera):
            _write_camera(sub(sensor, 'camera'), device)
        elif isinstance(device, RangeSensor):
            _write_lidar(sub(sensor, 'lidar'), device)
        if type(device) in STATES:
            tag = sub(system, 'sensor', name=device_name(device, index))
            for state in STATES[type(device)]:
                sub(tag, 'state_interface', name=state)
            sub(tag, 'param', name='frame_id').text = link


def device_name(device: Device, index: int) -> str:
    """Name of a device; one that has none gets its class and number."""
    return device.name or f'{type(device).__name__}{index}'


def _gazebo_type(device: Device) -> str | None:
    if isinstance(device, ForceSensor):
        return 'force_torque'
    if isinstance(device, (Imu, RateGyroSensor, AccelerationSensor)):
        return 'imu'
    if isinstance(device, RangeCamera):
        return 'depth_camera' if device.image_type is ImageType.NONE else 'rgbd_camera'
    if isinstance(device, Camera):
        return 'camera' if device.lens_type is LensType.NORMAL else 'wideanglecamera'
    return 'gpu_lidar' if isinstance(device, RangeSensor) else None


def _write_camera(element: Element, device: Camera) -> None:
    sub(element, 'horizontal_fov').text = number(device.horizontal_field_of_view)
    image = sub(element, 'image')
    sub(image, 'width').text = str(device.width)
    sub(image, 'height').text = str(device.height)
    sub(image, 'format').text = 'L8' if device.image_type is ImageType.GRAYSCALE else 'R8G8B8'
    clip = sub(element, 'clip')
    sub(clip, 'near').text = number(device.near)
    sub(clip, 'far').text = number(device.far)


def _write_lidar(element: Element, device: RangeSensor) -> None:
    scan = sub(element, 'scan')
    for tag, angles in (('horizontal', device.yaw_angles), ('vertical', device.pitch_angles)):
        axis = sub(scan, tag)
        # The directions begin at the lower end of the range and need not reach the upper.
        sub(axis, 'samples').text = str(len(angles))
        sub(axis, 'min_angle').text = number(angles[0])
        sub(axis, 'max_angle').text = number(angles[-1])
    limits = sub(element, 'range')
    sub(limits, 'min').text = number(device.min_distance)
    sub(limits, 'max').text = number(device.max_distance)
