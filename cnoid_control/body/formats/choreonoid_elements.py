"""Reads what the links of a Choreonoid .body file consist of: shapes, masses, devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import yaml

from cnoid_control.body.description import Shape
from cnoid_control.body.devices import GenericDevice
from cnoid_control.body.devices.base import Device
from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.formats.choreonoid_devices import is_known, read_device
from cnoid_control.body.formats.choreonoid_node import BodyFile, BodyNode
from cnoid_control.body.formats.choreonoid_shapes import read_resource, read_shape, resource_path
from cnoid_control.body.formats.placement import split
from cnoid_control.body.formats.resources import read_text
from cnoid_control.strict_yaml import load_anchors

GROUPS = ('Group', 'Transform')
SURFACES = ('Visual', 'Collision')
YAML_SUFFIXES = ('.yaml', '.yml')

# What is drawn and has no solid, and what a picture is taken with.
DRAWN = (
    'LineSet',
    'Text',
    'Fog',
    'DirectionalLight',
    'PerspectiveCamera',
    'OrthographicCamera',
)


@dataclass
class RigidMass:
    """A part of a link's mass: [kg], centre [m] and inertia about it, in the link frame."""

    mass: float
    center: np.ndarray
    inertia: np.ndarray


@dataclass
class LinkElements:
    """What was found in a link.

    Attributes:
        link: name of the link.
        shapes: shapes, in file order.
        masses: parts of its mass.
        devices: devices, in file order.
    """

    link: str
    shapes: list[Shape] = field(default_factory=list)
    masses: list[RigidMass] = field(default_factory=list)
    devices: list[Device] = field(default_factory=list)

    def read(self, parent: BodyNode) -> None:
        """Read the elements of a link node.

        Raises:
            ModelError: the subclass that names what is wrong.
        """
        self._read_elements(parent, np.eye(4), visual=True, collision=True)

    def _read_elements(
        self, parent: BodyNode, placement: np.ndarray, visual: bool, collision: bool
    ) -> None:
        for kind, node in parent.nodes('elements'):
            if kind != 'Skip':
                self._read_element(kind, node, placement, visual, collision)

    def _read_element(
        self, kind: str, node: BodyNode, placement: np.ndarray, visual: bool, collision: bool
    ) -> None:
        inner = placement if kind == 'Group' else placement @ node.frame()
        if kind in SURFACES:
            visual = visual and kind == 'Visual'
            collision = collision and kind == 'Collision'
            if not visual and not collision:
                raise node.fail('type', 'no Visual in a Collision and no Collision in a Visual')
            shape, resource = node.node('shape'), node.node('resource')
            if shape is not None:
                self._add(read_shape(shape, inner @ shape.frame()), visual, collision)
            if resource is not None:
                self._read_resource(resource, inner @ resource.frame(), visual, collision)
        elif kind == 'Shape':
            self._add(read_shape(node, inner), visual, collision)
        elif kind == 'Resource':
            self._read_resource(node, inner, visual, collision)
        elif kind == 'RigidBody':
            self._read_mass(node, inner)
        elif kind in DRAWN:
            node.file.warn(f'{node.label}: {kind} is only drawn, and left out')
        elif kind not in GROUPS:
            self._read_device(kind, node, inner)
        self._read_elements(node, inner, visual, collision)

    def _add(self, shapes: list[Shape], visual: bool, collision: bool) -> None:
        for shape in shapes:
            shape.visual, shape.collision = visual and shape.visual, collision and shape.collision
        self.shapes += [shape for shape in shapes if shape.visual or shape.collision]

    def _read_resource(
        self, node: BodyNode, placement: np.ndarray, visual: bool, collision: bool
    ) -> None:
        path = resource_path(node)
        if path.suffix.lower() not in YAML_SUFFIXES:
            self._add(read_resource(node, placement), visual, collision)
            return
        whole, anchors = _yaml_resource(node.file, str(path), read_text(path))
        fragment = node.text('fragment')
        if fragment and fragment not in anchors:
            raise node.fail('fragment', f'an anchor of {path.name}: {", ".join(anchors)}')
        elements = anchors[fragment] if fragment else whole
        file = replace(node.file, source=str(path), folder=path.parent)
        inside = node.inside(file, {'elements': elements})
        self._read_elements(inside, placement, visual, collision)

    def _read_device(self, kind: str, node: BodyNode, placement: np.ndarray) -> None:
        place = placement.copy()
        place[:3, :3] = _rotation(node, placement)
        if is_known(kind):
            self.devices.append(read_device(kind, node, place))
            return
        name = node.text('name')
        node.file.warn(
            f'link {self.link!r}: {kind} {name!r} has no class here; it is a GenericDevice, '
            'which keeps its values and does nothing'
        )
        info = {key: value for key, value in node.data.items() if key != 'elements'}
        self.devices.append(
            GenericDevice(
                name,
                kind,
                info,
                id=node.integer('id', -1),
                T_local=place,
                on=node.flag('on', True),
            )
        )

    def _read_mass(self, node: BodyNode, placement: np.ndarray) -> None:
        rotation = _rotation(node, placement)
        inertia = node.inertia('inertia') if 'inertia' in node else np.zeros((3, 3))
        self.masses.append(
            RigidMass(
                mass=node.number('mass', 0.0),
                center=placement[:3, :3] @ node.vector('center_of_mass', 3) + placement[:3, 3],
                inertia=rotation @ inertia @ rotation.T,
            )
        )


def combine_masses(parts: list[RigidMass]) -> RigidMass:
    """Mass, centre and inertia of several parts that are one."""
    mass = sum(part.mass for part in parts)
    if mass <= 0.0:
        return RigidMass(mass, np.zeros(3), np.zeros((3, 3)))
    center = sum((part.mass * part.center for part in parts), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for part in parts:
        x = part.center - center
        inertia = inertia + part.inertia + part.mass * (x @ x * np.eye(3) - np.outer(x, x))
    return RigidMass(mass, center, inertia)


def _rotation(node: BodyNode, placement: np.ndarray) -> np.ndarray:
    parts = split(placement)
    if parts is None or parts[1][1] < 0.0:
        raise node.fail('scale', 'factors above 0 along the axes of what they scale')
    return parts[0]


def _yaml_resource(file: BodyFile, path: str, text: str) -> tuple[Any, Mapping[str, Any]]:
    if path not in file.resources:

        def warn(key: str, line: int) -> None:
            file.warn(f'{path}, line {line}: {key!r} is given twice; the last one counts')

        try:
            file.resources[path] = load_anchors(text, warn, file.text)
        except yaml.YAMLError as error:
            reason = ' '.join(str(error).split())
            raise ModelError(f'is not YAML that can be read: {reason}', path) from error
    return file.resources[path]
