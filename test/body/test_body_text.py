"""A model as text: the same robot again, whatever format it was read from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from cnoid_control.body import ModelError, load_body
from cnoid_control.body.body_text import body_from_text, body_to_text, mesh_files
from cnoid_control.share import shared_file

HERE = Path(__file__).parent
MESH_ROBOT = """<robot name="m"><link name="base"><visual><geometry>
<mesh filename="part.obj"/></geometry></visual></link></robot>"""


@pytest.mark.parametrize(
    'model',
    [
        HERE / 'full.body',
        HERE / 'sr1.body',
        *(shared_file('urdf', n, '.urdf') for n in ('sr1', 'car', 'lantern')),
    ],
)
def test_robot_is_the_same_again(model):
    """Numbers to the bit: mass matrix and gravity of a random posture, limits, devices."""
    body = load_body(model)
    again = body_from_text(body_to_text(body))
    assert body_to_text(again) == body_to_text(body)
    assert again.joint_names == body.joint_names
    assert [type(one) for one in again.devices] == [type(one) for one in body.devices]
    rng = np.random.default_rng(1)
    body.q[:] = again.q[:] = rng.uniform(-1.0, 1.0, body.num_joints)
    for one in (body, again):
        one.calc_forward_kinematics()
    np.testing.assert_array_equal(again.calc_center_of_mass(), body.calc_center_of_mass())
    np.testing.assert_array_equal(again.q_upper, body.q_upper)
    for mine, theirs in zip(again.devices, body.devices, strict=True):
        np.testing.assert_array_equal(mine.read_state(), theirs.read_state())
        assert mine.link.name == theirs.link.name


def test_name_groups_and_start_posture_are_kept():
    """What is the body's own, beside its model."""
    body = load_body(shared_file('urdf', 'arm', '.urdf'), name='left')
    body.add_joint_group('two', body.joint_names[1:3])
    body.start_posture = np.arange(float(body.num_joints))
    again = body_from_text(body_to_text(body))
    assert again.name == 'left'
    assert again.joint_group('two').joint_names == body.joint_names[1:3]
    np.testing.assert_array_equal(again.start_posture, body.start_posture)


def test_meshes_are_found_elsewhere_or_left_out(tmp_path):
    """By the path that they had."""
    (tmp_path / 'part.obj').write_text('v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n')
    (tmp_path / 'm.urdf').write_text(MESH_ROBOT)
    body = load_body(tmp_path / 'm.urdf')
    (path,) = mesh_files(body.description)
    text = body_to_text(body)
    moved = body_from_text(text, {path: '/elsewhere/part.obj'})
    assert mesh_files(moved.description) == ['/elsewhere/part.obj']
    assert body_from_text(text, {path: ''}).links[0].description.shapes == []


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda v: v.pop('description'), "KeyError('description')"),
        (lambda v: v.update(description={'!': 'Popen'}), "a 'Popen', which is unknown"),
        (lambda v: v.update(description={'!': 'Box', 'size': 1}), 'it describes no robot'),
    ],
)  # fmt: skip
def test_text_of_something_else_is_refused(change, message):
    """Nothing but the types of a model is ever made from a text."""
    values = json.loads(body_to_text(load_body(shared_file('urdf', 'arm', '.urdf'))))
    change(values)
    with pytest.raises(ModelError, match=re.escape(message)):
        body_from_text(json.dumps(values))
