import math
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from body.models import MIXED, SR1

from cnoid_control.body import (
    AccelerationSensor,
    Body,
    Camera,
    ForceSensor,
    GenericDevice,
    Imu,
    JointType,
    RangeSensor,
    RateGyroSensor,
    load_body,
)
from cnoid_control.body.formats.urdf import parse_urdf

INERTIAL = (
    '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    '</inertial>'
)


def robot(inside: str) -> Body:
    """Return a body of URDF with two links and a joint, and what is put inside."""
    return Body(
        parse_urdf(
            f'<robot name="r"><link name="base">{INERTIAL}</link>'
            f'<link name="arm">{INERTIAL}</link>'
            '<joint name="elbow" type="continuous"><parent link="base"/><child link="arm"/>'
            f'<axis xyz="0 0 1"/></joint>{inside}</robot>',
            'r',
        )
    )


def test_sr1_is_complete() -> None:
    """SR1 has its 30 links, 29 joints, 130.8 kg, and stands at its default height."""
    body = load_body(SR1)
    assert (body.num_links, body.num_joints, body.num_virtual_joints) == (30, 29, 0)
    assert np.isclose(body.mass, 130.8)
    assert body.root_link.name == 'WAIST'
    assert body.root_link.joint_type is JointType.FREE
    np.testing.assert_array_equal(body.root_link.p, [0.0, 0.0, 0.7135])
    assert body.joint(0).name == 'RLEG_HIP_R'
    assert body.joint(28).name == 'CHEST'


