"""Reads the `<cnoid_control>` element of a URDF: what URDF has no words for.

    <cnoid_control>
      <root type="free" xyz="0 0 0.7" rpy="0 0 0"/>       how the root is held, default pose
      <joint name="J" id="3" rotor_inertia="0.1" actuation_mode="joint_effort" u_upper="inf"/>
      <link name="L" material="Sole"/>                    surface of a link
      <material name="Sole" friction="1.0" restitution="0.0"/>
      <loop name="O" type="hinge" link1="L" xyz1="0 0 0" rpy1="0 0 0" link2="M" xyz2="0 0 0"
            rpy2="0 0 0" axis="0 0 1"/>                     a joint that closes a loop of links
      <track name="T" parent="L" links="T0 T1 T2"/>       shoes that hang together around wheels
      <device name="D" id="0" near="0.1"/>                more about a device of a sensor tag
      <device name="E" type="PointLight" link="L" xyz="0 0 0" rpy="0 0 0"/>   one without a tag
    </cnoid_control>

A joint with id -1 is a virtual joint. A joint of type pseudo_continuous_track is the belt of a
crawler or a conveyor, commanded by the speed of its surface [m/s]. A loop joins a frame on each of
two links: fixed, by a hinge or a ball, or by a piston, along whose axis in the first link the
origin in the second one slides. Surfaces may also be given the Gazebo way, by
`<gazebo reference="L"><mu1>1.0</mu1></gazebo>`. Attributes of devices have the names that they
have in Python; vectors are numbers with spaces between them, the info of a GenericDevice is JSON.
Joints have the attributes type, id, rotor_inertia, q_initial, q_lower, q_upper, dq_lower,
dq_upper, u_lower, u_upper and actuation_mode.
"""

from __future__ import annotations

import json
from enum import Enum
from typing import TypeVar

import numpy as np
import pinocchio as pin

from cnoid_control.body.description import (
    BodyDescription,
    ContinuousTrack,
    ExtraJoint,
    ExtraJointType,
    JointType,
    Material,
    StateFlag,
)
from cnoid_control.body.devices import OpticalFrame, VisionSensor
from cnoid_control.body.devices.base import Device
from cnoid_control.body.exceptions import (
    UnknownJoint,
    UnknownLink,
    duplicate_name,
    invalid_value,
    unknown_type,
)
from cnoid_control.body.formats.urdf_devices import Devices, to_optical_frame
from cnoid_control.body.formats.xml_reader import Element, XmlReader, label
from cnoid_control.exceptions import choices

TAG = 'cnoid_control'

# Kinds of devices, also those that are defined elsewhere.
DEVICE_TYPES = Device.types

# Numbers of a joint that may be given, infinite ones too.
JOINT_NUMBERS = (
    'rotor_inertia',
    'q_initial',
    'q_lower',
    'q_upper',
    'dq_lower',
    'dq_upper',
    'u_lower',
    'u_upper',
)

ROOT_TYPES = {'free': JointType.FREE, 'fixed': JointType.FIXED}

# Attributes of a <device> that are no values of the device.
PLACE = ('name', 'type', 'link', 'xyz', 'rpy', 'optical_frame')


EnumT = TypeVar('EnumT', bound=Enum)


class _Truth(Enum):
    TRUE = 'true'
    FALSE = 'false'


