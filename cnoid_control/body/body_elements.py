"""Walks the elements of a link of a Choreonoid .body file: shapes, masses and devices."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

import numpy as np

from cnoid_control.body.body_devices import DEVICES, OTHER_DEVICES, read_device
from cnoid_control.body.body_node import BodyNode
from cnoid_control.body.body_shapes import read_resource, read_shape, split_scale
from cnoid_control.body.device import Device
from cnoid_control.body.exceptions import UnknownDeviceType
from cnoid_control.body.shape import Shape

logger = logging.getLogger(__name__)

GROUPS = ('Group', 'Transform')
SURFACES = ('Visual', 'Collision')


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
        inner = placement if kind == 'Group' else placement @ _frame(node)
        if kind in SURFACES:
            visual = visual and kind == 'Visual'
            collision = collision and kind == 'Collision'
            if not visual and not collision:
                raise node.fail('type', 'no Visual in a Collision and no Collision in a Visual')
            shape_node, resource = node.node('shape'), node.node('resource')
            if shape_node is not None:
                self._add(read_shape(shape_node, inner, self.link), visual, collision)
            if resource is not None:
                self._add(read_resource(resource, inner, self.link), visual, collision)
        elif kind == 'Shape':
            self._add(read_shape(node, inner, self.link), visual, collision)
        elif kind == 'Resource':
            self._add(read_resource(node, inner, self.link), visual, collision)
        elif kind == 'RigidBody':
            self._read_mass(node, inner)
        elif kind in DEVICES:
            rotation, _ = split_scale(node, inner)
            place = inner.copy()
            place[:3, :3] = rotation
            self.devices.append(read_device(kind, node, place))
        elif kind in OTHER_DEVICES:
            logger.info('%s: %s is passed over', node.label, kind)
        elif kind not in GROUPS:
            known = [*GROUPS, *SURFACES, 'Shape', 'Resource', 'RigidBody', *DEVICES]
            raise UnknownDeviceType(node.text('name'), kind, known, node.file.source)
        self._read_elements(node, inner, visual, collision)

    def _add(self, shape: Shape, visual: bool, collision: bool) -> None:
        shape.visual, shape.collision = visual, collision
        self.shapes.append(shape)

    def _read_mass(self, node: BodyNode, placement: np.ndarray) -> None:
        rotation, _ = split_scale(node, placement)
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


def _frame(node: BodyNode) -> np.ndarray:
    frame = np.eye(4)
    frame[:3, :3] = node.rotation()
    frame[:3, 3] = node.translation()
    if 'scale' in node:
        value = node.get('scale')
        scale = node.vector('scale', 3) if isinstance(value, list) else [node.number('scale', 1.0)]
        frame[:3, :3] = frame[:3, :3] * scale
    return frame
