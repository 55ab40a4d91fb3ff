"""Writes the `<cnoid_control>` element of a URDF: what the rest of the file cannot say."""

from __future__ import annotations

from enum import Enum
from xml.etree import ElementTree

import numpy as np

from cnoid_control.body.description import BodyDescription, LinkDescription, Material
from cnoid_control.body.device import Device
from cnoid_control.body.devices import VisionSensor
from cnoid_control.body.joint_type import JointType
from cnoid_control.body.state_flag import StateFlag
from cnoid_control.body.urdf_device_writer import device_name
from cnoid_control.body.urdf_devices import to_optical_frame
from cnoid_control.body.urdf_extension import DEVICE_TYPES, JOINT_NUMBERS, TAG
from cnoid_control.body.xml_format import number, numbers, pose_attributes

Element = ElementTree.Element
sub = ElementTree.SubElement

# Attributes that every device has and that are written by hand, or not at all.
NOT_WRITTEN = ('name', 'index', 'link', 'T_local', 'state_changed', 'optical_frame')

# Poses that differ by less came through the text unharmed.
SAME_POSE = 1e-12


def write_extension(robot: Element, plain: BodyDescription, wanted: BodyDescription) -> None:
    """Add what is missing of a robot when the URDF is read without it.

    Args:
        robot: element to add it to.
        plain: the robot as the URDF has it so far.
        wanted: the robot as it should be.
    """
    extension = Element(TAG)
    links = {link.name: link for link in wanted.links}
    for link in plain.links:
        if link.parent is None:
            _write_root(extension, link, links[link.name])
    for link in plain.links:
        if link.parent is not None:
            _write_joint(extension, link, links[link.name])
    _write_materials(extension, wanted)
    read = {device.name: device for _, device in plain.devices}
    for index, (link_name, device) in enumerate(wanted.devices):
        _write_device(extension, link_name, device_name(device, index), device, read)
    if len(extension):
        robot.append(extension)


def _write_root(extension: Element, plain: LinkDescription, wanted: LinkDescription) -> None:
    pose = pose_attributes(wanted.translation, wanted.rotation)
    if pose or plain.joint_type is not wanted.joint_type:
        kind = 'free' if wanted.joint_type is JointType.FREE else 'fixed'
        sub(extension, 'root', {'type': kind, **pose})


def _write_joint(extension: Element, plain: LinkDescription, wanted: LinkDescription) -> None:
    attributes = {}
    if plain.joint_id != wanted.joint_id:
        attributes['id'] = str(wanted.joint_id)
    if plain.joint_type is not wanted.joint_type:
        attributes['type'] = wanted.joint_type.value
    for name in JOINT_NUMBERS:
        if getattr(plain, name) != getattr(wanted, name):
            attributes[name] = number(getattr(wanted, name))
    if plain.actuation_mode is not wanted.actuation_mode:
        attributes['actuation_mode'] = str(StateFlag(wanted.actuation_mode).name).lower()
    if attributes:
        sub(extension, 'joint', {'name': wanted.joint_name, **attributes})


def _write_materials(extension: Element, wanted: BodyDescription) -> None:
    used = [link for link in wanted.links if link.material]
    for name in dict.fromkeys(link.material for link in used):
        material = wanted.materials.get(name, Material())
        values = {'friction': material.friction, 'restitution': material.restitution}
        sub(extension, 'material', {'name': name, **{k: number(v) for k, v in values.items()}})
    for link in used:
        sub(extension, 'link', name=link.name, material=link.material)


def _write_device(
    extension: Element, link: str, name: str, device: Device, read: dict[str, Device]
) -> None:
    element = sub(extension, 'device', name=name)
    plain = read.get(name)
    if plain is None:
        kind = type(device).__name__
        plain = DEVICE_TYPES[kind](name)
        element.set('type', kind)
        element.set('link', link)
    if isinstance(device, VisionSensor) and isinstance(plain, VisionSensor):
        element.set('optical_frame', device.optical_frame.value)
        to_optical_frame(plain, device.optical_frame)
    if not np.allclose(plain.T_local, device.T_local, rtol=0.0, atol=SAME_POSE):
        element.set('xyz', numbers(device.p_local))
        for key, text in pose_attributes(device.p_local, device.R_local).items():
            element.set(key, text)
    for key, value in vars(device).items():
        if key not in NOT_WRITTEN and key not in device.data_fields:
            if key in device.measured_fields or np.array_equal(value, getattr(plain, key)):
                continue
            element.set(key, _text(value))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, np.ndarray):
        return numbers(value.ravel().tolist())
    return str(value) if isinstance(value, int) else number(float(str(value)))
