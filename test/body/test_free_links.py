"""Links with a parent that move on their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cnoid_control.body import Body, JointType
from cnoid_control.body.formats.choreonoid import parse_body
from cnoid_control.body.formats.urdf import parse_urdf

TEXT = """
links:
  - {name: floor, translation: [0, 0, 1]}
  - {name: crate, parent: floor, joint_type: free, joint_id: 4, translation: [1, 0, 0],
     rotation: [0, 0, 1, 90], mass: 2}
  - {name: lid, parent: crate, joint_type: revolute, joint_id: 0, translation: [1, 0, 0],
     joint_axis: Z}
  - {name: loose, parent: lid, joint_type: free, translation: [0, 0, 0.5]}
"""


@pytest.fixture
def body() -> Body:
    """A floor with a crate, whose lid carries something loose."""
    return Body(parse_body(TEXT, 'crate.body', Path()))


def test_free_links_follow_until_they_are_put(body: Body) -> None:
    """A free link starts on its parent and keeps its own pose once it has one."""
    np.testing.assert_allclose(body.link('lid').p, [1.0, 1.0, 1.0], atol=1e-12)
    body.root_link.p = [0.0, 0.0, 3.0]
    body.calc_forward_kinematics()
    np.testing.assert_allclose(body.link('lid').p, [1.0, 1.0, 3.0], atol=1e-12)
    crate = body.link('crate')
    crate.p = [5.0, 0.0, 0.0]
    crate.R = np.eye(3)
    body.joint('lid').q = np.pi / 2
    body.root_link.p = [9.0, 9.0, 9.0]
    body.calc_forward_kinematics()
    np.testing.assert_allclose(crate.p, [5.0, 0.0, 0.0])
    lid = body.link('lid')
    np.testing.assert_allclose(lid.p, [6.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(lid.R @ [1, 0, 0], [0, 1, 0], atol=1e-12)
    # What is loose in turn has left with the crate: it has no pose of its own yet.
    assert body.tree.free_links == [-1, 1, 1, 3]


def test_poses_of_free_links_are_state(body: Body) -> None:
    """Saved, restored, cloned and reset with everything else."""
    start = body.save_state()
    body.link('crate').p = [5.0, 0.0, 0.0]
    twin = body.clone()
    np.testing.assert_allclose(twin.link('crate').p, [5.0, 0.0, 0.0])
    body.restore_state(start)
    np.testing.assert_allclose(body.link('crate').p, [1.0, 0.0, 1.0])
    np.testing.assert_allclose(twin.link('crate').p, [5.0, 0.0, 0.0])
    twin.initialize_position()
    np.testing.assert_allclose(twin.link('crate').p, [1.0, 0.0, 1.0])


def test_what_is_done_with_them_is_said(body: Body) -> None:
    """They have no joint id, the mass counts, and a warning names them."""
    assert body.link('crate').joint_id == -1
    assert body.mass == 5.0
    assert "'crate', 'loose'" in body.description.warnings[0]


def test_several_roots() -> None:
    """Further roots hang on the first one: free if they are free, else fixed, where they are."""
    description = parse_body(
        """
links:
  - {name: a, translation: [0, 0, 1], rotation: [0, 0, 1, 90]}
  - {name: b, joint_type: free, translation: [1, 2, 3]}
  - {name: c, translation: [4, 5, 6]}
""",
        'roots.body',
        Path(),
    )
    body = Body(description)
    np.testing.assert_allclose(body.link('b').p, [1.0, 2.0, 3.0], atol=1e-12)
    np.testing.assert_allclose(body.link('b').R, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(body.link('c').p, [4.0, 5.0, 6.0], atol=1e-12)
    assert body.link('b').joint_type is JointType.FREE
    assert body.link('c').joint_type is JointType.FIXED
    assert "'b' has no parent" in description.warnings[0]


def test_floating_joint_of_urdf() -> None:
    """A floating joint inside a URDF is a free link too."""
    inertial = (
        '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
        '</inertial>'
    )
    text = (
        f'<robot name="r"><link name="a">{inertial}</link><link name="b">{inertial}</link>'
        '<joint name="j" type="floating"><parent link="a"/><child link="b"/>'
        '<origin xyz="0 0 2"/></joint></robot>'
    )
    body = Body(parse_urdf(text, 'r.urdf'))
    assert body.link('b').joint_type is JointType.FREE
    np.testing.assert_allclose(body.link('b').p, [0.0, 0.0, 2.0])
    assert any("'b'" in warning for warning in body.description.warnings)
