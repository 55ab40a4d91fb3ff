"""URDF and world as Gazebo needs them.

Gazebo turns a URDF into SDFormat, which has one set of names for links and joints, drops links
without mass, measures forces in joints, and has sensors only where the world loads their systems.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin

from cnoid_control.body.description import BodyDescription, JointType
from cnoid_control.body.devices import (
    AccelerationSensor,
    ForceSensor,
    Imu,
    RateGyroSensor,
    VisionSensor,
)
from cnoid_control.body.devices.base import Device
from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.formats.ros2_control_tag import device_name

Element = ElementTree.Element
sub = ElementTree.SubElement

PLUGIN = ('gz_ros2_control-system', 'gz_ros2_control::GazeboSimROS2ControlPlugin')
MOTION_SENSORS = ('imu', 'force_torque')
WORLD = 'world'

# Tags in `<gazebo reference=...>` that are about a joint.
JOINT_TAGS = (
    'disableFixedJointLumping',
    'preserveFixedJoint',
    'implicitSpringDamper',
    'provideFeedback',
    'springReference',
    'springStiffness',
    'stopCfm',
    'stopErp',
    'fudgeFactor',
)

# Longest step of the physics [s].
LONGEST_STEP = 1e-3

SYSTEMS = {
    'physics': 'Physics',
    'user-commands': 'UserCommands',
    'scene-broadcaster': 'SceneBroadcaster',
    'contact': 'Contact',
    'imu': 'Imu',
    'forcetorque': 'ForceTorque',
    'apply-link-wrench': 'ApplyLinkWrench',
}


def fit_for_gazebo(
    robot: Element,
    description: BodyDescription,
    rate: float,
    parameter_files: Sequence[str] = (),
    namespace: str = '',
    place: np.ndarray | None = None,
) -> dict[str, str]:
    """Change a URDF so that Gazebo takes all of it.

    Args:
        robot: the URDF's outermost element; its `<ros2_control>` tags have their hardware.
        description: the robot.
        rate: rate of the controllers and sensors [Hz].
        parameter_files: parameter files of the controller manager that runs inside Gazebo; a
            later one wins.
        namespace: namespace of that controller manager.
        place: pose of the root of a fixed robot in the world, shape (4, 4); None for that in the
            description.

    Returns:
        New names of the links that had to be given one, by their old names.

    Raises:
        ModelError: Gazebo would refuse the robot, or leave a part of it out; the message names
            the link, joint or sensor.
    """
    for extension in robot.findall('cnoid_control'):
        robot.remove(extension)
    _hold_fixed_root(robot, description, place)
    _check_masses(robot, description.source)
    new_names = _rename_links(robot)
    _split_references(robot, new_names)
    _write_sensors(robot, description, rate, new_names)
    _check_names(robot, description.source)
    filename, name = PLUGIN
    plugin = sub(sub(robot, 'gazebo'), 'plugin', filename=filename, name=name)
    for file in parameter_files:
        sub(plugin, 'parameters').text = file
    if namespace.strip('/'):
        sub(sub(plugin, 'ros'), 'namespace').text = '/' + namespace.strip('/')
    return new_names


def gazebo_world(rate: float, description: BodyDescription | None = None) -> str:
    """World with a floor, and with the systems that the sensors of robots need.

    Args:
        rate: rate of the controllers [Hz]; the step of the physics is a whole part of its period.
        description: the robot; where it has cameras or laser scanners, these are simulated, too.
    """
    step = 1.0 / (rate * math.ceil(1.0 / (rate * LONGEST_STEP) - 1e-9))
    sdf = Element('sdf', version='1.9')
    world = sub(sdf, 'world', name='ground')
    physics = sub(world, 'physics', name='step', type='ignored')
    sub(physics, 'max_step_size').text = repr(step)
    sub(physics, 'real_time_factor').text = '1.0'
    for file, name in SYSTEMS.items():
        sub(world, 'plugin', filename=f'gz-sim-{file}-system', name=f'gz::sim::systems::{name}')
    devices = description.devices if description is not None else []
    if any(isinstance(device, VisionSensor) for _, device in devices):
        plugin = sub(world, 'plugin', filename='gz-sim-sensors-system')
        plugin.set('name', 'gz::sim::systems::Sensors')
        sub(plugin, 'render_engine').text = 'ogre2'
    sub(world, 'gravity').text = '0 0 -9.80665'
    light = sub(world, 'light', name='sun', type='directional')
    sub(light, 'direction').text = '-0.5 0.1 -0.9'
    floor = sub(world, 'model', name='floor')
    sub(floor, 'static').text = 'true'
    link = sub(floor, 'link', name='link')
    for tag in ('collision', 'visual'):
        plane = sub(sub(sub(link, tag, name=tag), 'geometry'), 'plane')
        sub(plane, 'normal').text = '0 0 1'
        sub(plane, 'size').text = '100 100'
    ElementTree.indent(sdf)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(sdf, encoding='unicode') + '\n'


def _joint_of_child(robot: Element) -> dict[str, Element]:
    joints = {}
    for joint in robot.findall('joint'):
        child = joint.find('child')
        if child is not None:
            joints[child.get('link', '')] = joint
    return joints


def _hold_fixed_root(
    robot: Element, description: BodyDescription, place: np.ndarray | None
) -> None:
    """Hold the root of a fixed robot to the world, which URDF itself does not say."""
    root = next(link for link in description.links if link.parent is None)
    if root.joint_type is JointType.FREE:
        return
    pose = pin.SE3(root.rotation, np.array(root.translation))
    if place is not None:
        pose = pin.SE3(place)
    if root.name == WORLD:
        # The world itself stays where it is: what is held to it moves.
        for joint in robot.findall('joint'):
            parent = joint.find('parent')
            if parent is not None and parent.get('link') == WORLD:
                _set_origin(joint, pose * _origin(joint))
    elif root.name in (held := _joint_of_child(robot)):
        _set_origin(held[root.name], pose)
    else:
        sub(robot, 'link', name=WORLD)
        joint = sub(robot, 'joint', name=f'{WORLD}_to_{root.name}', type='fixed')
        sub(joint, 'parent', link=WORLD)
        sub(joint, 'child', link=root.name)
        _set_origin(joint, pose)
    element = next(link for link in robot.findall('link') if link.get('name') == root.name)
    if root.name != WORLD and _mass(element) == 0.0:
        # Gazebo leaves out what has no mass; of what is held to the world it does not matter.
        for old in element.findall('inertial'):
            element.remove(old)
        inertial = sub(element, 'inertial')
        sub(inertial, 'mass', value='1')
        sub(inertial, 'inertia', ixx='1', iyy='1', izz='1', ixy='0', ixz='0', iyz='0')


def _origin(joint: Element) -> pin.SE3:
    origin = joint.find('origin')
    given = {} if origin is None else origin.attrib
    xyz, rpy = (
        np.array([float(word) for word in given.get(key, '0 0 0').split()])
        for key in ('xyz', 'rpy')
    )
    return pin.SE3(pin.rpy.rpyToMatrix(*rpy), xyz)


def _set_origin(joint: Element, pose: pin.SE3) -> None:
    for old in joint.findall('origin'):
        joint.remove(old)
    angles = pin.rpy.matrixToRpy(pose.rotation)
    sub(joint, 'origin', xyz=_numbers(pose.translation), rpy=_numbers(angles))


def _mass(link: Element) -> float:
    mass = link.find('inertial/mass')
    return float(mass.get('value', '0')) if mass is not None else 0.0


def _check_masses(robot: Element, source: str) -> None:
    """Refuse a moving link that has no mass, nor anything fixed to it that has."""
    joints = _joint_of_child(robot)
    carried: dict[str, float] = {}
    for link in robot.findall('link'):
        # Fixed joints are lumped: the mass counts for the link that moves.
        name = link.get('name', '')
        while name in joints and joints[name].get('type') == 'fixed':
            parent = joints[name].find('parent')
            name = parent.get('link', '') if parent is not None else ''
        carried[name] = carried.get(name, 0.0) + _mass(link)
    for name, mass in carried.items():
        if mass <= 0.0 and name != WORLD:
            raise ModelError(
                f'link {name!r} has no mass: Gazebo would leave it out with all that hangs on it; '
                'give it an <inertial>',
                source,
            )


def _rename_links(robot: Element) -> dict[str, str]:
    joints = {joint.get('name', '') for joint in robot.findall('joint')}
    links = {link.get('name', '') for link in robot.findall('link')}
    taken = joints | links
    new_names: dict[str, str] = {}
    for name in sorted(links & joints):
        new = f'{name}_link'
        while new in taken:
            new += '_'
        taken.add(new)
        new_names[name] = new
    for link in robot.findall('link'):
        link.set('name', new_names.get(link.get('name', ''), link.get('name', '')))
    for end in ('parent', 'child'):
        for element in robot.findall(f'joint/{end}'):
            name = element.get('link', '')
            element.set('link', new_names.get(name, name))
    for frame in robot.iterfind("ros2_control/sensor/param[@name='frame_id']"):
        name = (frame.text or '').strip()
        frame.text = new_names.get(name, name)
    return new_names


def _split_references(robot: Element, new_names: dict[str, str]) -> None:
    """Have Gazebo's tags name the renamed links, but joints by their own names."""
    for gazebo in robot.findall('gazebo'):
        reference = gazebo.get('reference')
        for sensor in gazebo.findall('sensor'):
            if sensor.get('type') in MOTION_SENSORS:
                gazebo.remove(sensor)
        if reference not in new_names:
            continue
        of_joint = [tag for tag in gazebo if tag.tag in JOINT_TAGS]
        for tag in of_joint:
            gazebo.remove(tag)
        if of_joint:
            sub(robot, 'gazebo', reference=reference).extend(of_joint)
        gazebo.set('reference', new_names[reference])


