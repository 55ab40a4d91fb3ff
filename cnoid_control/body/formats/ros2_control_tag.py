"""The `<ros2_control>` tags of a URDF."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree

from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.formats.xml_reader import XmlReader
from cnoid_control.exceptions import choices

# Short names of hardware, and the ros2_control plug-in with the parameters it needs.
HARDWARE: dict[str, tuple[str, dict[str, str]]] = {
    'gazebo': ('gz_ros2_control/GazeboSimSystem', {}),
    'mock': ('mock_components/GenericSystem', {}),
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
}

GAZEBO_PLUGIN = ('gz_ros2_control-system', 'gz_ros2_control::GazeboSimROS2ControlPlugin')


def select_hardware(
    urdf: str,
    hardware: str,
    parameters: Mapping[str, str] | None = None,
    controllers_file: str = '',
    posture: Mapping[str, float] | None = None,
) -> str:
    """URDF text whose `<ros2_control>` tags name the hardware given.

    Args:
        urdf: text of a URDF.
        hardware: gazebo, mock, topic, or a ros2_control plug-in as `package/Class`.
        parameters: parameters of the plug-in, beside those it always needs.
        controllers_file: parameter file of the controller manager that runs inside Gazebo.
        posture: initial positions by joint, for hardware that is simulated [rad] or [m].

    Raises:
        ModelError: a name that is neither a short name nor a plug-in.
        ModelError: the text is not XML.
    """
    if hardware not in HARDWARE and '/' not in hardware:
        raise ModelError(f'unknown hardware {hardware!r}; {choices([*HARDWARE, "package/Class"])}')
    plugin, always = HARDWARE.get(hardware, (hardware, {}))
    robot = XmlReader(urdf, 'urdf').root
    for system in robot.findall('ros2_control'):
        for old in system.findall('hardware'):
            system.remove(old)
        block = ElementTree.Element('hardware')
        ElementTree.SubElement(block, 'plugin').text = plugin
        for key, value in {**always, **(parameters or {})}.items():
            ElementTree.SubElement(block, 'param', name=key).text = value
        system.insert(0, block)
        _set_posture(system, posture or {})
    if hardware == 'gazebo':
        filename, name = GAZEBO_PLUGIN
        gazebo = ElementTree.SubElement(robot, 'gazebo')
        loaded = ElementTree.SubElement(gazebo, 'plugin', filename=filename, name=name)
        if controllers_file:
            ElementTree.SubElement(loaded, 'parameters').text = controllers_file
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding='unicode')


def _set_posture(system: ElementTree.Element, posture: Mapping[str, float]) -> None:
    for joint in system.findall('joint'):
        state = joint.find("state_interface[@name='position']")
        name = joint.get('name', '')
        if state is None or name not in posture:
            continue
        for old in state.findall("param[@name='initial_value']"):
            state.remove(old)
        value = ElementTree.SubElement(state, 'param', name='initial_value')
        value.text = f'{posture[name]:.6f}'
