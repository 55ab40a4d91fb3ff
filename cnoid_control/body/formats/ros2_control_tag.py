"""The `<ros2_control>` tags of a URDF: read, completed, and set to a kind of hardware."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from xml.etree import ElementTree

from cnoid_control.body.description import BodyDescription, JointType
from cnoid_control.body.devices import AccelerationSensor, ForceSensor, Imu, RateGyroSensor
from cnoid_control.body.devices.base import Device
from cnoid_control.body.exceptions import ModelError
from cnoid_control.exceptions import choices

Element = ElementTree.Element
sub = ElementTree.SubElement

MOCK_PLUGIN = 'mock_components/GenericSystem'

# Short names of hardware, and the ros2_control plug-in with the parameters it needs.
HARDWARE: dict[str, tuple[str, dict[str, str]]] = {
    'gazebo': ('gz_ros2_control/GazeboSimSystem', {}),
    'mock': (MOCK_PLUGIN, {}),
    # Without the threshold commands that are close to the state would not be sent; without names
    # the topics of all robots would be the same, whatever their namespaces.
    'topic': (
        'joint_state_topic_hardware_interface/JointStateTopicSystem',
        {
            'trigger_joint_command_threshold': '-1',
            'joint_commands_topic': 'robot_joint_commands',
            'joint_states_topic': 'robot_joint_states',
        },
    ),
    'mujoco_ros2_control': ('mujoco_ros2_control/MujocoSystemInterface', {}),
}

COMMANDS = ('effort', 'position', 'velocity')
GAIN_COMMANDS = ('stiffness', 'damping')
ORIENTATION = [f'orientation.{axis}' for axis in 'xyzw']
VELOCITY = [f'angular_velocity.{axis}' for axis in 'xyz']
ACCELERATION = [f'linear_acceleration.{axis}' for axis in 'xyz']
STATES: dict[type[Device], list[str]] = {
    ForceSensor: [f'{what}.{axis}' for what in ('force', 'torque') for axis in 'xyz'],
    RateGyroSensor: VELOCITY,
    AccelerationSensor: ACCELERATION,
    Imu: ORIENTATION + VELOCITY + ACCELERATION,
}


def device_name(device: Device, index: int) -> str:
    """Name of a device; one that has none gets its class and number."""
    return device.name or f'{type(device).__name__}{index}'


def command_interfaces(robot: Element) -> dict[str, list[str]]:
    """Command interfaces that the tags of a URDF declare, by joint."""
    return {
        joint.get('name', ''): [
            interface.get('name', '') for interface in joint.findall('command_interface')
        ]
        for joint in robot.iterfind('ros2_control/joint')
    }


def add_system(robot: Element, description: BodyDescription) -> Element:
    """Add a `<ros2_control>` element with every joint that can be commanded, on mock hardware.

    Args:
        robot: the URDF's outermost element.
        description: the robot.

    Returns:
        The element, without sensors.
    """
    system = sub(robot, 'ros2_control', name=description.name or 'robot', type='system')
    sub(sub(system, 'hardware'), 'plugin').text = MOCK_PLUGIN
    moving = [link for link in description.links if link.joint_type.is_joint]
    for link in sorted(moving, key=lambda link: link.joint_id):
        if link.joint_id < 0 or link.mimic is not None:
            continue
        joint = sub(system, 'joint', name=link.joint_name)
        track = link.joint_type is JointType.PSEUDO_CONTINUOUS_TRACK
        limits = link.command_limit.intervals if link.command_limit is not None else {}
        for name in ('velocity',) if track else COMMANDS:
            interface = sub(joint, 'command_interface', name=name)
            for key, bound in zip(('min', 'max'), limits.get(name, ()), strict=False):
                if math.isfinite(bound):
                    sub(interface, 'param', name=key).text = repr(bound)
        for name in ('position', 'velocity', 'effort'):
            state = sub(joint, 'state_interface', name=name)
            if name == 'position' and link.q_initial:
                value = repr(float(link.q_initial))
                sub(state, 'param', name='initial_value').text = value
    return system


def offer_gains(robot: Element) -> None:
    """Have the tags declare what a joint commanded with gains needs (JOINT_PID, MIT mode).

    Joints that have a velocity interface alone, as tracks and wheels, are left as they are.
    """
    for joint in robot.iterfind('ros2_control/joint'):
        known = [interface.get('name') for interface in joint.findall('command_interface')]
        if not {'effort', 'position'} & set(known):
            continue
        for name in (*COMMANDS, *GAIN_COMMANDS):
            if name not in known:
                joint.insert(len(known), Element('command_interface', name=name))
                known.append(name)


def add_sensor(
    system: Element, name: str, device: Device, link: str, states: Iterable[str] | None = None
) -> None:
    """Add the tag of a device that ros2_control can read; nothing for others.

    Args:
        system: the `<ros2_control>` element.
        name: name of the sensor.
        device: the device.
        link: name of its link.
        states: its state interfaces; those of its own values where None.
    """
    if type(device) not in STATES:
        return
    tag = sub(system, 'sensor', name=name)
    for state in STATES[type(device)] if states is None else states:
        sub(tag, 'state_interface', name=state)
    sub(tag, 'param', name='frame_id').text = link


def complete_sensors(robot: Element, description: BodyDescription) -> None:
    """Declare every device that ros2_control can read, as simulated hardware gives it.

    A broadcaster for IMUs reads an orientation, a rate and an acceleration, and simulated
    hardware has all of them: so has the tag of a gyroscope or an accelerometer.
    """
    system = robot.find('ros2_control')
    if system is None:
        system = add_system(robot, description)
    for index, (link, device) in enumerate(description.devices):
        if type(device) not in STATES:
            continue
        name = device_name(device, index)
        for owner in robot.findall('ros2_control'):
            for old in owner.findall('sensor'):
                if old.get('name') == name:
                    owner.remove(old)
        kind = ForceSensor if isinstance(device, ForceSensor) else Imu
        add_sensor(system, name, device, link, STATES[kind])


def set_hardware(
    robot: Element,
    hardware: str,
    parameters: Mapping[str, str] | None = None,
    posture: Mapping[str, float] | None = None,
) -> None:
    """Have the `<ros2_control>` tags name the hardware given.

    Args:
        robot: the URDF's outermost element.
        hardware: a short name of HARDWARE, or a ros2_control plug-in as `package/Class`.
        parameters: parameters of the plug-in, beside those it always needs.
        posture: initial positions by joint, for hardware that is simulated [rad] or [m].

    Raises:
        ModelError: a name that is neither a short name nor a plug-in.
    """
    if hardware not in HARDWARE and '/' not in hardware:
        raise ModelError(f'unknown hardware {hardware!r}; {choices([*HARDWARE, "package/Class"])}')
    plugin, always = HARDWARE.get(hardware, (hardware, {}))
    for system in robot.findall('ros2_control'):
        for old in system.findall('hardware'):
            system.remove(old)
        block = Element('hardware')
        sub(block, 'plugin').text = plugin
        for key, value in {**always, **(parameters or {})}.items():
            sub(block, 'param', name=key).text = value
        system.insert(0, block)
        _set_posture(system, posture or {})


def _set_posture(system: Element, posture: Mapping[str, float]) -> None:
    for joint in system.findall('joint'):
        state = joint.find("state_interface[@name='position']")
        name = joint.get('name', '')
        if state is None or name not in posture:
            continue
        for old in state.findall("param[@name='initial_value']"):
            state.remove(old)
        sub(state, 'param', name='initial_value').text = f'{posture[name]:.6f}'
