import math
from pathlib import Path

import numpy as np
import pytest
from body.models import same_body, sr1

from cnoid_control.body import (
    Body,
    ForceSensor,
    Imu,
    JointType,
    RangeCamera,
    RangeSensor,
    SpotLight,
    StateFlag,
    load_body,
)
from cnoid_control.body.description import Capsule, Cylinder, Material, Mesh, Sphere
from cnoid_control.body.formats.choreonoid import parse_body

HERE = Path(__file__).parents[1]


@pytest.fixture
def full() -> Body:
    """Return the robot whose file says everything that can be said."""
    return load_body(HERE / 'full.body')


def body_of(text: str, folder: Path = HERE) -> Body:
    """Return the body of a .body text."""
    return Body(parse_body(text, 'text', folder))


def test_sr1_body_is_sr1_urdf() -> None:
    """SR1 as a .body file and SR1 as URDF are the same robot."""
    same_body(load_body(HERE / 'sr1.body'), sr1(), shapes=False)


def test_joints(full: Body) -> None:
    """Types, ids, axes, ranges, initial values and modes are read in both spellings."""
    lift = full.joint('lift')
    assert (lift.name, lift.joint_id, lift.joint_type) == ('slider', 3, JointType.PRISMATIC)
    np.testing.assert_array_equal(lift.joint_axis, [0.0, -1.0, 0.0])
    assert (lift.q_lower, lift.q_upper, lift.dq_upper) == (-0.1, math.inf, 0.5)
    assert lift.q == 0.25
    assert lift.actuation_mode is StateFlag.JOINT_VELOCITY
    assert math.isclose(lift.rotor_inertia, 0.1)
    turner = full.link('turner')
    np.testing.assert_allclose([turner.q_lower, turner.q_upper], np.radians([-120.0, 120.0]))
    np.testing.assert_allclose([turner.dq_lower, turner.dq_upper], np.radians([-90.0, 180.0]))
    assert turner.u_upper == 40.0
    assert math.isclose(turner.q, math.pi / 4)
    assert turner.rotor_inertia == 0.2
    assert turner.m == 3.0
    assert full.link('track').actuation_mode is StateFlag.JOINT_VELOCITY


def test_ids_with_a_hole_and_virtual_joints(full: Body) -> None:
    """A missing joint id is a hole, a moving joint without an id a virtual joint."""
    assert (full.num_joints, full.num_virtual_joints) == (4, 1)
    assert full.joint(2).index == -1
    assert full.joint(4).name == 'spinner'


def test_root_and_material(full: Body) -> None:
    """The root has its default pose, links the surfaces that the file describes."""
    np.testing.assert_array_equal(full.root_link.p, [0.0, 0.0, 1.5])
    np.testing.assert_allclose(full.root_link.R[:2, 0], [math.cos(math.pi / 6), 0.5])
    assert full.description.materials['Rubber'] == Material(0.9, 0.2)
    assert full.description.info == {'extra_data': [1, 2]}


def test_rigid_bodies_are_combined(full: Body) -> None:
    """Masses of several rigid bodies, turned and moved, are one by the parallel-axis theorem."""
    base = full.root_link
    assert base.m == 3.0
    np.testing.assert_allclose(base.c, [0.2 / 3.0, 0.0, 0.2 / 3.0])
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    half = math.sqrt(0.5)
    turn = turn @ np.array([[1.0, 0.0, 0.0], [0.0, half, -half], [0.0, half, half]])
    second = np.array([[0.1, 0.01, 0.02], [0.01, 0.2, 0.03], [0.02, 0.03, 0.3]])
    expected = np.diag([0.1, 0.2, 0.3]) + turn @ second @ turn.T
    for mass, center in ((2.0, [0.1, 0.0, 0.0]), (1.0, [0.0, 0.0, 0.2])):
        x = np.array(center) - base.c
        expected += mass * (x @ x * np.eye(3) - np.outer(x, x))
    np.testing.assert_allclose(base.I, expected, atol=1e-12)


def test_devices(full: Body) -> None:
    """Devices have their values in SI units and the pose of all transforms around them."""
    imu = full.find_device(Imu, 'imu')
    assert imu is not None
    assert not imu.on
    np.testing.assert_allclose(imu.w_max, np.radians([90.0, 180.0, 270.0]))
    np.testing.assert_array_equal(imu.dv_max, [10.0, 20.0, 30.0])
    np.testing.assert_allclose(imu.p_local, [0.0, 0.0, 0.2])
    np.testing.assert_allclose(imu.R_local[:, 0], [0.0, 1.0, 0.0], atol=1e-12)
    force = full.find_device(ForceSensor, 'force')
    assert force is not None
    np.testing.assert_array_equal(force.F_max, [100.0, 100.0, 200.0, *[math.inf] * 3])
    camera = full.find_device(RangeCamera, 'depth')
    assert camera is not None
    assert (camera.organized, camera.width, camera.min_distance) == (True, 320, 0.3)
    assert math.isclose(camera.field_of_view, math.pi / 3)
    scan = full.find_device(RangeSensor, 'scan')
    assert scan is not None
    assert (scan.num_yaw_samples, scan.num_pitch_samples, scan.scan_rate) == (4, 3, 5.0)
    beam = full.find_device(SpotLight, 'beam')
    assert beam is not None
    assert math.isclose(beam.cut_off_angle, math.pi / 6)


