"""Reader of Choreonoid's .body files."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from cnoid_control.body.description import (
    BodyDescription,
    ContinuousTrack,
    ExtraJoint,
    ExtraJointType,
    JointType,
    LinkDescription,
    Material,
    Posture,
    StateFlag,
)
from cnoid_control.body.exceptions import (
    ModelError,
    UnknownLink,
    duplicate_name,
    invalid_value,
    missing_value,
    unknown_type,
)
from cnoid_control.body.formats.choreonoid_elements import (
    LinkElements,
    RigidMass,
    combine_masses,
)
from cnoid_control.body.formats.choreonoid_node import BodyFile, BodyNode, snake
from cnoid_control.body.formats.choreonoid_shapes import model_path, model_tree
from cnoid_control.body.formats.repairs import complete_inertias, complete_masses
from cnoid_control.body.formats.resources import read_text
from cnoid_control.strict_yaml import load_yaml

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

# Old name of a pseudo continuous track, as an actuation mode.
SURFACE_VELOCITY = 'joint_surface_velocity'

STANDARD_POSE = 'standard_pose'

EXTRA_JOINTS = {kind.value: kind for kind in ExtraJointType}

# Surfaces that models name and Choreonoid knows without their being described.
KNOWN_MATERIALS = {'Sole': Material(friction=1.0)}

TOP_KEYS = (
    'format',
    'format_version',
    'angle_unit',
    'name',
    'root_link',
    'links',
    'materials',
    'extra_joints',
    'standard_pose',
)
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
    file = BodyFile(source, folder, model_tree(folder), text=text)
    description = _BodyReader(text, file, ()).read()
    description.warn_of_free_links()
    complete_inertias(description.links, description.warnings)
    complete_masses(description.links, description.warnings)
    if root is not None:
        for link in description.links:
            if link.parent is None:
                link.joint_type = root
        description.base_reason = 'it was asked for'
    return description


def other_model(text: str, source: str) -> str | None:
    """Address of the model in another format that a .body file stands for, if it does."""
    if 'model_file' not in text and 'modelFile' not in text:
        return None
    file = BodyFile(source, Path())
    top = BodyNode(file, _load(text, file), 'body')
    return top.text('model_file') if 'links' not in top else None


def _load(text: str, file: BodyFile) -> Any:
    def warn(key: str, line: int) -> None:
        file.warn(f'line {line}: {key!r} is given twice; the last one counts')

    try:
        return load_yaml(text, warn)
    except yaml.YAMLError as error:
        reason = ' '.join(str(error).split())
        raise ModelError(f'is not YAML that can be read: {reason}', file.source) from error


class _BodyReader:
    """Reads one file; sub bodies are read by readers of their own."""

    def __init__(self, text: str, file: BodyFile, outer: tuple[Path, ...]) -> None:
        self._file = file
        self._top = BodyNode(file, _load(text, file), 'body')
        self._outer = outer
        self._links: dict[str, LinkDescription] = {}
        self._device_names: set[str] = set()
        self._description = BodyDescription('', [], source=file.source, warnings=file.warnings)

    def read(self) -> BodyDescription:
        top = self._top
        self._read_header()
        for kind, node in top.nodes('links', 'Link'):
            if kind == 'Link':
                self._add_link(self._read_link(node))
            elif kind == 'ContinuousTrack':
                self._read_track(node)
            elif kind == 'SubBody':
                self._read_sub_body(node)
            elif kind != 'Skip':
                known = ('Link', 'SubBody', 'ContinuousTrack', 'Skip')
                raise unknown_type(node.label, kind, known, self._file.source)
        if not self._links:
            raise missing_value('body', 'links', self._file.source)
        self._settle_root()
        self._settle_ids()
        for _, node in top.nodes('extra_joints', 'extra_joint'):
            self._read_extra_joint(node)
        self._read_materials()
        self._read_standard_pose()
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

    def _settle_root(self) -> None:
        links = self._links
        roots = [link for link in links.values() if link.parent is None]
        wanted = self._top.text('root_link', roots[0].name if roots else next(iter(links)))
        if wanted not in links:
            raise UnknownLink(wanted, links, self._file.source)
        root = links[wanted]
        # Without any root there is a cycle; the checks of the tree name it.
        if roots and root.parent is not None:
            listed = ', '.join(link.name for link in roots)
            raise self._top.fail('root_link', f'a link without a parent: {listed}')
        for other in roots:
            if other is not root:
                self._add_root(other, root)
        if root.joint_type is not JointType.FREE:
            root.joint_type = JointType.FIXED
            root.joint_id = -1
        kind = 'floats' if root.joint_type is JointType.FREE else 'is fixed'
        self._description.base_reason = (
            f'root link {wanted!r} has the joint type {root.joint_type.value!r}: it {kind}'
        )

    def _add_root(self, link: LinkDescription, root: LinkDescription) -> None:
        """Let a further root hang on the first one: free if it is free, else fixed to it."""
        # Both are given in the world.
        link.translation = root.rotation.T @ (link.translation - root.translation)
        link.rotation = root.rotation.T @ link.rotation
        link.parent = root.name
        if link.joint_type is not JointType.FREE:
            link.joint_type = JointType.FIXED
        self._file.warn(
            f'link {link.name!r} has no parent and is not the root; it is taken to be on '
            f'{root.name!r} by a {link.joint_type.value} joint'
        )

    def _settle_ids(self) -> None:
        holders: dict[int, LinkDescription] = {}
        for link in self._links.values():
            if link.joint_type is JointType.FREE:
                link.joint_id = -1
            if link.joint_id in holders and link.joint_id >= 0:
                before = holders[link.joint_id]
                self._file.warn(
                    f'joint id {link.joint_id} is given to {before.name!r} and {link.name!r}; '
                    f'{before.name!r} is a joint without an id here'
                )
                before.joint_id = -1
            holders[link.joint_id] = link

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
        elements = self._read_elements(node, link)
        self._read_mass(node, link, elements.masses)
        link.info = _rest(node.data, LINK_KEYS)
        return link

    def _read_elements(self, node: BodyNode, link: LinkDescription) -> LinkElements:
        elements = LinkElements(link.name)
        elements.read(node)
        link.shapes += elements.shapes
        for device in elements.devices:
            device.name = self._device_name(device.name or type(device).__name__)
            self._description.devices.append((link.name, device))
        return elements

    def _device_name(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self._device_names:
            number += 1
            name = f'{wanted}_{number}'
        self._device_names.add(name)
        return name

    def _read_joint(self, node: BodyNode, link: LinkDescription) -> None:
        """Take over what a node says of a joint; what it does not say stays as it is."""
        kind = node.symbol('joint_type', link.joint_type.value)
        mode = node.symbol('actuation_mode')
        if mode == SURFACE_VELOCITY:
            kind, mode = JointType.PSEUDO_CONTINUOUS_TRACK.value, 'joint_velocity'
        if kind not in JOINT_TYPES:
            known = list(JOINT_TYPES)
            raise unknown_type(f'joint {link.joint_name!r}', kind, known, self._file.source)
        link.joint_type = JOINT_TYPES[kind]
        if 'translation' in node:
            link.translation = node.translation()
        if 'rotation' in node:
            link.rotation = node.rotation()
        link.joint_id = node.integer('joint_id', link.joint_id)
        if 'joint_axis' in node:
            link.joint_axis = node.axis('joint_axis')
        angular = link.joint_type is JointType.REVOLUTE
        if mode and mode not in MODES:
            raise node.fail('actuation_mode', f'one of {", ".join(MODES)}')
        if link.joint_type is JointType.PSEUDO_CONTINUOUS_TRACK:
            link.actuation_mode = StateFlag.JOINT_VELOCITY
        link.actuation_mode = MODES.get(mode, link.actuation_mode)
        if 'joint_displacement' in node:
            read = node.angle if angular else node.number
            link.q_initial = read('joint_displacement', 0.0)
        else:
            link.q_initial = node.angle('joint_angle', link.q_initial)
        if 'joint_range' in node:
            link.q_lower, link.q_upper = node.limits('joint_range', angular)
        for key in ('max_joint_velocity', 'joint_velocity_range'):
            if key in node:
                link.dq_lower, link.dq_upper = node.limits(key, angular)
        if 'max_joint_effort' in node:
            link.u_lower, link.u_upper = node.limits('max_joint_effort', angular=False)
        ratio = node.number('gear_ratio', 1.0)
        if 'rotor_inertia' in node:
            link.rotor_inertia = node.number('rotor_inertia', 0.0) * ratio**2
        link.rotor_inertia = node.number('joint_axis_inertia', link.rotor_inertia)

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
        even = (whole.inertia + whole.inertia.T) / 2.0
        if not np.allclose(whole.inertia, even, rtol=0.0, atol=1e-12):
            self._file.warn(
                f'link {link.name!r} has inertia {whole.inertia.tolist()}, which is not '
                'symmetric; the mean of both sides is taken'
            )
        link.mass, link.center_of_mass, link.inertia = whole.mass, whole.center, even

    # --- tracks and sub bodies ----------------------------------------------------------------

    def _read_track(self, node: BodyNode) -> None:
        """Add the shoes of a track: the first is free, each other one turns on that before it."""
        for key in ('parent', 'num_joints', 'joint_offset'):
            if key not in node:
                raise missing_value(f'ContinuousTrack {node.label}', key, self._file.source)
        count = node.integer('num_joints', 0)
        if count < 3:
            raise node.fail('num_joints', 'a number of 3 or more')
        offset = node.vector('joint_offset', 3)
        angles = node.numbers('initial_joint_angles') if 'initial_joint_angles' in node else []
        first = self._read_link(node)
        name, devices = first.name, self._description.devices
        names = tuple(f'{name}{i}' for i in range(count))
        for i, shoe_name in enumerate(names):
            shoe = copy.deepcopy(first)
            shoe.name = shoe.joint_name = shoe_name
            shoe.joint_id = -1
            shoe.joint_type = JointType.FREE
            if i > 0:
                shoe.parent, shoe.joint_type = names[i - 1], JointType.REVOLUTE
                shoe.translation, shoe.rotation = offset.copy(), np.eye(3)
                angle = angles[i - 1] if i <= len(angles) else 0.0
                shoe.q_initial = node.to_radian(angle)
            self._add_link(shoe)
        # What a device is on must exist.
        self._description.devices = [
            (names[0] if link == name else link, device) for link, device in devices
        ]
        self._description.tracks.append(ContinuousTrack(name, str(first.parent), names))
        self._description.extra_joints.append(
            ExtraJoint(
                ExtraJointType.HINGE,
                (names[-1], names[0]),
                translations=(offset, np.zeros(3)),
                axis=first.joint_axis / np.linalg.norm(first.joint_axis),
                name=name,
            )
        )

    def _read_sub_body(self, node: BodyNode) -> None:
        uri = node.text('uri')
        if not uri:
            raise missing_value(node.label, 'uri', self._file.source)
        path = model_path(self._file, uri)
        whole = Path(os.path.normpath(path.absolute()))
        if whole in self._outer or whole == Path(self._file.source).absolute():
            raise ModelError(f'sub body {whole} is a part of itself', self._file.source)
        text = read_text(path)
        file = replace(
            self._file,
            source=str(path),
            folder=path.parent,
            degrees=True,
            text=text,
            resources={},
        )
        self._attach(_BodyReader(text, file, (*self._outer, whole)).read(), node)

    def _attach(self, part: BodyDescription, node: BodyNode) -> None:
        prefix, suffix = node.text('prefix'), node.text('suffix')
        offset = node.integer('joint_id_offset', 0)

        def renamed(name: str) -> str:
            return f'{prefix}{name}{suffix}'

        root = next(link for link in part.links if link.parent is None)
        for link in part.links:
            link.name, link.joint_name = renamed(link.name), renamed(link.joint_name)
            if link.joint_id >= 0:
                link.joint_id += offset
            if link.parent is not None:
                link.parent = renamed(link.parent)
            self._add_link(link)
        root.parent = node.text('parent') or None
        self._read_joint(node, root)
        device_prefix = node.text('device_prefix', prefix)
        for link_name, device in part.devices:
            device.name = self._device_name(f'{device_prefix}{device.name}')
            self._description.devices.append((renamed(link_name), device))
        self._read_elements(node, root)
        for joint in part.extra_joints:
            joint.links = (renamed(joint.links[0]), renamed(joint.links[1]))
            joint.name = renamed(joint.name) if joint.name else ''
        self._description.extra_joints += part.extra_joints
        self._description.tracks += [
            ContinuousTrack(
                renamed(track.name),
                renamed(track.parent),
                tuple(renamed(name) for name in track.links),
            )
            for track in part.tracks
        ]
        self._description.materials.update(part.materials)
        self._take_posture(part, renamed)

    def _take_posture(self, part: BodyDescription, renamed: Callable[[str], str]) -> None:
        for name, posture in part.postures.items():
            known = self._description.postures.get(name, Posture({}))
            q = {renamed(joint): value for joint, value in posture.q.items()}
            self._description.postures[name] = Posture({**known.q, **q})

    # --- the rest -----------------------------------------------------------------------------

    def _read_extra_joint(self, node: BodyNode) -> None:
        links = node.text('link1_name'), node.text('link2_name')
        for name in links:
            if name not in self._links:
                raise UnknownLink(name, self._links, self._file.source)
        kind = node.text('joint_type')
        if kind not in EXTRA_JOINTS:
            raise unknown_type(node.label, kind, EXTRA_JOINTS, self._file.source)
        axis = node.axis('axis') if 'axis' in node else np.array([1.0, 0.0, 0.0])
        length = float(np.linalg.norm(axis))
        if not length > 0.0:
            raise node.fail('axis', 'a vector that is not zero')
        self._description.extra_joints.append(
            ExtraJoint(
                EXTRA_JOINTS[kind],
                links,
                (
                    node.translation('translation_in_link1'),
                    node.translation('translation_in_link2'),
                ),
                (node.rotation('rotation_in_link1'), node.rotation('rotation_in_link2')),
                axis / length,
                node.text('name'),
            )
        )

    def _read_standard_pose(self) -> None:
        top = self._top
        if 'standard_pose' not in top:
            return
        values = top.numbers('standard_pose')
        q = {}
        for link in self._links.values():
            if 0 <= link.joint_id < len(values) and link.joint_type.has_displacement:
                value = values[link.joint_id]
                angular = link.joint_type is JointType.REVOLUTE
                q[link.joint_name] = top.to_radian(value) if angular else value
        self._description.postures = {STANDARD_POSE: Posture(q)}

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
