"""Reader of Choreonoid's .body files."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from cnoid_control.body.description import (
    BodyDescription,
    JointType,
    LinkDescription,
    Material,
    Shape,
    StateFlag,
)
from cnoid_control.body.devices.base import Device
from cnoid_control.body.exceptions import (
    ModelError,
    PathOutsidePackage,
    UnknownLink,
    duplicate_name,
    invalid_value,
    missing_value,
    root_link_error,
    unknown_type,
)
from cnoid_control.body.formats.choreonoid_devices import DEVICES, OTHER_DEVICES, read_device
from cnoid_control.body.formats.choreonoid_node import BodyFile, BodyNode, snake
from cnoid_control.body.formats.choreonoid_shapes import read_resource, read_shape, split_scale
from cnoid_control.body.formats.resources import (
    PACKAGE_SCHEME,
    package_folder,
    read_text,
    resolve_uri,
)
from cnoid_control.strict_yaml import load_yaml

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
            raise unknown_type(f'device {node.text("name")!r}', kind, known, node.file.source)
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


FORMAT = 'ChoreonoidBody'
MAX_VERSION = 2.1

JOINT_TYPES = {
    'revolute': JointType.REVOLUTE,
    'prismatic': JointType.PRISMATIC,
    'slide': JointType.PRISMATIC,
    'free': JointType.FREE,
    'fixed': JointType.FIXED,
    'pseudo_continuous_track': JointType.PSEUDO_CONTINUOUS_TRACK,
}

MODES = {
    'joint_effort': StateFlag.JOINT_EFFORT,
    'joint_torque': StateFlag.JOINT_EFFORT,
    'joint_force': StateFlag.JOINT_EFFORT,
    'joint_displacement': StateFlag.JOINT_DISPLACEMENT,
    'joint_angle': StateFlag.JOINT_DISPLACEMENT,
    'joint_velocity': StateFlag.JOINT_VELOCITY,
    'link_position': StateFlag.LINK_POSITION,
}

# Surfaces that models name and Choreonoid knows without their being described.
KNOWN_MATERIALS = {'Sole': Material(friction=1.0)}

TOP_KEYS = ('format', 'format_version', 'angle_unit', 'name', 'root_link', 'links', 'materials')
LINK_KEYS = (
    'type',
    'name',
    'parent',
    'joint_name',
    'translation',
    'rotation',
    'joint_type',
    'joint_id',
    'joint_axis',
    'actuation_mode',
    'joint_angle',
    'joint_displacement',
    'joint_range',
    'max_joint_velocity',
    'joint_velocity_range',
    'max_joint_effort',
    'rotor_inertia',
    'gear_ratio',
    'joint_axis_inertia',
    'mass',
    'center_of_mass',
    'inertia',
    'material',
    'import',
    'elements',
)


def parse_body(
    text: str, source: str, folder: Path, root: JointType | None = None
) -> BodyDescription:
    """Body description from the text of a .body file.

    Args:
        text: the YAML.
        source: name of the file in messages.
        folder: folder that relative addresses count from.
        root: FREE for a floating base, FIXED for one that is bolted to the world; where None,
            what the file says.

    Raises:
        ModelError: the subclass that names what is wrong.
    """
    description = _BodyReader(text, source, folder, ()).read()
    if root is not None:
        for link in description.links:
            if link.parent is None:
                link.joint_type = root
    return description


def other_model(text: str, source: str) -> str | None:
    """Address of the model in another format that a .body file stands for, if it does."""
    if 'model_file' not in text and 'modelFile' not in text:
        return None
    top = BodyNode(BodyFile(source, Path()), _load(text, source), 'body')
    return top.text('model_file') if 'links' not in top else None


def _load(text: str, source: str) -> Any:
    try:
        return load_yaml(text)
    except yaml.YAMLError as error:
        reason = ' '.join(str(error).split())
        raise ModelError(f'is not YAML that can be read: {reason}', source) from error


class _BodyReader:
    """Reads one file; sub bodies are read by readers of their own."""

    def __init__(self, text: str, source: str, folder: Path, outer: tuple[Path, ...]) -> None:
        self._file = BodyFile(source, folder)
        self._top = BodyNode(self._file, _load(text, source), 'body')
        self._outer = outer
        self._links: dict[str, LinkDescription] = {}
        self._description = BodyDescription('', [], source=source)

    def read(self) -> BodyDescription:
        top = self._top
        self._read_header()
        for kind, node in top.nodes('links', 'Link'):
            if kind == 'Link':
                self._add_link(self._read_link(node))
            elif kind == 'SubBody':
                self._read_sub_body(node)
            elif kind != 'Skip':
                raise ModelError(f'{node.label}: {kind!r} is not supported', self._file.source)
        if not self._links:
            raise missing_value('body', 'links', self._file.source)
        self._check_root()
        self._check_extra_joints()
        self._read_materials()
        self._description.links = list(self._links.values())
        self._description.info = _rest(top.data, TOP_KEYS)
        return self._description

    def _read_header(self) -> None:
        top = self._top
        if top.text('format', FORMAT) != FORMAT:
            raise top.fail('format', FORMAT)
        if not 0.0 < top.number('format_version', 1.0) < MAX_VERSION:
            raise top.fail('format_version', f'a version below {MAX_VERSION}')
        unit = top.text('angle_unit', 'degree')
        if unit not in ('degree', 'radian'):
            raise top.fail('angle_unit', 'degree or radian')
        self._file.degrees = unit == 'degree'
        self._description.name = top.text('name')

    def _add_link(self, link: LinkDescription) -> None:
        if link.name in self._links:
            raise duplicate_name('link', link.name, self._file.source)
        self._links[link.name] = link

    def _check_root(self) -> None:
        roots = [link.name for link in self._links.values() if link.parent is None]
        wanted = self._top.text('root_link', roots[0] if roots else next(iter(self._links)))
        if wanted not in self._links:
            raise UnknownLink(wanted, self._links, self._file.source)
        # Without any root there is a cycle; the checks of the tree name it.
        if roots and roots != [wanted]:
            raise root_link_error(roots, self._file.source)
        root = self._links[wanted]
        if root.joint_type is not JointType.FREE:
            root.joint_type = JointType.FIXED
            root.joint_id = -1

    # --- links --------------------------------------------------------------------------------

    def _read_link(self, node: BodyNode) -> LinkDescription:
        node = _with_imports(node)
        name = node.text('name')
        if not name:
            raise missing_value(node.label, 'name', self._file.source)
        link = LinkDescription(name, parent=node.text('parent') or None)
        link.joint_name = node.text('joint_name', name)
        self._read_joint(node, link)
        link.material = node.text('material')
        elements = LinkElements(name)
        elements.read(node)
        link.shapes = elements.shapes
        self._description.devices += [(name, device) for device in elements.devices]
        self._read_mass(node, link, elements.masses)
        link.info = _rest(node.data, LINK_KEYS)
        return link

    def _read_joint(self, node: BodyNode, link: LinkDescription) -> None:
        kind = node.symbol('joint_type', 'fixed')
        if kind not in JOINT_TYPES:
            known = list(JOINT_TYPES)
            raise unknown_type(f'joint {link.joint_name!r}', kind, known, self._file.source)
        link.joint_type = JOINT_TYPES[kind]
        link.translation, link.rotation = node.translation(), node.rotation()
        link.joint_id = node.integer('joint_id', -1)
        link.joint_axis = node.axis('joint_axis')
        angular = link.joint_type is JointType.REVOLUTE
        default_mode = 'joint_velocity' if kind == 'pseudo_continuous_track' else ''
        mode = node.symbol('actuation_mode', default_mode)
        if mode and mode not in MODES:
            raise node.fail('actuation_mode', f'one of {", ".join(MODES)}')
        link.actuation_mode = MODES.get(mode, StateFlag.NONE)
        if 'joint_displacement' in node:
            read = node.angle if angular else node.number
            link.q_initial = read('joint_displacement', 0.0)
        else:
            link.q_initial = node.angle('joint_angle', 0.0)
        if 'joint_range' in node:
            link.q_lower, link.q_upper = node.limits('joint_range', angular)
        for key in ('max_joint_velocity', 'joint_velocity_range'):
            if key in node:
                link.dq_lower, link.dq_upper = node.limits(key, angular)
        if 'max_joint_effort' in node:
            link.u_lower, link.u_upper = node.limits('max_joint_effort', angular=False)
        ratio = node.number('gear_ratio', 1.0)
        link.rotor_inertia = node.number(
            'joint_axis_inertia', node.number('rotor_inertia', 0.0) * ratio**2
        )

    def _read_mass(self, node: BodyNode, link: LinkDescription, parts: list[RigidMass]) -> None:
        if any(key in node for key in ('mass', 'center_of_mass', 'inertia')):
            # Beside rigid bodies the link's own values add to theirs; alone they have defaults.
            alone = not parts
            inertia = link.inertia if alone else np.zeros((3, 3))
            own = RigidMass(
                node.number('mass', link.mass if alone else 0.0),
                node.vector('center_of_mass', 3),
                node.inertia('inertia') if 'inertia' in node else inertia,
            )
            parts = [*parts, own]
        if len(parts) == 1:
            whole = parts[0]
        elif parts:
            whole = combine_masses(parts)
        else:
            return
        link.mass, link.center_of_mass, link.inertia = whole.mass, whole.center, whole.inertia

    # --- sub bodies ---------------------------------------------------------------------------

    def _read_sub_body(self, node: BodyNode) -> None:
        uri = node.text('uri')
        if not uri:
            raise missing_value(node.label, 'uri', self._file.source)
        path = resolve_uri(uri, self._file.folder, self._file.source)
        whole = Path(os.path.normpath(path.absolute()))
        allowed = package_folder(Path(self._file.folder, 'body'))
        if not uri.startswith(PACKAGE_SCHEME) and not whole.is_relative_to(allowed):
            raise PathOutsidePackage(uri, allowed, self._file.source)
        if whole in self._outer or whole == Path(self._file.source).absolute():
            raise ModelError(f'sub body {whole} is a part of itself', self._file.source)
        outer = (*self._outer, whole)
        part = _BodyReader(read_text(path), str(path), path.parent, outer).read()
        self._attach(part, node)

    def _attach(self, part: BodyDescription, node: BodyNode) -> None:
        prefix, suffix = node.text('prefix'), node.text('suffix')
        offset = node.integer('joint_id_offset', 0)
        for link in part.links:
            link.name = f'{prefix}{link.name}{suffix}'
            link.joint_name = f'{prefix}{link.joint_name}{suffix}'
            if link.joint_id >= 0:
                link.joint_id += offset
            if link.parent is not None:
                link.parent = f'{prefix}{link.parent}{suffix}'
            else:
                link.parent = node.text('parent') or None
                self._read_joint(node, link)
            self._add_link(link)
        device_prefix = node.text('device_prefix')
        for link_name, device in part.devices:
            device.name = f'{device_prefix}{device.name}'
            self._description.devices.append((f'{prefix}{link_name}{suffix}', device))
        self._description.materials.update(part.materials)

    # --- the rest -----------------------------------------------------------------------------

    def _check_extra_joints(self) -> None:
        for _, node in self._top.nodes('extra_joints', 'extra_joint'):
            for key in ('link1_name', 'link2_name'):
                if node.text(key) not in self._links:
                    raise UnknownLink(node.text(key), self._links, self._file.source)
            logger.warning(
                '%s: %s closes a loop, which is not computed', self._file.source, node.label
            )

    def _read_materials(self) -> None:
        materials = self._description.materials
        for _, node in self._top.nodes('materials', 'material'):
            default = Material()
            materials[node.text('name')] = Material(
                node.number('friction', default.friction),
                node.number('restitution', default.restitution),
            )
        for link in self._links.values():
            if link.material and link.material not in materials:
                materials[link.material] = KNOWN_MATERIALS.get(link.material, Material())


def _with_imports(node: BodyNode) -> BodyNode:
    """The node with the mappings that it imports; what it says itself prevails."""
    imported = node.get('import')
    if imported is None:
        return node
    merged: dict[str, Any] = {}
    for source in imported if isinstance(imported, list) else [imported]:
        if not isinstance(source, Mapping):
            raise invalid_value(node.label, 'import', source, 'a mapping', node.file.source)
        merged.update(source)
    return BodyNode(node.file, {**merged, **node.data}, node.label)


def _rest(data: Mapping[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    """What a mapping says beside the known keys."""
    return {key: value for key, value in data.items() if snake(key) not in known}
