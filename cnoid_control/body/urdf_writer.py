"""Writes body descriptions as URDF, with ros2_control and sensor tags."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.body.exceptions import ModelFileNotWritten
from cnoid_control.body.joint_type import JointType
from cnoid_control.body.mesh_writer import MeshWriter
from cnoid_control.body.model_loader import load_description
from cnoid_control.body.shape import Box, Capsule, Cylinder, Shape, Sphere
from cnoid_control.body.urdf_device_writer import write_devices
from cnoid_control.body.urdf_extension_writer import write_extension
from cnoid_control.body.urdf_loader import parse_urdf
from cnoid_control.body.validation import depth_first_order
from cnoid_control.body.xml_format import number, numbers, write_origin

Element = ElementTree.Element
sub = ElementTree.SubElement

MOCK_PLUGIN = 'mock_components/GenericSystem'

# URDF must have limits of effort and velocity; these stand for none.
NO_LIMIT = 1e9


def convert(model: str | Path, out: str | Path) -> BodyDescription:
    """Write a model of any known format as URDF.

    Args:
        model: the model file, or a `package://` address of it.
        out: URDF file to write; meshes that are part of the model go to a folder beside it.

    Returns:
        The description that was written.

    Raises:
        ModelError: the subclass that names what is wrong with the model.
        ModelFileNotWritten: the file cannot be written.
    """
    description = load_description(model)
    write_urdf(description, Path(out))
    return description


def write_urdf(description: BodyDescription, path: Path) -> None:
    """Write a description as URDF; loaded again it is the same model.

    Raises:
        ModelError: the description is not a robot.
        ModelFileNotWritten: the file cannot be written.
    """
    links = depth_first_order(description)
    meshes = MeshWriter(path)
    robot = Element('robot', name=description.name)
    colors = _write_colors(robot, links)
    for link in links:
        _write_link(robot, link, colors, meshes)
    for link in sorted(links, key=lambda link: (link.joint_id < 0, link.joint_id)):
        if link.parent is not None:
            _write_joint(robot, link)
    system = _write_ros2_control(robot, description)
    for link in links:
        _write_surface(robot, link, description)
    try:
        meshes.write()
        write_devices(robot, system, description)
        # What URDF cannot say is what is missing when it is read.
        plain = parse_urdf(_text(robot), str(path), folder=path.parent)
        write_extension(robot, plain, description)
        path.write_text(_text(robot) + '\n', encoding='utf-8')
    except OSError as error:
        raise ModelFileNotWritten(str(path), error.strerror or str(error)) from error


def _text(robot: Element) -> str:
    ElementTree.indent(robot)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(robot, encoding='unicode')


def _write_colors(robot: Element, links: list[LinkDescription]) -> dict[tuple[float, ...], str]:
    names: dict[tuple[float, ...], str] = {}
    for shape in (shape for link in links for shape in link.shapes if shape.visual):
        if shape.color != Shape.color and shape.color not in names:
            names[shape.color] = f'color_{len(names)}'
            material = sub(robot, 'material', name=names[shape.color])
            sub(material, 'color', rgba=numbers(shape.color))
    return names


def _write_link(
    robot: Element,
    link: LinkDescription,
    colors: dict[tuple[float, ...], str],
    meshes: MeshWriter,
) -> None:
    element = sub(robot, 'link', name=link.name)
    if link.mass > 0.0 or link.inertia.any():
        inertial = sub(element, 'inertial')
        write_origin(inertial, link.center_of_mass, np.eye(3))
        sub(inertial, 'mass', value=number(link.mass))
        rows = {'ixx': (0, 0), 'ixy': (0, 1), 'ixz': (0, 2)}
        rows |= {'iyy': (1, 1), 'iyz': (1, 2), 'izz': (2, 2)}
        sub(inertial, 'inertia', {key: number(link.inertia[at]) for key, at in rows.items()})
    for tag in ('visual', 'collision'):
        for shape in link.shapes:
            if getattr(shape, tag):
                _write_shape(sub(element, tag), shape, link.name, meshes)
                if tag == 'visual' and shape.color in colors:
                    sub(element[-1], 'material', name=colors[shape.color])


def _write_shape(element: Element, shape: Shape, link: str, meshes: MeshWriter) -> None:
    if shape.name:
        element.set('name', shape.name)
    write_origin(element, shape.translation, shape.rotation)
    geometry = sub(element, 'geometry')
    solid = shape.geometry
    if isinstance(solid, Box):
        sub(geometry, 'box', size=numbers(solid.size))
    elif isinstance(solid, Sphere):
        sub(geometry, 'sphere', radius=number(solid.radius))
    elif isinstance(solid, (Cylinder, Capsule)):
        tag = 'cylinder' if isinstance(solid, Cylinder) else 'capsule'
        sub(geometry, tag, radius=number(solid.radius), length=number(solid.length))
    else:
        filename, scale = meshes.add(solid, link)
        mesh = sub(geometry, 'mesh', filename=filename)
        if scale != (1.0, 1.0, 1.0):
            mesh.set('scale', numbers(scale))


def _write_joint(robot: Element, link: LinkDescription) -> None:
    kind = 'fixed'
    if link.joint_type.has_displacement:
        unlimited = math.isinf(link.q_lower) and math.isinf(link.q_upper)
        continuous = link.joint_type is JointType.REVOLUTE and unlimited
        kind = 'continuous' if continuous else link.joint_type.value
    joint = sub(robot, 'joint', name=link.joint_name, type=kind)
    sub(joint, 'parent', link=str(link.parent))
    sub(joint, 'child', link=link.name)
    write_origin(joint, link.translation, link.rotation)
    if link.joint_type is JointType.FIXED:
        return
    sub(joint, 'axis', xyz=numbers(link.joint_axis))
    if kind == 'fixed':
        return
    limit = {} if kind == 'continuous' else {'lower': link.q_lower, 'upper': link.q_upper}
    limit |= {'effort': link.u_upper, 'velocity': link.dq_upper}
    clipped = {key: np.clip(value, -NO_LIMIT, NO_LIMIT) for key, value in limit.items()}
    sub(joint, 'limit', {key: number(value) for key, value in clipped.items()})
    if link.damping or link.friction:
        friction = {'damping': number(link.damping), 'friction': number(link.friction)}
        sub(joint, 'dynamics', friction)
    if link.mimic is not None:
        mimic = sub(joint, 'mimic', joint=link.mimic.joint)
        mimic.set('multiplier', number(link.mimic.multiplier))
        mimic.set('offset', number(link.mimic.offset))
    soft = link.soft_limit
    if soft is not None:
        safety = {'soft_lower_limit': soft.lower, 'soft_upper_limit': soft.upper}
        safety |= {'k_position': soft.k_position, 'k_velocity': soft.k_velocity}
        finite = {key: number(value) for key, value in safety.items() if math.isfinite(value)}
        sub(joint, 'safety_controller', finite)


def _write_ros2_control(robot: Element, description: BodyDescription) -> Element:
    system = sub(robot, 'ros2_control', name=description.name or 'robot', type='system')
    sub(sub(system, 'hardware'), 'plugin').text = MOCK_PLUGIN
    moving = [link for link in description.links if link.joint_type.has_displacement]
    for link in sorted(moving, key=lambda link: link.joint_id):
        if link.joint_id < 0 or link.mimic is not None:
            continue
        joint = sub(system, 'joint', name=link.joint_name)
        for name in ('effort', 'position', 'velocity'):
            sub(joint, 'command_interface', name=name)
        for name in ('position', 'velocity', 'effort'):
            state = sub(joint, 'state_interface', name=name)
            if name == 'position' and link.q_initial:
                sub(state, 'param', name='initial_value').text = number(link.q_initial)
    return system


def _write_surface(robot: Element, link: LinkDescription, description: BodyDescription) -> None:
    material = description.materials.get(link.material)
    if material is not None:
        gazebo = sub(robot, 'gazebo', reference=link.name)
        for key in ('mu1', 'mu2'):
            sub(gazebo, key).text = number(material.friction)
