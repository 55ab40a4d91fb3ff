"""Reads the devices of a Choreonoid .body file."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cnoid_control.body.devices import (
    AccelerationSensor,
    Camera,
    ForceSensor,
    ImageType,
    Imu,
    LensType,
    Light,
    OpticalFrame,
    PointLight,
    RangeCamera,
    RangeSensor,
    RateGyroSensor,
    SpotLight,
    VisionSensor,
)
from cnoid_control.body.devices.base import Device
from cnoid_control.body.formats.choreonoid_node import BodyNode

# Picture and whether there is a point for every pixel, for the formats of range cameras.
RANGE_FORMATS = {
    'DEPTH': (ImageType.NONE, True),
    'COLOR_DEPTH': (ImageType.COLOR, True),
    'POINT_CLOUD': (ImageType.NONE, False),
    'COLOR_POINT_CLOUD': (ImageType.COLOR, False),
}
IMAGE_FORMATS = {
    'COLOR': ImageType.COLOR,
    'GRAYSCALE': ImageType.GRAYSCALE,
    'NONE': ImageType.NONE,
}

# What every device has.
COMMON = ('name', 'id', 'index', 'link', 'T_local', 'on')

# Numbers of what sees distances, and of lamps.
DETECTION = ('min_distance', 'max_distance', 'detection_rate', 'error_deviation')
ATTENUATION = ('constant_attenuation', 'linear_attenuation', 'quadratic_attenuation')


def read_device(kind: str, node: BodyNode, placement: np.ndarray) -> Device:
    """Device of a node.

    Args:
        kind: one of `DEVICES`, or the class of another kind: its attributes have the same names
            in the file.
        node: the node.
        placement: its frame in the link frame, shape (4, 4).

    Raises:
        ModelError: the subclass that names what is wrong.
    """
    device = DEVICES[kind](node) if kind in DEVICES else _by_names(Device.types[kind], node)
    device.id = node.integer('id', -1)
    device.on = node.flag('on', True)
    device.T_local = placement.copy()
    return device


def is_known(kind: str) -> bool:
    """Whether there is a class for a kind of device."""
    return kind in DEVICES or kind in Device.types


def _by_names(device_type: type[Device], node: BodyNode) -> Device:
    """Device whose numbers and vectors are called in the file as in the class."""
    device = device_type(node.text('name'))
    for key, value in vars(device).items():
        if key in COMMON or key in device.measured_fields or key not in node:
            continue
        if isinstance(value, bool):
            setattr(device, key, node.flag(key, value))
        elif isinstance(value, float):
            setattr(device, key, node.number(key, value))
        elif isinstance(value, int):
            setattr(device, key, node.integer(key, value))
        elif isinstance(value, np.ndarray):
            setattr(device, key, node.vector(key, value.size, value))
    return device


def _force_sensor(node: BodyNode) -> Device:
    limits = [node.vector(key, 3, [np.inf] * 3) for key in ('max_force', 'max_torque')]
    return ForceSensor(node.text('name'), F_max=np.concatenate(limits))


def _max_angular_velocity(node: BodyNode) -> np.ndarray:
    limit = node.vector('max_angular_velocity', 3, [np.inf] * 3)
    return np.radians(limit) if node.file.degrees else limit


def _rate_gyro_sensor(node: BodyNode) -> Device:
    return RateGyroSensor(node.text('name'), w_max=_max_angular_velocity(node))


def _acceleration_sensor(node: BodyNode) -> Device:
    limit = node.vector('max_acceleration', 3, [np.inf] * 3)
    return AccelerationSensor(node.text('name'), dv_max=limit)


def _imu(node: BodyNode) -> Device:
    limit = node.vector('max_acceleration', 3, [np.inf] * 3)
    return Imu(node.text('name'), w_max=_max_angular_velocity(node), dv_max=limit)


def _read_numbers(node: BodyNode, device: Device, *keys: str) -> None:
    """Take over numbers that the file calls as the device does."""
    for key in keys:
        setattr(device, key, node.number(key, getattr(device, key)))


def _read_vision(node: BodyNode, device: VisionSensor) -> None:
    device.delay = node.number('delay', device.delay)
    frames = {frame.value: frame for frame in OpticalFrame}
    name = node.text('optical_frame', OpticalFrame.GL.value)
    if name not in frames:
        raise node.fail('optical_frame', f'one of {", ".join(frames)}')
    device.optical_frame = frames[name]
    if 'optical_frame_rotation' not in node:
        return
    wanted = node.rotation('optical_frame_rotation')
    for frame in OpticalFrame:
        device.optical_frame = frame
        if np.allclose(device.R_optical, wanted, atol=1e-6):
            return
    raise node.fail('optical_frame_rotation', f'that of one of {", ".join(frames)}')


def _range_camera(node: BodyNode) -> Device:
    return _camera(node, 'DEPTH')


def _camera(node: BodyNode, usual: str = 'COLOR') -> Device:
    name = node.text('name')
    picture = node.text('format', usual)
    device: Camera
    if picture in RANGE_FORMATS:
        device = RangeCamera(name)
        device.image_type, device.organized = RANGE_FORMATS[picture]
        _read_numbers(node, device, *DETECTION)
    elif picture in IMAGE_FORMATS:
        device = Camera(name, IMAGE_FORMATS[picture])
    else:
        raise node.fail('format', f'one of {", ".join([*IMAGE_FORMATS, *RANGE_FORMATS])}')
    lenses = {lens.value: lens for lens in LensType}
    lens = node.text('lens_type', LensType.NORMAL.value).lower()
    if lens not in lenses:
        raise node.fail('lens_type', f'one of {", ".join(lenses).upper()}')
    device.lens_type = lenses[lens]
    device.width = node.integer('width', device.width)
    device.height = node.integer('height', device.height)
    device.field_of_view = node.angle('field_of_view', device.field_of_view)
    device.near = node.number('near_clip_distance', device.near)
    device.far = node.number('far_clip_distance', device.far)
    device.frame_rate = node.number('frame_rate', device.frame_rate)
    _read_vision(node, device)
    return device


def _range_sensor(node: BodyNode) -> Device:
    device = RangeSensor(node.text('name'))
    # The names with scan are those of old files.
    device.yaw_range = node.angle('yaw_range', node.angle('scan_angle', device.yaw_range))
    device.yaw_step = node.angle('yaw_step', node.angle('scan_step', device.yaw_step))
    device.pitch_range = node.angle('pitch_range', device.pitch_range)
    device.pitch_step = node.angle('pitch_step', device.pitch_step)
    device.frame_rate = node.number('scan_rate', device.frame_rate)
    _read_numbers(node, device, *DETECTION)
    _read_vision(node, device)
    return device


def _read_light(node: BodyNode, device: Light) -> None:
    device.color = node.vector('color', 3, device.color)
    device.intensity = node.number('intensity', device.intensity)


def _light(node: BodyNode) -> Device:
    device = Light(node.text('name'))
    _read_light(node, device)
    return device


def _point_light(node: BodyNode) -> Device:
    device = PointLight(node.text('name'))
    _read_point_light(node, device)
    return device


def _read_point_light(node: BodyNode, device: PointLight) -> None:
    _read_light(node, device)
    _read_numbers(node, device, *ATTENUATION)


def _spot_light(node: BodyNode) -> Device:
    device = SpotLight(node.text('name'))
    _read_point_light(node, device)
    device.direction = node.vector('direction', 3, device.direction)
    device.beam_width = node.angle('beam_width', device.beam_width)
    device.cut_off_angle = node.angle('cut_off_angle', device.cut_off_angle)
    device.cut_off_exponent = node.number('cut_off_exponent', device.cut_off_exponent)
    return device


DEVICES: dict[str, Callable[[BodyNode], Device]] = {
    'ForceSensor': _force_sensor,
    'RateGyroSensor': _rate_gyro_sensor,
    'AccelerationSensor': _acceleration_sensor,
    'IMU': _imu,
    'Imu': _imu,
    'Camera': _camera,
    'RangeCamera': _range_camera,
    'RangeSensor': _range_sensor,
    'Light': _light,
    'PointLight': _point_light,
    'SpotLight': _spot_light,
}
