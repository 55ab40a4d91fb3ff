"""The `<ros2_control>` tags of a URDF."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from cnoid_control.body import load_body
from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.formats.ros2_control_tag import (
    add_system,
    command_interfaces,
    complete_sensors,
    set_hardware,
)
from cnoid_control.body.formats.urdf import parse_urdf


@pytest.fixture
def sr1(root: Path) -> ElementTree.Element:
    """Return SR1's URDF."""
    return ElementTree.fromstring((root / 'urdf/sr1.urdf').read_text(encoding='utf-8'))


@pytest.mark.parametrize(
    ('hardware', 'plugin'),
    [
        ('gazebo', 'gz_ros2_control/GazeboSimSystem'),
        ('mock', 'mock_components/GenericSystem'),
        ('topic', 'joint_state_topic_hardware_interface/JointStateTopicSystem'),
        ('mujoco_ros2_control', 'mujoco_ros2_control/MujocoSystemInterface'),
        ('my_robot/MySystem', 'my_robot/MySystem'),
    ],
)
def test_hardware_is_exchanged(sr1, hardware: str, plugin: str) -> None:
    """The plug-in and its parameters are the chosen ones; the robot stays what it was."""
    set_hardware(sr1, hardware, {'key': 'value'})
    assert [e.text for e in sr1.iterfind('ros2_control/hardware/plugin')] == [plugin]
    keys = [e.get('name') for e in sr1.iterfind('ros2_control/hardware/param')]
    assert keys[-1:] == ['key']
    assert len(parse_urdf(ElementTree.tostring(sr1, 'unicode'), 'sr1').links) == 30
    assert len(sr1.findall('ros2_control/joint')) == 29


def test_topics_of_a_robot_are_in_its_namespace(sr1) -> None:
    """JointStateTopicSystem has absolute names unless it is given others; it sends everything."""
    set_hardware(sr1, 'topic')
    given = {e.get('name'): e.text for e in sr1.iterfind('ros2_control/hardware/param')}
    assert given == {
        'trigger_joint_command_threshold': '-1',
        'joint_commands_topic': 'robot_joint_commands',
        'joint_states_topic': 'robot_joint_states',
    }


def test_unknown_hardware_is_refused(sr1) -> None:
    """A name that is neither known nor a plug-in is refused with the names that are known."""
    with pytest.raises(ModelError, match='gazebo, mock, topic'):
        set_hardware(sr1, 'gazbo')


def test_the_initial_posture_is_set():
    """Positions by joint become initial values; joints that are not named keep theirs."""
    robot = ElementTree.Element('robot')
    control = ElementTree.SubElement(robot, 'ros2_control', name='arm', type='system')
    for name in ('hip', 'knee'):
        joint = ElementTree.SubElement(control, 'joint', name=name)
        ElementTree.SubElement(joint, 'state_interface', name='velocity')
        state = ElementTree.SubElement(joint, 'state_interface', name='position')
        ElementTree.SubElement(state, 'param', name='initial_value').text = '1.5'
    set_hardware(robot, 'mock', posture={'knee': -0.25})
    values = [[value.text for value in joint.findall('.//param')] for joint in robot.iter('joint')]
    assert values == [['1.5'], ['-0.250000']]


def test_a_robot_without_tags_gets_them(root: Path) -> None:
    """Every joint that can be commanded, in the order of the joint ids."""
    body = load_body(root / 'urdf/pendulum.urdf')
    robot = ElementTree.Element('robot')
    add_system(robot, body.description)
    assert command_interfaces(robot) == {
        name: ['effort', 'position', 'velocity'] for name in body.joint_names
    }


def test_a_gyroscope_is_declared_as_an_imu(sr1, root: Path) -> None:
    """A broadcaster reads all of an IMU, and simulated hardware has all of it."""
    complete_sensors(sr1, load_body(root / 'urdf/sr1.urdf').description)
    tags = {e.get('name'): e for e in sr1.iterfind('ros2_control/sensor')}
    assert len(tags) == 5
    for name, count in (('WaistGyro', 10), ('WaistIMU', 10), ('LeftAnkleForceSensor', 6)):
        assert len(tags[name].findall('state_interface')) == count
        assert tags[name].findtext("param[@name='frame_id']")