def _write_sensors(
    robot: Element, description: BodyDescription, rate: float, new_names: dict[str, str]
) -> None:
    joints = _joint_of_child(robot)
    for index, (link, device) in enumerate(description.devices):
        name = device_name(device, index)
        if isinstance(device, (Imu, RateGyroSensor, AccelerationSensor)):
            owner = sub(robot, 'gazebo', reference=new_names.get(link, link))
            _write_sensor(owner, name, 'imu', device, rate)
        elif isinstance(device, ForceSensor):
            joint = joints.get(new_names.get(link, link))
            if joint is None:
                raise ModelError(
                    f'force sensor {name!r} is on the root link {link!r}: Gazebo measures forces '
                    'in joints',
                    description.source,
                )
            owner = sub(robot, 'gazebo', reference=joint.get('name', ''))
            if joint.get('type') == 'fixed':
                # Else it would be gone when fixed links are made one.
                sub(owner, 'preserveFixedJoint').text = 'true'
            sensor = _write_sensor(owner, name, 'force_torque', device, rate)
            moved = not np.array_equal(device.T_local, np.eye(4))
            measured = sub(sensor, 'force_torque')
            sub(measured, 'frame').text = 'sensor' if moved else 'child'
            sub(measured, 'measure_direction').text = 'child_to_parent'


def _write_sensor(owner: Element, name: str, kind: str, device: Device, rate: float) -> Element:
    sensor = sub(owner, 'sensor', name=name, type=kind)
    angles = pin.rpy.matrixToRpy(device.R_local)
    sub(sensor, 'pose').text = _numbers([*device.p_local, *angles])
    sub(sensor, 'always_on').text = 'true'
    sub(sensor, 'update_rate').text = repr(float(rate))
    return sensor


def _check_names(robot: Element, source: str) -> None:
    seen: dict[str, str] = {}
    for kind in ('link', 'joint'):
        for element in robot.findall(kind):
            name = element.get('name', '')
            if name in seen:
                raise ModelError(f'{kind} {name!r} has the name of a {seen[name]}', source)
            if not name or name.startswith('__'):
                raise ModelError(f'{kind} {name!r}: SDFormat keeps such names for itself', source)
            seen[name] = kind


def _numbers(values: Sequence[float] | np.ndarray) -> str:
    return ' '.join(repr(float(value) + 0.0) for value in values)
