from pathlib import Path
from xml.etree import ElementTree

import pytest

from cnoid_control.body import select_hardware
from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.formats.urdf import parse_urdf


@pytest.mark.parametrize(
    ('hardware', 'plugin'),
    [
        ('gazebo', 'gz_ros2_control/GazeboSimSystem'),
        ('mock', 'mock_components/GenericSystem'),
        ('topic', 'joint_state_topic_hardware_interface/JointStateTopicSystem'),
        ('my_robot/MySystem', 'my_robot/MySystem'),
    ],
)
def test_hardware_is_exchanged(root: Path, hardware: str, plugin: str) -> None:
    """The plug-in and its parameters are the chosen ones; the robot stays what it was."""
    urdf = (root / 'urdf/sr1.urdf').read_text(encoding='utf-8')
    text = select_hardware(urdf, hardware, {'key': 'value'})
    robot = ElementTree.fromstring(text)
    assert [e.text for e in robot.iterfind('ros2_control/hardware/plugin')] == [plugin]
    keys = [e.get('name') for e in robot.iterfind('ros2_control/hardware/param')]
    assert keys[-1:] == ['key']
    assert len(parse_urdf(text, 'sr1').links) == 30
    assert len(robot.findall('ros2_control/joint')) == 29


def test_topics_of_a_robot_are_in_its_namespace(root: Path) -> None:
    """JointStateTopicSystem has absolute names unless it is given others; it sends everything."""
    urdf = (root / 'urdf/sr1.urdf').read_text(encoding='utf-8')
    robot = ElementTree.fromstring(select_hardware(urdf, 'topic'))
    given = {e.get('name'): e.text for e in robot.iterfind('ros2_control/hardware/param')}
    assert given == {
        'trigger_joint_command_threshold': '-1',
        'joint_commands_topic': 'robot_joint_commands',
        'joint_states_topic': 'robot_joint_states',
    }


def test_gazebo_loads_the_controller_manager(root: Path) -> None:
    """For Gazebo the plug-in that runs the controller manager is added with its file."""
    urdf = (root / 'urdf/sr1.urdf').read_text(encoding='utf-8')
    robot = ElementTree.fromstring(select_hardware(urdf, 'gazebo', controllers_file='/c.yaml'))
    assert robot.findtext('gazebo/plugin/parameters') == '/c.yaml'


def test_unknown_hardware_is_refused() -> None:
    """A name that is neither known nor a plug-in is refused with the names that are known."""
    with pytest.raises(ModelError, match='gazebo, mock, topic'):
        select_hardware('<robot/>', 'gazbo')


def test_the_initial_posture_is_set():
    """Positions by joint become initial values; joints that are not named keep theirs."""
    system = ElementTree.Element('robot')
    control = ElementTree.SubElement(system, 'ros2_control', name='arm', type='system')
    for name in ('hip', 'knee'):
        joint = ElementTree.SubElement(control, 'joint', name=name)
        ElementTree.SubElement(joint, 'state_interface', name='velocity')
        state = ElementTree.SubElement(joint, 'state_interface', name='position')
        ElementTree.SubElement(state, 'param', name='initial_value').text = '1.5'
    text = select_hardware(
        ElementTree.tostring(system, encoding='unicode'), 'mock', posture={'knee': -0.25}
    )
    values = [
        [value.text for value in joint.findall('.//param')]
        for joint in ElementTree.fromstring(text).iter('joint')
    ]
    assert values == [['1.5'], ['-0.250000']]
