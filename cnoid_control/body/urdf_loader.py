"""Reads URDF files into body descriptions."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin

from cnoid_control.body.body import Body
from cnoid_control.body.description import BodyDescription, LinkDescription, Mimic, SoftLimit
from cnoid_control.body.exceptions import ModelError, UnknownLink
from cnoid_control.body.joint_type import JointType
from cnoid_control.body.shape import Box, Capsule, Cylinder, Geometry, Mesh, Shape, Sphere

JOINT_TYPES = {
    'revolute': JointType.REVOLUTE,
    'continuous': JointType.REVOLUTE,
    'prismatic': JointType.PRISMATIC,
    'fixed': JointType.FIXED,
}


def load_urdf(path: str | Path, root: JointType = JointType.FREE) -> Body:
    """Body from a URDF file; joint ids follow the order of the joints in the file.

    Args:
        path: the file.
        root: FREE for a floating base, FIXED for one that is bolted to the world.

    Raises:
        ModelError: the file is missing or is not a robot.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding='utf-8')
    except OSError as error:
        raise ModelError(f'cannot be read: {error.strerror}', str(path)) from error
    return Body(parse_urdf(text, str(path), root))


def parse_urdf(text: str, source: str, root: JointType = JointType.FREE) -> BodyDescription:
    """Body description from URDF text; `source` names it in messages."""
    if '<!DOCTYPE' in text or '<!ENTITY' in text:
        raise ModelError('document types and entities are not allowed', source)
    try:
        robot = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ModelError(f'is not XML: {error}', source) from error
    colors = {
        material.get('name', ''): _color(material)
        for material in robot.iter('material')
        if material.find('color') is not None
    }
    links = {}
    for element in robot.findall('link'):
        link = _parse_link(element, colors, source)
        links[link.name] = link
    next_id = 0
    for element in robot.findall('joint'):
        child = _required(element.find('child'), 'link', element, source)
        if child not in links:
            raise UnknownLink(child, links, source)
        _parse_joint(element, links[child], source)
        if links[child].joint_type is not JointType.FIXED and links[child].mimic is None:
            links[child].joint_id = next_id
            next_id += 1
    for link in links.values():
        if link.parent is None:
            link.joint_type = root
    return BodyDescription(name=robot.get('name', ''), links=list(links.values()), source=source)


def _parse_link(
    element: ElementTree.Element, colors: dict[str, tuple[float, ...]], source: str
) -> LinkDescription:
    link = LinkDescription(
        name=_required(element, 'name', element, source), mass=0.0, inertia=np.zeros((3, 3))
    )
    inertial = element.find('inertial')
    if inertial is not None:
        translation, rotation = _origin(inertial)
        link.center_of_mass = translation
        mass = inertial.find('mass')
        link.mass = float(mass.get('value', '0')) if mass is not None else 0.0
        tensor = inertial.find('inertia')
        if tensor is not None:
            xx, xy, xz, yy, yz, zz = (
                float(tensor.get(key, '0')) for key in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
            )
            matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            link.inertia = rotation @ matrix @ rotation.T
    for tag in ('visual', 'collision'):
        for shape in element.findall(tag):
            geometry = _geometry(shape.find('geometry'))
            if geometry is None:
                continue
            translation, rotation = _origin(shape)
            material = shape.find('material')
            color = (0.7, 0.7, 0.7, 1.0)
            if material is not None:
                color = colors.get(material.get('name', ''), color)  # type: ignore[assignment]
            link.shapes.append(
                Shape(
                    geometry,
                    translation,
                    rotation,
                    visual=tag == 'visual',
                    collision=tag == 'collision',
                    color=color,
                    name=shape.get('name', ''),
                )
            )
    return link


def _parse_joint(element: ElementTree.Element, link: LinkDescription, source: str) -> None:
    kind = element.get('type', '')
    link.joint_name = _required(element, 'name', element, source)
    if kind not in JOINT_TYPES:
        raise ModelError(
            f'joint {link.joint_name!r} has unknown type {kind!r}; choose from: '
            + ', '.join(JOINT_TYPES),
            source,
        )
    link.joint_type = JOINT_TYPES[kind]
    link.parent = _required(element.find('parent'), 'link', element, source)
    link.translation, link.rotation = _origin(element)
    axis = element.find('axis')
    link.joint_axis = _vector(axis.get('xyz') if axis is not None else None, (1.0, 0.0, 0.0))
    limit = element.find('limit')
    if limit is not None:
        if kind != 'continuous':
            link.q_lower = float(limit.get('lower', '0'))
            link.q_upper = float(limit.get('upper', '0'))
        for name, attribute in (('u', 'effort'), ('dq', 'velocity')):
            bound = float(limit.get(attribute, 'inf'))
            setattr(link, f'{name}_lower', -bound)
            setattr(link, f'{name}_upper', bound)
    safety = element.find('safety_controller')
    if safety is not None:
        link.soft_limit = SoftLimit(
            float(safety.get('soft_lower_limit', '-inf')),
            float(safety.get('soft_upper_limit', 'inf')),
            float(safety.get('k_position', '0')),
            float(safety.get('k_velocity', '0')),
        )
    dynamics = element.find('dynamics')
    if dynamics is not None:
        link.damping = float(dynamics.get('damping', '0'))
        link.friction = float(dynamics.get('friction', '0'))
    mimic = element.find('mimic')
    if mimic is not None:
        link.mimic = Mimic(
            mimic.get('joint', ''),
            float(mimic.get('multiplier', '1')),
            float(mimic.get('offset', '0')),
        )


def _geometry(element: ElementTree.Element | None) -> Geometry | None:
    solid = element[0] if element is not None and len(element) else None
    if solid is None:
        return None
    if solid.tag == 'box':
        x, y, z = _vector(solid.get('size'), (0.0, 0.0, 0.0))
        return Box((x, y, z))
    if solid.tag == 'sphere':
        return Sphere(float(solid.get('radius', '0')))
    if solid.tag in ('cylinder', 'capsule'):
        solid_type = Cylinder if solid.tag == 'cylinder' else Capsule
        return solid_type(float(solid.get('radius', '0')), float(solid.get('length', '0')))
    if solid.tag == 'mesh':
        x, y, z = _vector(solid.get('scale'), (1.0, 1.0, 1.0))
        return Mesh(uri=solid.get('filename', ''), scale=(x, y, z))
    return None


def _color(material: ElementTree.Element) -> tuple[float, ...]:
    color = material.find('color')
    text = color.get('rgba', '') if color is not None else ''
    return tuple(float(value) for value in text.split())


def _origin(element: ElementTree.Element) -> tuple[np.ndarray, np.ndarray]:
    origin = element.find('origin')
    if origin is None:
        return np.zeros(3), np.eye(3)
    roll, pitch, yaw = _vector(origin.get('rpy'), (0.0, 0.0, 0.0))
    return _vector(origin.get('xyz'), (0.0, 0.0, 0.0)), pin.rpy.rpyToMatrix(roll, pitch, yaw)


def _vector(text: str | None, default: tuple[float, float, float]) -> np.ndarray:
    values = [float(word) for word in text.split()] if text else list(default)
    if len(values) != 3 or not all(math.isfinite(value) for value in values):
        raise ModelError(f'three finite numbers expected, got {text!r}')
    return np.array(values)


def _required(
    element: ElementTree.Element | None, key: str, context: ElementTree.Element, source: str
) -> str:
    value = element.get(key) if element is not None else None
    if not value:
        raise ModelError(f'<{context.tag} name={context.get("name")!r}> lacks {key!r}', source)
    return value