def test_sr1_devices() -> None:
    """SR1 carries its seven devices, sorted by link, each on its link and of its type."""
    body = load_body(SR1)
    found = [(type(d), d.name, d.link.name, d.id) for d in body.devices if d.link is not None]
    assert found == [
        (AccelerationSensor, 'WaistAccelSensor', 'WAIST', 0),
        (RateGyroSensor, 'WaistGyro', 'WAIST', 0),
        (Imu, 'WaistIMU', 'WAIST', 0),
        (Camera, 'LeftCamera', 'CHEST', 0),
        (Camera, 'RightCamera', 'CHEST', 1),
        (ForceSensor, 'LeftAnkleForceSensor', 'LLEG_ANKLE_R', 0),
        (ForceSensor, 'RightAnkleForceSensor', 'RLEG_ANKLE_R', 1),
    ]
    camera = body.find_device(Camera, 'LeftCamera')
    assert camera is not None
    # It looks ahead, along X of the chest: a GL camera looks along its -Z.
    np.testing.assert_allclose(-camera.R_optical[:, 2], [1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(camera.R_optical[:, 1], [0.0, 0.0, 1.0], atol=1e-12)
    assert camera.near == 0.1


def test_sr1_soles() -> None:
    """The surface of SR1's soles has a friction coefficient of 1."""
    description = load_body(SR1).description
    soles = {link.name: link.material for link in description.links if link.material}
    assert soles == {'LLEG_ANKLE_R': 'Sole', 'RLEG_ANKLE_R': 'Sole'}
    assert description.materials['Sole'].friction == 1.0


def test_root_can_be_fixed_on_loading() -> None:
    """The caller's choice of root prevails over the file's."""
    body = load_body(SR1, root=JointType.FIXED)
    assert body.is_fixed_root
    np.testing.assert_array_equal(body.root_link.p, [0.0, 0.0, 0.7135])


def test_world_link_holds_the_root() -> None:
    """A link named world is taken out; the joint to it tells how the root is held and where."""
    for kind, root in (('fixed', JointType.FIXED), ('floating', JointType.FREE)):
        body = robot(
            f'<link name="world"/><joint name="mount" type="{kind}"><parent link="world"/>'
            '<child link="base"/><origin xyz="1 2 3"/></joint>'
        )
        assert body.root_link.name == 'base'
        assert body.root_link.joint_type is root
        np.testing.assert_array_equal(body.root_link.p, [1.0, 2.0, 3.0])


def test_mimic_joint_follows() -> None:
    """A mimic joint has no joint id and follows its leader."""
    body = robot(
        f'<link name="tip">{INERTIAL}</link><joint name="finger" type="prismatic">'
        '<parent link="arm"/><child link="tip"/><axis xyz="1 0 0"/>'
        '<mimic joint="elbow" multiplier="2" offset="0.5"/></joint>'
    )
    body.q[:] = 0.25
    body.dq[:] = 1.0
    body.calc_forward_kinematics(velocity=True)
    assert (body.num_joints, body.num_virtual_joints) == (1, 1)
    assert body.joint('finger').q == 1.0
    assert body.joint('finger').dq == 2.0


def test_initial_value_and_extension() -> None:
    """The initial posture comes from ros2_control; ids and rotors from <cnoid_control>."""
    body = robot(
        '<ros2_control name="r" type="system"><joint name="elbow">'
        '<state_interface name="position">'
        '<param name="initial_value">0.5</param></state_interface></joint></ros2_control>'
        '<cnoid_control><joint name="elbow" id="2" rotor_inertia="0.25"/></cnoid_control>'
    )
    assert body.num_joints == 3
    assert body.joint(2).name == 'arm'
    assert body.q.tolist() == [0.0, 0.0, 0.5]
    assert body.joint(2).rotor_inertia == 0.25


def test_ros2_control_sensor_alone() -> None:
    """A ros2_control sensor without a Gazebo tag is on the link of its frame_id."""
    states = ''.join(f'<state_interface name="force.{axis}"/>' for axis in 'xyz')
    body = robot(
        '<ros2_control name="r" type="system"><sensor name="wrist">'
        f'{states}<param name="frame_id">arm</param></sensor></ros2_control>'
    )
    sensor = body.find_device(ForceSensor, 'wrist')
    assert sensor is not None
    assert sensor.link is body.link('arm')


def test_lidar() -> None:
    """A Gazebo lidar is a range sensor with the same directions and distances."""
    body = robot(
        '<gazebo reference="arm"><sensor name="scan" type="gpu_lidar"><pose>0 0 1 0 0 0</pose>'
        '<update_rate>20</update_rate><lidar><scan><horizontal><samples>5</samples>'
        '<min_angle>-1</min_angle><max_angle>1</max_angle></horizontal></scan>'
        '<range><min>0.2</min><max>8</max></range></lidar></sensor></gazebo>'
    )
    sensor = body.find_device(RangeSensor, 'scan')
    assert sensor is not None
    np.testing.assert_allclose(sensor.yaw_angles, [-1.0, -0.5, 0.0, 0.5, 1.0])
    assert (sensor.min_distance, sensor.max_distance, sensor.scan_rate) == (0.2, 8.0, 20.0)
    np.testing.assert_array_equal(sensor.p_local, [0.0, 0.0, 1.0])
    np.testing.assert_allclose(-sensor.R_optical[:, 2], [1.0, 0.0, 0.0], atol=1e-12)


def test_what_no_device_stands_for_is_generic() -> None:
    """Sensors of unknown types are generic, those on unknown links left out; both are told of."""
    body = robot(
        '<gazebo reference="arm"><sensor name="smell" type="nose"/>'
        '<sensor name="imu" type="imu"/></gazebo>'
        '<gazebo reference="leg"><sensor name="lost" type="imu"/></gazebo>'
    )
    assert [device.name for device in body.devices] == ['smell', 'imu']
    smell = body.find_device(GenericDevice, 'smell')
    assert smell is not None
    assert smell.kind == 'nose'
    said = ' '.join(body.description.warnings)
    assert "'smell' of type 'nose'" in said
    assert "'lost' of type 'imu' on link 'leg'" in said


def test_old_and_sloppy_gazebo_tags() -> None:
    """Friction as an attribute, and counts with a decimal point, are understood."""
    body = robot(
        '<gazebo reference="arm"><mu1 value="0.8"/>'
        '<sensor name="eye" type="camera"><camera><image><width>64.0</width></image></camera>'
        '</sensor></gazebo>'
    )
    assert body.description.materials[body.link('arm').description.material].friction == 0.8
    assert body.devices_of(Camera)[0].width == 64


def test_joint_without_a_range_is_unlimited() -> None:
    """A limit of effort and velocity alone does not lock the joint; one end alone is 0."""
    tips = ''.join(
        f'<link name="{name}">{INERTIAL}</link><joint name="{name}" type="revolute">'
        f'<parent link="arm"/><child link="{name}"/>'
        f'<limit {ends} effort="1" velocity="2"/></joint>'
        for name, ends in (('free', ''), ('half', 'upper="1"'))
    )
    body = robot(tips)
    assert (body.joint('free').q_lower, body.joint('free').q_upper) == (-math.inf, math.inf)
    assert (body.joint('half').q_lower, body.joint('half').q_upper) == (0.0, 1.0)
    assert body.joint('free').u_upper == 1.0
    said = ' '.join(body.description.warnings)
    assert "'free'" in said
    assert "'half'" not in said


def test_limits_may_be_infinite() -> None:
    """A file may say in words that a joint has no limits."""
    body = robot(
        f'<link name="tip">{INERTIAL}</link><joint name="slide" type="prismatic">'
        '<parent link="arm"/><child link="tip"/>'
        '<limit lower="-inf" upper="0.5" effort="inf" velocity="Infinity"/></joint>'
    )
    slide = body.joint('slide')
    assert (slide.q_lower, slide.q_upper) == (-math.inf, 0.5)
    assert (slide.u_lower, slide.u_upper) == (-math.inf, math.inf)
    assert slide.dq_upper == math.inf


def test_fixed_joints_mimic_nothing() -> None:
    """The mimic tag of a joint that was fixed moves no other joint."""
    body = robot(
        f'<link name="tip">{INERTIAL}</link><joint name="finger" type="fixed">'
        '<parent link="arm"/><child link="tip"/><mimic joint="elbow" multiplier="2"/></joint>'
    )
    body.q[:] = 0.25
    body.calc_forward_kinematics()
    assert body.q.tolist() == [0.25]


def test_slips_in_the_inertia_of_fixed_links() -> None:
    """A negative moment of a fixed link counts as none; the others stay."""
    body = robot(
        '<link name="cover"><inertial><mass value="0.1"/><inertia ixx="0.1" ixy="0.2" ixz="0" '
        'iyy="0.1" iyz="0" izz="0.3"/></inertial></link><joint name="screw" type="fixed">'
        '<parent link="arm"/><child link="cover"/></joint>'
    )
    moments = np.linalg.eigvalsh(body.link('cover').I)
    np.testing.assert_allclose(moments, [0.0, 0.3, 0.3], atol=1e-12)
    assert "'cover'" in ' '.join(body.description.warnings)


def test_same_visual_and_collision_are_one_shape() -> None:
    """A shape that is seen and collides alike is one shape."""
    shapes = load_body(SR1).link('LLEG_ANKLE_R').description.shapes
    assert [(shape.visual, shape.collision) for shape in shapes] == [(True, True)] * 2


@pytest.mark.parametrize('name', ['sr1', 'mixed'])
def test_agrees_with_the_parser_of_pinocchio(name: str, root: Path) -> None:
    """Links are where pinocchio's own URDF parser has them, and weigh the same."""
    text = MIXED if name == 'mixed' else (root / 'urdf/sr1.urdf').read_text(encoding='utf-8')
    body = Body(parse_urdf(text, name))
    body.root_link.T = np.eye(4)
    body.q[:] = np.random.default_rng(5).uniform(-1.0, 1.0, body.num_joints)
    body.calc_forward_kinematics()
    model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
    data = model.createData()
    q = pin.neutral(model)
    for joint in body.all_joints:
        place = model.joints[model.getJointId(joint.joint_name)]
        # A continuous joint is a cosine and a sine there.
        q[place.idx_q : place.idx_q + place.nq] = (
            joint.q if place.nq == 1 else [math.cos(joint.q), math.sin(joint.q)]
        )
    pin.framesForwardKinematics(model, data, q)
    for link in body.links:
        found = data.oMf[model.getFrameId(link.name, pin.FrameType.BODY)]
        np.testing.assert_allclose(link.T, found.homogeneous, atol=1e-9, err_msg=link.name)
    com = pin.centerOfMass(model, data, q)
    np.testing.assert_allclose(body.calc_center_of_mass(), com, atol=1e-9)
    assert np.isclose(body.mass, pin.computeTotalMass(model))
