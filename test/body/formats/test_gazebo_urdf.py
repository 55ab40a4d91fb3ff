"""What Gazebo is given: tested on the text, without Gazebo."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from cnoid_control.body import JointType, ModelError, load_body
from cnoid_control.body.formats.gazebo_urdf import fit_for_gazebo, gazebo_world
from cnoid_control.body.formats.robot_description import robot_description, to_text
from cnoid_control.body.formats.ros2_control_tag import complete_sensors
from cnoid_control.body.formats.urdf import parse_urdf

LINK = """<link name="{0}"><inertial><mass value="{1}"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>"""


def fitted(body, folder, **options):
    """Return the URDF for Gazebo, and the new names."""
    robot = robot_description(body.description, folder)
    complete_sensors(robot, body.description)
    return robot, fit_for_gazebo(robot, body.description, options.pop('rate', 1000.0), **options)


def robot_of(tmp_path, *parts, root=JointType.FREE):
    """Return a body of URDF parts."""
    path = tmp_path / 'own.urdf'
    path.write_text(f'<robot name="own">{"".join(parts)}</robot>')
    return load_body(path, root)


def names(robot, tag):
    """Return the names of the elements of a kind."""
    return [element.get('name') for element in robot.findall(tag)]


def test_links_and_joints_have_names_of_their_own(root: Path, tmp_path):
    """SR1's joints are named like their links; the tree and the joints stay what they were."""
    body = load_body(root / 'urdf/sr1.urdf')
    robot, new_names = fitted(body, tmp_path)
    every = names(robot, 'link') + names(robot, 'joint')
    assert len(every) == len(set(every))
    assert set(names(robot, 'joint')) == set(body.joint_names)
    again = parse_urdf(to_text(robot), 'again')
    for old, new in zip(body.description.links, again.links, strict=True):
        assert new.name == new_names.get(old.name, old.name)
        assert new.parent == new_names.get(old.parent, old.parent)
        assert new.mass == old.mass


def test_sensors_are_where_gazebo_looks_for_them(root: Path, tmp_path):
    """Forces by joint, the others by link; always on, at the rate of the controllers."""
    robot, new_names = fitted(load_body(root / 'urdf/sr1.urdf'), tmp_path, rate=500.0)
    places = {
        sensor.get('name'): (gazebo.get('reference'), sensor)
        for gazebo in robot.findall('gazebo')
        for sensor in gazebo.findall('sensor')
    }
    assert places['LeftAnkleForceSensor'][0] == 'LLEG_ANKLE_R'
    assert places['LeftAnkleForceSensor'][0] in names(robot, 'joint')
    assert places['WaistIMU'][0] in names(robot, 'link')
    assert places['LeftCamera'][0] == new_names['CHEST']
    for name in ('WaistIMU', 'RightAnkleForceSensor'):
        assert places[name][1].findtext('always_on') == 'true'
        assert float(places[name][1].findtext('update_rate')) == 500.0
    frames = {
        sensor.get('name'): sensor.findtext("param[@name='frame_id']")
        for sensor in robot.iterfind('ros2_control/sensor')
    }
    assert set(frames.values()) <= set(names(robot, 'link'))
    friction = [g.get('reference') for g in robot.findall('gazebo') if g.find('mu1') is not None]
    assert new_names['LLEG_ANKLE_R'] in friction


def test_the_manager_has_its_files_rate_and_namespace(root: Path, tmp_path):
    """All files in their order; a namespace with one slash in front, none where there is none."""
    body = load_body(root / 'urdf/pendulum.urdf')
    robot, _ = fitted(body, tmp_path, parameter_files=['/a.yaml', '/b.yaml'], namespace='left/')
    plugin = robot.find('gazebo/plugin')
    assert plugin.get('filename') == 'gz_ros2_control-system'
    assert [e.text for e in plugin.findall('parameters')] == ['/a.yaml', '/b.yaml']
    assert plugin.findtext('ros/namespace') == '/left'
    assert fitted(body, tmp_path)[0].find('gazebo/plugin/ros') is None


def test_a_fixed_robot_is_held_to_the_world(tmp_path):
    """Where its root is; and a root without mass is not left out."""
    base = '<link name="base"/>'
    parts = (base, LINK.format('arm', 1), JOINT.format('hinge', 'revolute', 'base', 'arm'))
    body = robot_of(tmp_path, *parts, root=JointType.FIXED)
    body.description.links[0].translation = np.array([0.0, 0.0, 1.5])
    robot, _ = fitted(body, tmp_path)
    joint = robot.find("joint[@type='fixed']")
    assert joint.find('parent').get('link') == 'world'
    assert joint.find('child').get('link') == 'base'
    assert joint.find('origin').get('xyz') == '0.0 0.0 1.5'
    assert robot.find("link[@name='base']/inertial/mass") is not None


