"""URDF reader."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from cnoid_control.body.base_rule import decide_base
from cnoid_control.body.description import (
    LIMITED_INTERFACES,
    BodyDescription,
    Box,
    Capsule,
    CommandLimit,
    Cylinder,
    Geometry,
    JointType,
    LinkDescription,
    Mesh,
    Mimic,
    Shape,
    SoftLimit,
    Sphere,
)
from cnoid_control.body.exceptions import (
    ModelError,
    PathOutsidePackage,
    UnknownLink,
    duplicate_name,
    invalid_value,
    missing_value,
    unknown_type,
)
from cnoid_control.body.formats.repairs import (
    collide_as_seen,
    complete_inertias,
    complete_masses,
    take_zero_for_unknown,
)
from cnoid_control.body.formats.resources import resolve_uri
from cnoid_control.body.formats.srdf import Semantics, find_srdf, read_srdf
from cnoid_control.body.formats.urdf_devices import read_devices
from cnoid_control.body.formats.urdf_extension import UrdfExtension
from cnoid_control.body.formats.xml_reader import Element, XmlReader, label
from cnoid_control.exceptions import choices

Color = tuple[float, float, float, float]

GEOMETRIES = ('box', 'sphere', 'cylinder', 'capsule', 'mesh')


def read_colors(reader: XmlReader) -> dict[str, Color]:
    """Colors of the named materials, wherever in the file they are defined."""
    colors = {}
    for material in reader.root.iter('material'):
        color = material.find('color')
        if color is not None and color.get('rgba') is not None:
            red, green, blue, alpha = reader.vector(color, 'rgba', (), size=4).tolist()
            colors[material.get('name', '')] = (red, green, blue, alpha)
    return colors


def read_shapes(
    reader: XmlReader,
    link: Element,
    colors: dict[str, Color],
    folder: Path | None,
    warnings: list[str],
) -> list[Shape]:
    """Shapes of a `<link>`; one that is seen and collides alike is one shape.

    Meshes whose file is not there are left out, with a warning.

    Raises:
        ModelError: the subclass that names what is wrong.
    """
    visuals = []
    for element in link.findall('visual'):
        shape = _read_shape(reader, link, element, folder, warnings)
        if shape is None:
            continue
        visuals.append(shape)
        shape.collision = False
        material = element.find('material')
        if material is not None:
            own = material.find('color')
            if own is not None:
                red, green, blue, alpha = reader.vector(own, 'rgba', (), size=4).tolist()
                shape.color = (red, green, blue, alpha)
            else:
                shape.color = colors.get(material.get('name', ''), shape.color)
    only_collide = []
    for element in link.findall('collision'):
        shape = _read_shape(reader, link, element, folder, warnings)
        if shape is None:
            continue
        twin = next((seen for seen in visuals if not seen.collision and _same(seen, shape)), None)
        if twin is not None:
            twin.collision = True
        else:
            shape.visual = False
            only_collide.append(shape)
    return visuals + only_collide


def _same(one: Shape, other: Shape) -> bool:
    return (
        one.geometry == other.geometry
        and np.array_equal(one.translation, other.translation)
        and np.array_equal(one.rotation, other.rotation)
    )


def _read_shape(
    reader: XmlReader, link: Element, element: Element, folder: Path | None, warnings: list[str]
) -> Shape | None:
    translation, rotation = reader.origin(element)
    geometry = _read_geometry(reader, link, element, folder, warnings)
    if geometry is None:
        return None
    return Shape(geometry, translation, rotation, name=element.get('name', ''))


def _read_geometry(
    reader: XmlReader, link: Element, element: Element, folder: Path | None, warnings: list[str]
) -> Geometry | None:
    name = link.get('name', '')
    solids = element.findall('geometry/*')
    if not solids or solids[0].tag not in GEOMETRIES:
        kind = solids[0].tag if solids else None
        warnings.append(
            f'link {name!r}: a <{element.tag}> has the unknown geometry {kind!r} and is left out; '
            f'{choices(GEOMETRIES)}'
        )
        return None
    solid = solids[0]
    if solid.tag == 'mesh':
        x, y, z = reader.vector(solid, 'scale', (1.0, 1.0, 1.0)).tolist()
        uri = reader.text(solid, 'filename', element)
        path = _find_mesh(uri, folder, reader.source)
        if path is None:
            what = 'seen' if element.tag == 'visual' else 'touched'
            warnings.append(f'link {name!r}: mesh {uri!r} is not there; it is not {what}')
            return None
        return Mesh(path=str(path), scale=(x, y, z), uri=uri)
    if solid.tag == 'box':
        x, y, z = (_positive(reader, solid, 'size', value) for value in _size(reader, solid))
        return Box((x, y, z))
    radius = _positive(reader, solid, 'radius', reader.number(solid, 'radius'))
    if solid.tag == 'sphere':
        return Sphere(radius)
    length = _positive(reader, solid, 'length', reader.number(solid, 'length'))
    return Cylinder(radius, length) if solid.tag == 'cylinder' else Capsule(radius, length)


def _find_mesh(uri: str, folder: Path | None, source: str) -> Path | None:
    """Path of a mesh file; None where it is not there.

    Raises:
        PathOutsidePackage: a package address that leads out of its package.
    """
    try:
        path = resolve_uri(uri, folder, source)
    except PathOutsidePackage:
        raise
    except ModelError:
        return None
    return path if path.is_file() else None


def _size(reader: XmlReader, box: Element) -> list[float]:
    return reader.vector(box, 'size', (0.0, 0.0, 0.0)).tolist()


def _positive(reader: XmlReader, solid: Element, key: str, value: float) -> float:
    if not value > 0.0:
        raise invalid_value(label(solid), key, value, 'a length above 0', reader.source)
    return value


# Elements that are read, or known to be for other programs, by what they are in.
ELEMENTS = {
    'robot': (
        'link',
        'joint',
        'material',
        'transmission',
        'gazebo',
        'ros2_control',
        'sensor',
        'cnoid_control',
        'mujoco',
        'drake',
        'group',
        'static',
    ),
    'link': ('inertial', 'visual', 'collision', 'contact', 'self_collision_checking'),
    'joint': (
        'origin',
        'parent',
        'child',
        'axis',
        'limit',
        'dynamics',
        'mimic',
        'safety_controller',
        'calibration',
    ),
}

JOINT_TYPES = {
    'revolute': JointType.REVOLUTE,
    'continuous': JointType.REVOLUTE,
    'prismatic': JointType.PRISMATIC,
    'fixed': JointType.FIXED,
    'floating': JointType.FREE,
}

# A root link of this name stands for the world, as is usual in URDF.
WORLD = 'world'


def parse_urdf(
    text: str, source: str, root: JointType | None = None, folder: Path | None = None
) -> BodyDescription:
    """Body description from URDF text.

    Joint ids follow the order of the moving joints in the file, mimic joints left out, unless the
    file's `<cnoid_control>` element gives them. A massless root link named `world` stands for the
    world: the joint to its child says how the root is held, and where it is by default. A joint
    with a `<limit>` that gives neither end of the range is taken to be unlimited: the 0 of both
    that URDF asks for would lock it.

    Args:
        text: the URDF.
        source: name of it in messages.
        root: FREE for a floating base, FIXED for one that is bolted to the world; where None,
            what the file says, or the SRDF file beside it, else by the rule of `decide_base`.
        folder: folder that relative mesh files count from; the current one where None.

    Raises:
        ModelError: the subclass that names what is wrong.
    """
    reader = XmlReader(text, source)
    robot = reader.root
    if robot.tag != 'robot':
        raise missing_value(f'<{robot.tag}>', '<robot>', source)
    colors = read_colors(reader)
    warnings = reader.warnings
    links: dict[str, LinkDescription] = {}
    for element in robot.findall('link'):
        link = _read_link(reader, element)
        if link.name in links:
            raise duplicate_name('link', link.name, source)
        link.shapes = read_shapes(reader, element, colors, folder, warnings)
        links[link.name] = link
    _read_joints(reader, links, warnings)
    complete_inertias(links.values(), warnings)
    complete_masses(links.values(), warnings)
    description = BodyDescription(
        robot.get('name', ''), list(links.values()), source=source, urdf=text
    )
    description.warnings = warnings
    says_base = _take_out_world(description)
    _drop_loose_links(description)
    _warn_of_elements(reader)
    _read_ros2_control_joints(reader, description)
    extension = UrdfExtension(reader)
    extension.apply_to_links(description)
    devices = read_devices(reader, description)
    extension.apply_to_devices(description, devices)
    description.devices = list(devices.values())
    description.warn_of_free_links()
    says_base = says_base or extension.says_root(description)
    semantics = _read_semantics(description)
    roots = [link for link in description.links if link.parent is None]
    if root is not None or (semantics.root is not None and not says_base):
        for link in roots:
            link.joint_type = root or semantics.root or link.joint_type
        description.base_reason = (
            'it was asked for' if root else f'{Path(semantics.source).name} says so'
        )
    elif not says_base:
        decide_base(description)
    if any(link.joint_type is JointType.FREE for link in roots):
        collide_as_seen(description.links, warnings)
    return description


def _read_semantics(description: BodyDescription) -> Semantics:
    """Take over the postures of the SRDF file beside a URDF file, if there is one."""
    joints = [link.joint_name for link in description.links if link.joint_type.has_displacement]
    others = [link.joint_name for link in description.links if link.parent is not None]
    urdf = Path(description.source)
    file = find_srdf(urdf, description.name) if urdf.suffix and urdf.is_file() else None
    semantics = read_srdf(file, joints, others) if file is not None else Semantics()
    description.postures |= semantics.postures
    description.warnings += semantics.warnings
    return semantics


def _read_link(reader: XmlReader, element: Element) -> LinkDescription:
    name = reader.text(element, 'name', element)
    link = LinkDescription(name=name, mass=0.0, inertia=np.zeros((3, 3)))
    link.joint_type = JointType.FREE
    inertial = element.find('inertial')
    if inertial is None:
        return link
    link.center_of_mass, rotation = reader.origin(inertial)
    mass = inertial.find('mass')
    if mass is not None:
        link.mass = reader.number(mass, 'value')
    tensor = inertial.find('inertia')
    if tensor is not None:
        keys = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
        xx, xy, xz, yy, yz, zz = (reader.number(tensor, key) for key in keys)
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        link.inertia = rotation @ matrix @ rotation.T
    return link


def _read_joints(
    reader: XmlReader, links: dict[str, LinkDescription], warnings: list[str]
) -> None:
    held: dict[str, str] = {}
    next_id = 0
    for element in reader.root.findall('joint'):
        child = reader.text(element.find('child'), 'link', element)
        if child not in links:
            raise UnknownLink(child, links, reader.source)
        if child in held:
            raise duplicate_name('joint child link', child, reader.source)
        link = links[child]
        _read_joint(reader, element, link)
        held[child] = link.joint_name
    _drop_lost_mimics(links, warnings)
    take_zero_for_unknown(links.values(), warnings)
    for child in held:
        link = links[child]
        if link.joint_type.has_displacement and link.mimic is None:
            link.joint_id = next_id
            next_id += 1


def _read_joint(reader: XmlReader, element: Element, link: LinkDescription) -> None:
    kind = element.get('type', '')
    link.joint_name = reader.text(element, 'name', element)
    if kind not in JOINT_TYPES:
        raise unknown_type(f'joint {link.joint_name!r}', kind, JOINT_TYPES, reader.source)
    link.joint_type = JOINT_TYPES[kind]
    link.parent = reader.text(element.find('parent'), 'link', element)
    link.translation, link.rotation = reader.origin(element)
    link.joint_axis = reader.vector(element.find('axis'), 'xyz', (1.0, 0.0, 0.0))
    limit = element.find('limit')
    if limit is None and kind in ('revolute', 'prismatic'):
        reader.warnings.append(f'{label(element)} has no <limit>; it is taken to be unlimited')
    if limit is not None:
        if kind != 'continuous':
            _read_range(reader, element, limit, link)
        link.u_upper = reader.number(limit, 'effort', np.inf, finite=False)
        link.u_lower = -link.u_upper
        link.dq_upper = reader.number(limit, 'velocity', np.inf, finite=False)
        link.dq_lower = -link.dq_upper
    safety = element.find('safety_controller')
    if safety is not None:
        link.soft_limit = SoftLimit(
            reader.number(safety, 'soft_lower_limit', -np.inf),
            reader.number(safety, 'soft_upper_limit', np.inf),
            reader.number(safety, 'k_position'),
            reader.number(safety, 'k_velocity'),
        )
    dynamics = element.find('dynamics')
    if dynamics is not None:
        link.damping = reader.number(dynamics, 'damping')
        link.friction = reader.number(dynamics, 'friction')
    mimic = element.find('mimic')
    # Files of a robot with some joints fixed still have the tags of the moving ones.
    if mimic is not None and link.joint_type.has_displacement:
        link.mimic = Mimic(
            reader.text(mimic, 'joint', element),
            reader.number(mimic, 'multiplier', 1.0),
            reader.number(mimic, 'offset', 0.0),
        )


def _read_range(reader: XmlReader, joint: Element, limit: Element, link: LinkDescription) -> None:
    if limit.get('lower') is None and limit.get('upper') is None:
        if link.joint_type.has_displacement:
            reader.warnings.append(f'{label(joint)} has no range; it is taken to be unlimited')
        return
    link.q_lower = reader.number(limit, 'lower', finite=False)
    link.q_upper = reader.number(limit, 'upper', finite=False)


def _drop_lost_mimics(links: dict[str, LinkDescription], warnings: list[str]) -> None:
    """Let joints move by themselves that follow one which does not exist, or each other.

    What follows a follower follows its leader.
    """
    moving = {link.joint_name: link for link in links.values() if link.joint_type.has_displacement}
    lost: dict[str, list[str]] = {}
    for link in links.values():
        seen = {link.joint_name}
        while link.mimic is not None:
            leader = moving.get(link.mimic.joint)
            if leader is None or leader.joint_name in seen:
                lost.setdefault(link.mimic.joint, []).append(link.joint_name)
                link.mimic = None
                continue
            if leader.mimic is None:
                break
            seen.add(leader.joint_name)
            link.mimic = Mimic(
                leader.mimic.joint,
                link.mimic.multiplier * leader.mimic.multiplier,
                link.mimic.multiplier * leader.mimic.offset + link.mimic.offset,
            )
    for joint, followers in lost.items():
        listed = ', '.join(repr(name) for name in followers)
        warnings.append(f'there is no joint {joint!r} to mimic: {listed} moves by itself')


def _drop_loose_links(description: BodyDescription) -> None:
    """Leave out links without mass that hang on nothing and carry nothing."""
    carriers = {link.parent for link in description.links}
    roots = [link for link in description.links if link.parent is None]
    carrying = [link for link in roots if link.name in carriers or link.mass > 0.0]
    if len(roots) < 2 or not carrying:
        return
    for link in roots:
        if link not in carrying:
            description.links.remove(link)
            description.warnings.append(
                f'link {link.name!r} has no joint and no mass; it is left out'
            )


def _warn_of_elements(reader: XmlReader) -> None:
    """Say which elements are not read; those of other programs are in tags of their own."""
    for parent, known in ELEMENTS.items():
        places = [reader.root] if parent == 'robot' else reader.root.findall(parent)
        unread = {
            element.tag: label(place)
            for place in places
            for element in place
            if element.tag not in known
        }
        for tag, place in unread.items():
            reader.warnings.append(f'{place}: <{tag}> is not read')


def _take_out_world(description: BodyDescription) -> bool:
    """Remove a root link that stands for the world; whether it says how the robot is held."""
    links = description.links
    world = next((link for link in links if link.name == WORLD and link.parent is None), None)
    children = [link for link in links if link.parent == WORLD]
    if world is None or world.mass > 0.0:
        return False
    world.joint_type = JointType.FIXED
    base = children[0] if len(children) == 1 else world
    description.base_reason = f'the root link is {WORLD!r}'
    if base is not world and not base.joint_type.has_displacement:
        base.parent = None
        links.remove(world)
        kind = 'fixed' if base.joint_type is JointType.FIXED else 'floating'
        description.base_reason += f', and the joint to {base.name!r} is {kind}'
    return True


def _read_ros2_control_joints(reader: XmlReader, description: BodyDescription) -> None:
    link_of_joint = {link.joint_name: link for link in description.links}
    for element in reader.root.iterfind('ros2_control/joint'):
        link = link_of_joint.get(element.get('name', ''))
        if link is None:
            continue
        for interface in element.findall('state_interface'):
            initial = interface.find('param[@name="initial_value"]')
            if interface.get('name') == 'position' and initial is not None:
                link.q_initial = reader.parse_number(initial.text, element, 'initial_value')
        intervals = _read_command_limits(reader, element)
        if intervals:
            link.command_limit = CommandLimit(intervals)


def _read_command_limits(reader: XmlReader, joint: Element) -> dict[str, tuple[float, float]]:
    """Limits of a joint's command interfaces by name, of those that have any in force."""
    found: dict[str, tuple[float, float]] = {}
    for interface in joint.findall('command_interface'):
        name = interface.get('name', '')
        switches = [one.find('limits') for one in (joint, interface)]
        is_off = any(one is not None and _is_false(one.get('enable')) for one in switches)
        if name not in LIMITED_INTERFACES or is_off:
            continue
        bounds = []
        for key, none in (('min', -math.inf), ('max', math.inf)):
            given = interface.find(f'param[@name="{key}"]')
            text = '' if given is None else (given.text or '').strip()
            bounds.append(reader.parse_number(text, interface, key, False) if text else none)
        if any(math.isfinite(bound) for bound in bounds):
            found[name] = bounds[0], bounds[1]
    return found


def _is_false(text: str | None) -> bool:
    return (text or '').strip().lower() == 'false'