def test_shapes(full: Body) -> None:
    """Shapes are placed, scaled, coloured, seen and collide as the file says."""
    box, ball, column, pill = full.root_link.description.shapes
    assert (box.visual, box.collision) == (True, True)
    assert box.color == (0.2, 0.3, 0.4, 0.5)
    assert (ball.geometry, ball.visual, ball.collision) == (Sphere(0.1), True, False)
    assert (column.geometry, column.visual) == (Cylinder(0.1, 0.4), False)
    # Along Y in the file, along Z here.
    np.testing.assert_allclose(column.rotation @ [0.0, 0.0, 1.0], [0.0, 1.0, 0.0], atol=1e-12)
    assert isinstance(pill.geometry, Capsule)
    np.testing.assert_allclose([pill.geometry.radius, pill.geometry.length], [0.1, 0.2])


def test_radians() -> None:
    """Angles are in radians where the file says so."""
    body = body_of("""
        angleUnit: radian
        links:
          - {name: a}
          - {name: b, parent: a, joint_type: revolute, joint_id: 0, joint_range: [-1, 2]}
        """)
    assert (body.q_lower[0], body.q_upper[0]) == (-1.0, 2.0)


def test_defaults_of_a_link() -> None:
    """A link that says nothing is fixed, has 1 kg and unit inertia, and its joint its name."""
    body = body_of('links: {Link: {name: only}}')
    link = body.root_link
    assert (link.joint_type, link.m, link.joint_name) == (JointType.FIXED, 1.0, 'only')
    np.testing.assert_array_equal(link.I, np.eye(3))


def test_sub_body(tmp_path: Path) -> None:
    """A sub body is attached with prefixed names, shifted ids and its devices."""
    (tmp_path / 'hand.body').write_text("""
links:
  - {name: palm, elements: {ForceSensor: {name: touch}}}
  - {name: finger, parent: palm, joint_type: revolute, joint_id: 0}
""")
    main = """
links:
  - {name: arm, joint_type: free}
  - {type: SubBody, uri: hand.body, parent: arm, prefix: L_, joint_id_offset: 0,
     device_prefix: left_, translation: [0, 1, 0]}
  - {type: SubBody, uri: hand.body, parent: arm, prefix: R_, suffix: _2, joint_id_offset: 1,
     device_prefix: right_, joint_type: prismatic, joint_id: 2}
"""
    body = body_of(main, tmp_path)
    assert [link.name for link in body.links] == [
        'arm',
        'L_palm',
        'L_finger',
        'R_palm_2',
        'R_finger_2',
    ]
    assert [joint.name for joint in body.joints] == ['L_finger', 'R_finger_2', 'R_palm_2']
    np.testing.assert_array_equal(body.link('L_palm').b, [0.0, 1.0, 0.0])
    assert [device.name for device in body.devices] == ['left_touch', 'right_touch']


def test_mesh_file_and_faces(tmp_path: Path) -> None:
    """Mesh files are found beside the model; faces of any size become triangles."""
    (tmp_path / 'part.stl').touch()
    body = body_of(
        """
        links:
          - name: a
            elements:
              - {type: Resource, uri: part.stl, scale: 0.001}
              - {type: Shape, geometry: {type: Mesh, vertices: [0,0,0, 1,0,0, 1,1,0, 0,1,0],
                 faces: [0, 1, 2, 3, -1]}}
        """,
        tmp_path,
    )
    part, square = (shape.geometry for shape in body.root_link.description.shapes)
    assert isinstance(part, Mesh)
    assert part.path == str(tmp_path / 'part.stl')
    np.testing.assert_allclose(part.scale, 0.001)
    assert isinstance(square, Mesh)
    assert square.triangles == (0, 1, 2, 0, 2, 3)


def test_other_model_file(tmp_path: Path) -> None:
    """A .body file that only names a model file stands for that one."""
    (tmp_path / 'r.urdf').write_text('<robot name="r"><link name="a"/></robot>')
    (tmp_path / 'r.body').write_text('modelFile: r.urdf\n')
    assert load_body(tmp_path / 'r.body').model_name == 'r'


def test_root_can_be_fixed_on_loading() -> None:
    """The caller's choice of root prevails over the file's."""
    assert load_body(HERE / 'full.body', root=JointType.FIXED).is_fixed_root


def test_devices_by_type_are_what_their_key_says() -> None:
    """A range camera is one in the short form too, where the type is the key."""
    text = 'links:\n- name: a\n  elements:\n    RangeCamera: {name: eye}\n'
    (_, device), *_ = parse_body(text, 'a.body', HERE).devices
    assert isinstance(device, RangeCamera)