class UrdfExtension:
    """The `<cnoid_control>` elements of one file."""

    def __init__(self, reader: XmlReader) -> None:
        """Read nothing yet; what is applied is read then."""
        self._reader = reader

    def _elements(self, tag: str) -> list[Element]:
        return self._reader.root.findall(f'{TAG}/{tag}')

    def says_root(self, description: BodyDescription) -> bool:
        """Whether it says how the root is held; puts it into `base_reason`."""
        elements = self._elements('root')
        if elements:
            kind = {'free': 'floating'}.get(elements[-1].get('type', 'free'), 'fixed')
            description.base_reason = f'its <{TAG}> element says {kind}'
        return bool(elements)

    def apply_to_links(self, description: BodyDescription) -> None:
        """Complete the links: root, joint ids, rotors, surfaces, loops and tracks.

        Raises:
            ModelError: the subclass that names what is wrong.
        """
        self._apply_root(description)
        self._apply_joints(description)
        self._apply_materials(description)
        self._add_loops(description)
        self._add_tracks(description)

    def _apply_root(self, description: BodyDescription) -> None:
        reader = self._reader
        for element in self._elements('root'):
            for link in description.links:
                if link.parent is None:
                    kind = element.get('type', 'free')
                    if kind not in ROOT_TYPES:
                        raise unknown_type(f'joint {link.name!r}', kind, ROOT_TYPES, reader.source)
                    link.joint_type = ROOT_TYPES[kind]
                    link.translation, link.rotation = reader.pose(element)

    def _apply_joints(self, description: BodyDescription) -> None:
        reader = self._reader
        joints = {link.joint_name: link for link in description.links if link.parent is not None}
        for element in self._elements('joint'):
            name = reader.text(element, 'name', element)
            if name not in joints:
                raise UnknownJoint(name, joints, reader.source)
            link = joints[name]
            if element.get('id') is not None:
                link.joint_id = reader.parse_integer(element.get('id'), element, 'id')
            kind = element.get('type')
            if kind is not None:
                kinds = {known.value: known for known in JointType}
                if kind not in kinds:
                    raise unknown_type(f'joint {name!r}', kind, kinds, reader.source)
                link.joint_type = kinds[kind]
            for key in JOINT_NUMBERS:
                text = element.get(key)
                if text is not None:
                    setattr(link, key, reader.parse_number(text, element, key, finite=False))
            mode = element.get('actuation_mode')
            if mode is not None:
                link.actuation_mode = self._mode(element, mode)

    def _add_loops(self, description: BodyDescription) -> None:
        reader = self._reader
        names = [link.name for link in description.links]
        for element in self._elements('loop'):
            links = (
                reader.text(element, 'link1', element),
                reader.text(element, 'link2', element),
            )
            for link in links:
                if link not in names:
                    raise UnknownLink(link, names, reader.source)
            xyz = tuple(reader.vector(element, f'xyz{i}', (0.0, 0.0, 0.0)) for i in (1, 2))
            rpy = tuple(reader.vector(element, f'rpy{i}', (0.0, 0.0, 0.0)) for i in (1, 2))
            kind = self._kind(element, 'type', element.get('type', 'hinge'), ExtraJointType)
            axis = reader.vector(element, 'axis', (0.0, 0.0, 1.0))
            if not np.linalg.norm(axis) > 0.0:
                expected = 'a vector that is not zero'
                raise invalid_value(
                    label(element), 'axis', element.get('axis'), expected, reader.source
                )
            description.extra_joints.append(
                ExtraJoint(
                    kind,
                    links,
                    translations=(xyz[0], xyz[1]),
                    rotations=(pin.rpy.rpyToMatrix(*rpy[0]), pin.rpy.rpyToMatrix(*rpy[1])),
                    axis=axis / np.linalg.norm(axis),
                    name=element.get('name', ''),
                )
            )

    def _mode(self, element: Element, text: str) -> StateFlag:
        modes = {flag.lower(): flag for flag in StateFlag.__members__}
        if text not in modes:
            expected = choices(modes)
            key = 'actuation_mode'
            raise invalid_value(label(element), key, text, expected, self._reader.source)
        return StateFlag[modes[text]]

    def _apply_materials(self, description: BodyDescription) -> None:
        reader = self._reader
        links = {link.name: link for link in description.links}
        for gazebo in reader.root.findall('gazebo'):
            friction = gazebo.find('mu1')
            reference = gazebo.get('reference', '')
            if friction is not None and reference in links:
                # Old files have <mu1 value="1.0"/>.
                text = friction.get('value', friction.text)
                value = reader.parse_number(text, gazebo, 'mu1')
                description.materials[reference] = Material(friction=value)
                links[reference].material = reference
        for element in self._elements('material'):
            name = reader.text(element, 'name', element)
            default = Material()
            description.materials[name] = Material(
                friction=reader.number(element, 'friction', default.friction),
                restitution=reader.number(element, 'restitution', default.restitution),
            )
        for element in self._elements('link'):
            name = reader.text(element, 'name', element)
            if name not in links:
                raise UnknownLink(name, links, reader.source)
            description.materials.pop(name, None)
            links[name].material = reader.text(element, 'material', element)

    def _add_tracks(self, description: BodyDescription) -> None:
        reader = self._reader
        known = [link.name for link in description.links]
        for element in self._elements('track'):
            shoes = tuple(reader.text(element, 'links', element).split())
            for name in shoes:
                self._known(name, known)
            parent = self._known(reader.text(element, 'parent', element), known)
            name = reader.text(element, 'name', element)
            description.tracks.append(ContinuousTrack(name, parent, shoes))

    def _known(self, name: str, links: list[str]) -> str:
        if name not in links:
            raise UnknownLink(name, links, self._reader.source)
        return name

    def apply_to_devices(self, description: BodyDescription, devices: Devices) -> None:
        """Complete the devices of the sensor tags, and add those that have no tag.

        Raises:
            ModelError: the subclass that names what is wrong.
        """
        reader = self._reader
        seen: dict[str, tuple[str, Device]] = {}
        for element in self._elements('device'):
            name = reader.text(element, 'name', element)
            if name in seen:
                raise duplicate_name('device', name, reader.source)
            if name not in devices:
                devices[name] = self._new_device(element, name, description)
            seen[name] = devices[name]
            device = devices[name][1]
            frame = element.get('optical_frame')
            if frame is not None and isinstance(device, VisionSensor):
                kind = self._kind(element, 'optical_frame', frame, OpticalFrame)
                to_optical_frame(device, kind)
            if element.get('xyz') is not None or element.get('rpy') is not None:
                translation, rotation = reader.pose(element)
                device.T_local[:3, 3] = translation
                device.T_local[:3, :3] = rotation
            for key, text in element.items():
                if key not in PLACE:
                    self._set_value(element, device, key, text)
        # Those that the element names come first, in its order.
        rest = {name: entry for name, entry in devices.items() if name not in seen}
        devices.clear()
        devices.update({**seen, **rest})

    def _new_device(
        self, element: Element, name: str, description: BodyDescription
    ) -> tuple[str, Device]:
        reader = self._reader
        kind = reader.text(element, 'type', element)
        if kind not in DEVICE_TYPES:
            raise unknown_type(f'device {name!r}', kind, DEVICE_TYPES, reader.source)
        link = reader.text(element, 'link', element)
        names = [description_link.name for description_link in description.links]
        if link not in names:
            raise UnknownLink(link, names, reader.source)
        return link, DEVICE_TYPES[kind](name)

    def _set_value(self, element: Element, device: Device, key: str, text: str) -> None:
        reader = self._reader
        current = None if key == 'index' else getattr(device, key, None)
        value: object
        if isinstance(current, bool):
            value = self._kind(element, key, text, _Truth) is _Truth.TRUE
        elif isinstance(current, int):
            value = reader.parse_integer(text, element, key)
        elif isinstance(current, float):
            value = reader.parse_number(text, element, key)
        elif isinstance(current, Enum):
            value = self._kind(element, key, text, type(current))
        elif isinstance(current, dict):
            value = self._mapping(element, key, text)
        elif isinstance(current, str):
            value = text
        elif isinstance(current, np.ndarray):
            value = reader.parse_vector(text, element, key, current.size, finite=False)
        else:
            expected = f'a value that a {type(device).__name__} has'
            raise invalid_value(label(element), key, text, expected, reader.source)
        setattr(device, key, value)

    def _mapping(self, element: Element, key: str, text: str) -> dict[str, object]:
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise invalid_value(label(element), key, text, 'a JSON object', self._reader.source)
        return value

    def _kind(self, element: Element, key: str, text: str, kinds: type[EnumT]) -> EnumT:
        for kind in kinds:
            if kind.value == text:
                return kind
        expected = choices(kind.value for kind in kinds)
        raise invalid_value(label(element), key, text, expected, self._reader.source)
