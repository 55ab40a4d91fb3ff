"""`cnoid_control show`: what it says is what the file says."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest
from matplotlib.image import imread

from cnoid_control.cli.main import main
from cnoid_control.share import share_folder

MODEL = """
<robot name="lever">
  <link name="world"/>
  <link name="base"><inertial><mass value="2"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <visual><geometry><box size="0.2 0.2 0.4"/></geometry></visual></link>
  <joint name="bolt" type="fixed"><parent link="world"/><child link="base"/>
    <origin xyz="0 0 0.2"/></joint>
  <link name="rod"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <visual><geometry><box size="0.5 0.05 0.05"/></geometry></visual></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="rod"/>
    <axis xyz="0 1 0"/><limit effort="30" velocity="4"/><dynamics damping="0.5"/></joint>
  <link name="tip"><inertial><mass value="0.5"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="follow" type="revolute"><parent link="rod"/><child link="tip"/>
    <limit lower="-1" upper="1" effort="3" velocity="4"/>
    <mimic joint="turn" multiplier="-0.5" offset="0.1"/></joint>
  <ros2_control name="lever" type="system"><joint name="turn">
    <command_interface name="position"/><command_interface name="effort"/></joint></ros2_control>
</robot>
"""


@pytest.fixture
def lever(tmp_path):
    """A model with every kind of joint that the table tells apart."""
    path = tmp_path / 'lever.urdf'
    path.write_text(MODEL)
    return str(path)


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    """Return what `show --json` prints."""
    assert main(['show', *words, '--json']) == 0
    return json.loads(capsys.readouterr().out)


def test_json_says_what_the_file_says(lever, capsys):
    """Joints with limits and commands, joints that follow, masses."""
    facts = shown(capsys, lever)
    assert (facts['name'], facts['base'], facts['root']) == ('lever', 'fixed', 'base')
    assert facts['mass'] == pytest.approx(3.5)
    turn, follow = facts['joints']
    assert (turn['id'], turn['type'], turn['limits']) == (0, 'revolute', [None, None])
    assert (turn['max_effort'], turn['max_velocity'], turn['damping']) == (30.0, 4.0, 0.5)
    assert turn['commanded_by'] == ['position', 'effort']
    assert turn['kp'] == pytest.approx(30.0 / 0.05), 'the whole effort at 0.05 rad'
    assert (follow['id'], follow['follows'], follow['multiplier']) == (None, 'turn', -0.5)
    assert {link['name']: link['mass'] for link in facts['links']} == {
        'base': 2.0,
        'rod': 1.0,
        'tip': 0.5,
    }
    # 0.5 kg hang at the joint, 1 kg stands out by half a metre.
    assert facts['center_of_mass'] == pytest.approx([0.5 / 3.5, 0.0, 0.2])


def test_a_whole_robot_against_others_readers(capsys):
    """SR1: masses as MuJoCo compiles them, joints as they stand in the file."""
    facts = shown(capsys, 'sr1')
    path = share_folder() / 'urdf' / 'sr1.urdf'
    assert facts['base'] == 'floating'
    spec = mujoco.MjSpec.from_file(str(path))
    assert facts['mass'] == pytest.approx(sum(body.mass for body in spec.bodies), rel=1e-6)
    limits = {
        joint.get('name'): joint.find('limit')
        for joint in ElementTree.parse(path).getroot().findall('joint')
        if joint.get('type') == 'revolute'
    }
    assert {joint['name'] for joint in facts['joints']} == set(limits)
    for joint in facts['joints']:
        limit = limits[joint['name']]
        assert joint['limits'] == [float(limit.get('lower')), float(limit.get('upper'))]
        assert joint['max_effort'] == float(limit.get('effort'))
    kinds = {device['name']: (device['type'], device['link']) for device in facts['devices']}
    assert kinds['WaistIMU'] == ('Imu', 'WAIST')
    assert kinds['LeftAnkleForceSensor'] == ('ForceSensor', 'LLEG_ANKLE_R')


def test_the_table_has_it_all(lever, capsys):
    """For people, with the rule of a joint that follows."""
    assert main(['show', lever]) == 0
    text = capsys.readouterr().out
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    turn = ['0', 'turn', 'revolute', '0', 'none', '4', '30']
    assert rows['0'][:7] == turn
    assert rows['0'][-1] == 'position/effort'
    assert 'follows -0.5 * turn + 0.1' in text
    assert 'masses [kg]: base 2, rod 1, tip 0.5' in text
    assert 'base: fixed' in text


def test_a_picture(lever, tmp_path, capsys):
    """The robot is in the picture; a file that cannot be written is named."""
    file = tmp_path / 'lever.png'
    assert main(['show', lever, '--draw', str(file)]) == 0
    image = imread(file)
    centre = image[image.shape[0] // 2, image.shape[1] // 2, :3]
    # Grey metal, not the sky and not the bluish floor.
    assert np.ptp(centre) < 0.02
    assert main(['show', lever, '--draw', str(tmp_path / 'new' / 'lever.png')]) == 0
    assert (tmp_path / 'new' / 'lever.png').is_file()
    assert main(['show', lever, '--draw', str(file / 'lever.png')]) == 1
    assert 'lever.png/lever.png cannot be written' in capsys.readouterr().err


def test_what_is_assumed_is_said(tmp_path, capsys):
    """Warnings stand in the facts, and not on the standard error as well."""
    path = tmp_path / 'odd.urdf'
    sensor = '<sensor name="nose"><state_interface name="smell"/></sensor>'
    path.write_text(MODEL.replace('</ros2_control>', f'{sensor}</ros2_control>'))
    assert main(['show', str(path), '--json']) == 0
    captured = capsys.readouterr()
    assert captured.err == ''
    generic, place = json.loads(captured.out)['warnings']
    assert "'nose' measures smell; it is a GenericDevice" in generic
    assert "'nose' is taken to be on the root link" in place


@pytest.mark.parametrize('rate', ['0', '-5', 'nan'])
def test_a_rate_that_is_none_is_refused(lever, capsys, rate):
    """As `init` and a configuration do."""
    assert main(['show', lever, f'--rate={rate}']) == 1
    assert f'--rate {rate} is not between 0.1 and 100000 Hz' in capsys.readouterr().err


def test_an_unknown_model_is_refused(capsys):
    """With what was looked for."""
    assert main(['show', 'nobody']) == 1
    assert "no model 'nobody'" in capsys.readouterr().err


def test_a_xacro_model_with_its_arguments(tmp_path, capsys):
    """Arguments and base are used, and the command interfaces of its tags are shown."""
    model = tmp_path / 'lever.urdf.xacro'
    model.write_text(
        '<robot name="lever" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:arg name="mass" default="1"/><link name="foot"/>'
        '<link name="bar"><inertial><mass value="$(arg mass)"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="hinge" type="revolute"><parent link="foot"/><child link="bar"/>'
        '<limit lower="-1" upper="1" effort="5" velocity="1"/></joint>'
        '<ros2_control name="a" type="system"><joint name="hinge">'
        '<command_interface name="velocity"/></joint></ros2_control></robot>'
    )
    words = ['show', str(model), '--argument', 'mass=2.5', '--base', 'fixed', '--json']
    assert main(words) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts['mass'], facts['base']) == (2.5, 'fixed')
    assert facts['joints'][0]['commanded_by'] == ['velocity']