@pytest.mark.parametrize('kind', ['', 'fixed', 'revolute'])
def test_a_fixed_robot_is_held_where_it_was_put(tmp_path, kind):
    """Not where its model has it: it may have been raised out of the floor.

    The model has no world, is fixed to one, or has a joint to it.
    """
    parts = [LINK.format('base', 1), LINK.format('arm', 1)]
    parts.append(JOINT.format('hinge', 'revolute', 'base', 'arm'))
    if kind:
        mount = JOINT.format('mount', kind, 'world', 'base')
        origin = '<origin xyz="0 0 0.2" rpy="0 0 1.5"/></joint>'
        parts += ['<link name="world"/>', mount.replace('</joint>', origin)]
    body = robot_of(tmp_path, *parts, root=None if kind else JointType.FIXED)
    body.calc_forward_kinematics()
    offset = np.array(body.link('base').T)
    raised = np.array(body.root_link.T)
    raised[:3, 3] += [0.3, 0.0, 0.5]
    robot, _ = fitted(body, tmp_path, place=raised)
    again = parse_urdf(to_text(robot), 'again')
    assert [link.name for link in again.links].count('world') <= 1
    root = next(link for link in again.links if link.name == 'base')
    np.testing.assert_allclose(root.translation, offset[:3, 3] + [0.3, 0.0, 0.5], atol=1e-9)
    np.testing.assert_allclose(root.rotation, offset[:3, :3], atol=1e-9)


def test_a_link_without_mass_is_refused_by_name(tmp_path):
    """Gazebo would drop it and the rest of the leg, and report success."""
    parts = [LINK.format('base', 1), '<link name="shin"/>', LINK.format('foot', 1)]
    joints = [JOINT.format('knee', 'revolute', 'base', 'shin')]
    moving = JOINT.format('ankle', 'revolute', 'shin', 'foot')
    with pytest.raises(ModelError, match=r"link 'shin' has no mass"):
        fitted(robot_of(tmp_path, *parts, *joints, moving), tmp_path)
    # What is fixed to it gives it a mass.
    fixed = JOINT.format('ankle', 'fixed', 'shin', 'foot')
    fitted(robot_of(tmp_path, *parts, *joints, fixed), tmp_path)


def test_a_force_sensor_in_a_fixed_joint_keeps_its_joint(tmp_path):
    """Gazebo makes fixed links one, unless it is told not to."""
    sensor = (
        '<gazebo reference="hand"><sensor name="wrist" type="force_torque">'
        '<pose>0 0 0.1 0 0 0</pose></sensor></gazebo>'
    )
    parts = (LINK.format('base', 1), LINK.format('hand', 1))
    body = robot_of(tmp_path, *parts, JOINT.format('mount', 'fixed', 'base', 'hand'), sensor)
    robot, _ = fitted(body, tmp_path)
    gazebo = next(g for g in robot.findall('gazebo') if g.find('sensor') is not None)
    assert gazebo.get('reference') == 'mount'
    assert gazebo.findtext('preserveFixedJoint') == 'true'
    assert gazebo.findtext('sensor/force_torque/frame') == 'sensor'
    assert gazebo.findtext('sensor/pose').split()[2] == '0.1'


def test_a_force_sensor_without_a_joint_is_refused(tmp_path):
    """There is nothing in which Gazebo could measure it."""
    sensor = '<gazebo reference="base"><sensor name="seat" type="force_torque"/></gazebo>'
    body = robot_of(tmp_path, LINK.format('base', 1), sensor)
    with pytest.raises(ModelError, match=r"'seat' is on the root link 'base'"):
        fitted(body, tmp_path)


@pytest.mark.parametrize('rate', [1000.0, 500.0, 300.0, 2000.0, 60.0])
def test_the_step_is_a_whole_part_of_the_period(rate):
    """Whatever the rate, and never longer than a millisecond."""
    world = ElementTree.fromstring(gazebo_world(rate))
    step = float(world.findtext('world/physics/max_step_size'))
    assert step <= 1e-3 * (1.0 + 1e-12)
    assert 1.0 / (rate * step) == pytest.approx(round(1.0 / (rate * step)), abs=1e-9)


def test_the_world_has_the_systems_of_the_sensors(root: Path):
    """Without them Gazebo's sensors read zero; cameras cost, and come only with a camera."""
    plain = gazebo_world(1000.0)
    assert 'gz-sim-imu-system' in plain
    assert 'gz-sim-forcetorque-system' in plain
    assert 'gz-sim-sensors-system' not in plain
    sr1 = load_body(root / 'urdf/sr1.urdf').description
    assert 'gz-sim-sensors-system' in gazebo_world(1000.0, sr1)


def test_meshes_are_found_by_others(tmp_path, monkeypatch):
    """A relative mesh has its absolute path; one of an installed package keeps its address."""
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / 'prefix'))
    index = tmp_path / 'prefix/share/ament_index/resource_index/packages'
    index.mkdir(parents=True)
    (index / 'parts').touch()
    share = tmp_path / 'prefix/share/parts'
    share.mkdir()
    (share / 'package.xml').write_text('<package/>')
    for place in (share / 'a.stl', tmp_path / 'b.stl'):
        place.write_bytes(b'\0' * 84)
    mesh = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
    shapes = mesh.format('package://parts/a.stl') + mesh.format('b.stl')
    body = robot_of(tmp_path, LINK.format('base', 1).replace('</link>', f'{shapes}</link>'))
    robot = robot_description(body.description, tmp_path)
    assert [m.get('filename') for m in robot.iter('mesh')] == [
        'package://parts/a.stl',
        f'file://{tmp_path}/b.stl',
    ]
