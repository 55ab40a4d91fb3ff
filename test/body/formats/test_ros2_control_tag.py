"""The `<ros2_control>` tags of a URDF."""

import math
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cnoid_control.body import Body, load_body
from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.formats.ros2_control_tag import (
    add_system,
    command_interfaces,
    complete_sensors,
    set_hardware,
)
from cnoid_control.body.formats.urdf import parse_urdf
from cnoid_control.runtime.safety.joint_limits import JointLimitParameters, find_joint_limits


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


LIMITED = """
<robot name="arm"><link name="base"/><link name="upper"/>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
    <axis xyz="0 0 1"/><limit effort="20" velocity="0"/></joint>
  <ros2_control name="arm" type="system"><joint name="shoulder">{}</joint></ros2_control>
</robot>
"""
INTERFACE = '<command_interface name="{}">{}</command_interface>'


def limited(*interfaces: str, more: str = '') -> dict[str, tuple[float, float]]:
    """Limits of the commands to the joint of an arm with these command interfaces."""
    description = parse_urdf(LIMITED.format(''.join(interfaces) + more), 'arm')
    (link,) = (one for one in description.links if one.joint_name == 'shoulder')
    return {} if link.command_limit is None else link.command_limit.intervals


def interface(name: str, least: str = '', most: str = '', more: str = '') -> str:
    """A command interface with these limits."""
    texts = (('min', least), ('max', most))
    given = ''.join(f'<param name="{key}">{text}</param>' for key, text in texts if text)
    return INTERFACE.format(name, given + more)


def test_limits_of_command_interfaces_are_read() -> None:
    """Those that are there, of the interfaces that ros2_control limits; none is infinite."""
    assert limited(interface('position'), interface('stiffness', '0', '9')) == {}
    assert limited(interface('position', '-1', '1'), interface('velocity', most='3.15')) == {
        'position': (-1.0, 1.0),
        'velocity': (-math.inf, 3.15),
    }
    with pytest.raises(ModelError, match=r"max.*'fast'"):
        limited(interface('velocity', most='fast'))


def test_limits_of_command_interfaces_can_be_switched_off() -> None:
    """For one of them, or for the joint."""
    off = '<limits enable="false"/>'
    both = [interface('position', '-1', '1', off), interface('effort', '-5', '5')]
    assert limited(*both) == {'effort': (-5.0, 5.0)}
    assert limited(*both, more=off) == {}
    assert limited(*both, more='<limits enable="true"/>') == {'effort': (-5.0, 5.0)}


def test_limits_of_command_interfaces_are_written() -> None:
    """What is written anew says the same."""
    given = [interface('position', '-1', '1'), interface('velocity', most='3.15')]
    description = parse_urdf(LIMITED.format(''.join(given)), 'arm')
    robot = ElementTree.Element('robot')
    add_system(robot, description)
    params = {
        f'{one.get("name")} {param.get("name")}': param.text
        for one in robot.iterfind('ros2_control/joint/command_interface')
        for param in one.findall('param')
    }
    assert params == {'position min': '-1.0', 'position max': '1.0', 'velocity max': '3.15'}


def test_commands_are_limited_and_physics_has_no_stop() -> None:
    """The limiter has the tighter one of both; the joint itself stays as it is."""
    given = [
        interface('position', '-1', '1'),
        interface('velocity', '-3', '2'),
        interface('effort', '-50', '10'),
        interface('acceleration', '-4', '7'),
    ]
    body = Body(parse_urdf(LIMITED.format(''.join(given)), 'arm'))
    limits = find_joint_limits(body, {})
    assert (limits.q_lower[0], limits.q_upper[0]) == (-1.0, 1.0)
    # A speed limit of zero is none.
    assert (limits.dq_lower[0], limits.dq_upper[0]) == (-3.0, 2.0)
    assert (limits.u_lower[0], limits.u_upper[0]) == (-20.0, 10.0)
    assert limits.ddq_max[0] == 4.0
    assert limits.notes == []
    assert (body.q_lower[0], body.q_upper[0]) == (-math.inf, math.inf)
    # What a configuration gives takes their place.
    own = find_joint_limits(body, {'shoulder': JointLimitParameters(max_position=2.0)})
    assert own.q_upper[0] == 2.0


def test_implausible_limits_of_command_interfaces_are_left_out() -> None:
    """They are said, and the model's stay."""
    given = [interface('position', '1', '-1'), interface('effort', '5', '10')]
    limits = find_joint_limits(Body(parse_urdf(LIMITED.format(''.join(given)), 'arm')), {})
    assert limits.u_upper[0] == 20.0
    assert sum('ros2_control tag' in note for note in limits.notes) == 2
