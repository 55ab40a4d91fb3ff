"""Slips in .body files that are read all the same, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cnoid_control.body import Body, GenericDevice, JointType, ModelError, RangeSensor
from cnoid_control.body.description import Ellipsoid, ExtraJointType, Sphere
from cnoid_control.body.devices import OpticalFrame
from cnoid_control.body.formats.choreonoid import parse_body


def read(text: str, folder: Path = Path()) -> Body:
    """Body of the text of a .body file."""
    return Body(parse_body(text, 'slip.body', folder))


def test_last_of_two_keys_counts() -> None:
    """Of a key that stands twice the last one is taken, as Choreonoid does."""
    body = read('links:\n  - {name: a, mass: 2.0}\n  - {name: b, parent: a, mass: 3, mass: 5}\n')
    assert body.mass == 7.0
    (warning,) = body.description.warnings
    assert "line 3: 'mass' is given twice" in warning


def test_joint_id_given_twice() -> None:
    """The later joint keeps the id, the former one becomes a joint without."""
    body = read("""
links:
  - {name: a}
  - {name: b, parent: a, joint_type: revolute, joint_id: 0}
  - {name: c, parent: a, joint_type: revolute, joint_id: 0}
""")
    assert [joint.name for joint in body.all_joints] == ['c', 'b']
    assert "joint id 0 is given to 'b' and 'c'" in body.description.warnings[0]


def test_unknown_device_is_generic() -> None:
    """A device without a class keeps its kind, values and place; others stay what they are."""
    body = read("""
links:
  - name: a
    elements:
      - {type: Nose, name: n, id: 3, translation: [1, 2, 3], smell: [0.5, rose]}
      - {type: ForceSensor, name: f}
      - {type: Nose}
      - {type: Nose}
""")
    nose = body.find_device(GenericDevice, 'n')
    assert nose is not None
    assert (nose.kind, nose.id, nose.info['smell']) == ('Nose', 3, [0.5, 'rose'])
    np.testing.assert_array_equal(nose.p_local, [1.0, 2.0, 3.0])
    names = [device.name for device in body.devices]
    assert names == ['n', 'f', 'GenericDevice', 'GenericDevice_2']
    assert "Nose 'n' has no class here" in body.description.warnings[0]


def test_missing_mesh_is_left_out(tmp_path: Path) -> None:
    """A mesh that is not there costs its shape, not the robot."""
    body = read(
        'links: [{name: a, elements: [{type: Resource, uri: m.stl},'
        ' {type: Shape, geometry: {type: Box}}]}]',
        tmp_path,
    )
    assert len(body.root_link.description.shapes) == 1
    assert "'m.stl' is not there" in body.description.warnings[0]


def test_flat_box_gets_a_thickness() -> None:
    """A plane given as a box without height is a thin plate."""
    body = read('links: [{name: a, elements: {Shape: {geometry: {type: Box, size: [4, 2, 0]}}}}]')
    (shape,) = body.root_link.description.shapes
    assert shape.geometry.size == (4.0, 2.0, 0.001)
    assert '0.001 m thick' in body.description.warnings[0]


def test_scaled_sphere_is_an_ellipsoid() -> None:
    """A scaled sphere is an ellipsoid, a sheared one too, in other axes."""
    element = (
        '{type: Transform, scale: [1, 2, 3], %s elements: {Shape: {geometry: {type: Sphere}}}}'
    )
    straight = read(f'links: [{{name: a, elements: [{element % ""}]}}]')
    assert straight.root_link.description.shapes[0].geometry == Ellipsoid((1.0, 2.0, 3.0))
    inner = element % 'rotation: [0, 0, 1, 30],'
    both = f'{{type: Transform, scale: [2, 1, 1], elements: [{inner}]}}'
    (shape,) = read(f'links: [{{name: a, elements: [{both}]}}]').root_link.description.shapes
    turn = np.radians(30.0)
    rotation = np.array(
        [[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]]
    )
    linear = np.diag([2.0, 1.0, 1.0]) @ rotation @ np.diag([1.0, 2.0, 3.0])
    axes = shape.rotation * shape.geometry.radii
    # Both map the unit ball to the same set.
    np.testing.assert_allclose(axes @ axes.T, linear @ linear.T, atol=1e-12)


def test_asymmetric_inertia_is_evened() -> None:
    """A slip in one half of an inertia is averaged out."""
    body = read('links: [{name: a, inertia: [1, 0.2, 0, 0, 1, 0, 0, 0, 1]}]')
    assert body.root_link.I[0, 1] == body.root_link.I[1, 0] == 0.1
    assert 'not symmetric' in body.description.warnings[0]


def test_standard_pose_is_a_posture() -> None:
    """The standard pose is in degrees for joints that turn, in metres for those that slide."""
    body = read("""
standard_pose: [90, 0.5]
links:
  - {name: a, joint_type: free}
  - {name: b, parent: a, joint_type: revolute, joint_id: 0, joint_name: turn}
  - {name: c, parent: b, joint_type: prismatic, joint_id: 1}
""")
    posture = body.description.postures['standard_pose']
    assert posture.q == pytest.approx({'turn': np.pi / 2, 'c': 0.5})
    assert "'a' has the joint type 'free'" in body.description.base_reason


def test_extra_joints() -> None:
    """Joints that close loops are read in both spellings, points and axis included."""
    body = read("""
