"""URDF writer."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin

from cnoid_control.body.description import (
    BodyDescription,
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    ExtraJoint,
    HeightField,
    JointType,
    LinkDescription,
    Material,
    Shape,
    Sphere,
    StateFlag,
)
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
from cnoid_control.body.devices.base import Device
from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.formats.load import load_description
from cnoid_control.body.formats.mesh import MeshWriter
from cnoid_control.body.formats.placement import embedded, triangles_of
from cnoid_control.body.formats.ros2_control_tag import add_sensor, add_system, device_name
from cnoid_control.body.formats.urdf import parse_urdf
from cnoid_control.body.formats.urdf_devices import to_optical_frame
from cnoid_control.body.formats.urdf_extension import DEVICE_TYPES, JOINT_NUMBERS, TAG
from cnoid_control.body.kinematic_tree import depth_first_order

logger = logging.getLogger(__name__)


def number(value: float) -> str:
    """Shortest text that reads back as the same number."""
    # Adding zero turns -0.0 into 0.0.
    return repr(float(value) + 0.0)


def numbers(values: Iterable[float]) -> str:
    """Numbers with spaces between them."""
    return ' '.join(number(value) for value in values)


def pose_attributes(translation: np.ndarray, rotation: np.ndarray) -> dict[str, str]:
    """Attributes xyz [m] and rpy [rad] of a frame, as far as they are not zero."""
    attributes = {}
    if np.any(translation):
        attributes['xyz'] = numbers(translation)
    if not np.array_equal(rotation, np.eye(3)):
        attributes['rpy'] = numbers(pin.rpy.matrixToRpy(rotation))
    return attributes


def write_origin(
    parent: ElementTree.Element, translation: np.ndarray, rotation: np.ndarray
) -> None:
    """Add an `<origin>`, unless it is the parent's own frame."""
    attributes = pose_attributes(translation, rotation)
    if attributes:
        ElementTree.SubElement(parent, 'origin', attributes)


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
            _write_joint_extension(extension, link, links[link.name])
    _write_materials(extension, wanted)
    for loop in wanted.extra_joints:
        _write_loop(extension, loop)
    for track in wanted.tracks:
        shoes = ' '.join(track.links)
        names = {'name': track.name, 'parent': track.parent, 'links': shoes}
        sub(extension, 'track', names)
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


def _write_joint_extension(
    extension: Element, plain: LinkDescription, wanted: LinkDescription
) -> None:
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


def _write_loop(extension: Element, loop: ExtraJoint) -> None:
    element = sub(extension, 'loop', {'name': loop.name} if loop.name else {})
    element.set('type', loop.kind.value)
    for i, link in enumerate(loop.links):
        element.set(f'link{i + 1}', link)
        pose = pose_attributes(loop.translations[i], loop.rotations[i])
        for key, text in pose.items():
            element.set(f'{key}{i + 1}', text)
    element.set('axis', numbers(loop.axis))


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
            element.set(key, _extension_text(value))


def _extension_text(value: object) -> str:
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, np.ndarray):
        return numbers(value.ravel().tolist())
    if isinstance(value, dict):
        return json.dumps(value)
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) else number(float(str(value)))


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
        add_sensor(system, device_name(device, index), device, link)


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
        ModelError: the file cannot be written.
    """
    description = load_description(model)
    write_urdf(description, Path(out))
    return description


def write_urdf(description: BodyDescription, path: Path) -> None:
    """Write a description as URDF; loaded again it is the same model.

    Raises:
        ModelError: the description is not a robot.
        ModelError: the file cannot be written.
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
    system = add_system(robot, description)
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
        raise ModelError(
            f'cannot be written: {error.strerror or str(error)}', str(path)
        ) from error


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
        if isinstance(solid, (Ellipsoid, HeightField)):
            kind = type(solid).__name__
            logger.warning('link %r: URDF has no %s; it is written as a mesh', link, kind)
            solid = embedded(*triangles_of(solid))
        filename, scale = meshes.add(solid, link)
        mesh = sub(geometry, 'mesh', filename=filename)
        if scale != (1.0, 1.0, 1.0):
            mesh.set('scale', numbers(scale))


def _write_joint(robot: Element, link: LinkDescription) -> None:
    kind = 'floating' if link.joint_type is JointType.FREE else 'fixed'
    if link.joint_type.has_displacement:
        unlimited = math.isinf(link.q_lower) and math.isinf(link.q_upper)
        continuous = link.joint_type is JointType.REVOLUTE and unlimited
        kind = 'continuous' if continuous else link.joint_type.value
    elif link.joint_type is JointType.PSEUDO_CONTINUOUS_TRACK:
        # The nearest that URDF has: a joint that runs on and on.
        kind = 'continuous'
    joint = sub(robot, 'joint', name=link.joint_name, type=kind)
    sub(joint, 'parent', link=str(link.parent))
    sub(joint, 'child', link=link.name)
    write_origin(joint, link.translation, link.rotation)
    if link.joint_type in (JointType.FIXED, JointType.FREE):
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


def _write_surface(robot: Element, link: LinkDescription, description: BodyDescription) -> None:
    material = description.materials.get(link.material)
    if material is not None:
        gazebo = sub(robot, 'gazebo', reference=link.name)
        for key in ('mu1', 'mu2'):
            sub(gazebo, key).text = number(material.friction)