links: [{name: a}, {name: b, parent: a}]
extraJoints:
  - {link1Name: a, link2Name: b, jointType: hinge, jointAxis: [0, 0, 2],
     link1LocalPos: [1, 0, 0], link2LocalPos: [0, 1, 0]}
  - {name: ball, link1_name: b, link2_name: a, joint_type: ball,
     translation_in_link1: [0, 0, 1], rotation_in_link2: [0, 0, 1, 90]}
""")
    hinge, ball = body.description.extra_joints
    assert (hinge.kind, hinge.links) == (ExtraJointType.HINGE, ('a', 'b'))
    np.testing.assert_array_equal(hinge.axis, [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(hinge.translations, [[1, 0, 0], [0, 1, 0]])
    assert (ball.kind, ball.name) == (ExtraJointType.BALL, 'ball')
    np.testing.assert_allclose(ball.rotations[1] @ [1, 0, 0], [0, 1, 0], atol=1e-12)


def test_sub_body_brings_everything(tmp_path: Path) -> None:
    """A sub body in a neighbour folder brings its loops, posture and devices, renamed."""
    (tmp_path / 'hand').mkdir()
    (tmp_path / 'arm').mkdir()
    (tmp_path / 'hand' / 'hand.body').write_text("""
standard_pose: [30]
links:
  - {name: palm, joint_type: fixed}
  - {name: tip, parent: palm, joint_type: revolute, joint_id: 0, elements: {IMU: {name: imu}}}
extra_joints: [{link1_name: palm, link2_name: tip, joint_type: fixed}]
""")
    body = read(
        """
links:
  - {name: arm, joint_type: free}
  - {type: SubBody, uri: ../hand/hand.body, prefix: L_, parent: arm, joint_id_offset: 2,
     elements: {ForceSensor: {name: wrist}}}
""",
        tmp_path / 'arm',
    )
    assert body.link('L_tip').joint_id == 2
    assert body.link('L_palm').joint_type is JointType.FIXED
    assert body.description.extra_joints[0].links == ('L_palm', 'L_tip')
    assert body.description.postures['standard_pose'].q == pytest.approx({'L_tip': np.pi / 6})
    assert [device.name for device in body.devices] == ['wrist', 'L_imu']


def test_continuous_track() -> None:
    """A track is a chain of shoes, the first one free, that a hinge closes to a ring."""
    body = read("""
links:
  - {name: a, joint_type: free}
  - {type: ContinuousTrack, name: t, parent: a, numJoints: 4, jointOffset: [1, 0, 0],
     translation: [0, 0, 2], jointAxis: Y, initialJointAngles: [90, 90, 90], mass: 0.5}
""")
    (track,) = body.description.tracks
    assert (track.name, track.parent, track.links) == ('t', 'a', ('t0', 't1', 't2', 't3'))
    assert body.link('t0').joint_type is JointType.FREE
    assert body.mass == 3.0
    (hinge,) = body.description.extra_joints
    assert hinge.links == ('t3', 't0')
    last, first = (body.link(name) for name in hinge.links)
    # The square of four shoes is closed where it starts.
    ends = [
        link.p + link.R @ point
        for link, point in zip((last, first), hinge.translations, strict=True)
    ]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)
    np.testing.assert_allclose(last.R @ hinge.axis, first.R @ hinge.axis, atol=1e-12)


def test_odd_spellings() -> None:
    """Nested translations are added, inf is no limit, a capsule of no height is a sphere."""
    body = read("""
links:
  - {name: a, elements: {Shape: {geometry: {type: Capsule, radius: 2, height: 0}}}}
  - {name: b, parent: a, joint_type: revolute, joint_id: 0, joint_range: [0, inf],
     translation: [[[1, 0, 0], [0, 2, 0]], [0, 0, 3]]}
""")
    assert body.root_link.description.shapes[0].geometry == Sphere(2.0)
    assert (body.q_lower[0], body.q_upper[0]) == (0.0, np.inf)
    np.testing.assert_array_equal(body.link('b').b, [1.0, 2.0, 3.0])


def test_prefix_that_looks_like_a_number(tmp_path: Path) -> None:
    """The prefix 1_ is text, not the number 1."""
    (tmp_path / 'part.body').write_text('links: [{name: base}]')
    body = read(
        'links: [{name: a}, {type: SubBody, uri: part.body, prefix: 1_, parent: a}]', tmp_path
    )
    assert body.links[1].name == '1_base'


def test_yaml_resource_refers_to_the_model(tmp_path: Path) -> None:
    """A YAML resource may use anchors of the model that it is in."""
    (tmp_path / 'part.yaml').write_text('part: &PART {RigidBody: {mass: *WEIGHT}}')
    body = read(
        'weight: &WEIGHT 7\n'
        'links: [{name: a, elements: {Resource: {uri: part.yaml, node: PART}}}]',
        tmp_path,
    )
    assert body.mass == 7.0


def test_optical_frame_by_its_rotation() -> None:
    """The rotation of a known optical frame stands for it; another one is refused."""
    text = (
        'links: [{name: a, elements: {RangeSensor: {name: s, rotation: [0, 0, 1, 30],'
        ' optical_frame_rotation: [[1, 0, 0, 90], [0, 1, 0, %s]]}}}]'
    )
    (sensor,) = read(text % '-90').devices_of(RangeSensor)
    assert sensor.optical_frame is OpticalFrame.ROBOTICS
    ahead = [np.cos(np.radians(30.0)), np.sin(np.radians(30.0)), 0.0]
    np.testing.assert_allclose(-sensor.R_optical[:, 2], ahead, atol=1e-12)
    with pytest.raises(ModelError, match='optical_frame_rotation'):
        read(text % '17')
