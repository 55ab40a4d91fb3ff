"""A joint reads and writes the body's arrays, both ways and at once."""

from __future__ import annotations

import numpy as np
import pytest
from fake_hardware import two_joint_body

from cnoid_control.body import Body, JointType
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.body.joint_values import JOINT_ARRAYS


def arm(joints: int) -> Body:
    """A chain of joints on a fixed root."""
    links = [LinkDescription('root')]
    for i in range(joints):
        links.append(
            LinkDescription(f'j{i}', links[-1].name, joint_type=JointType.REVOLUTE, joint_id=i)
        )
    return Body(BodyDescription('arm', links))


@pytest.mark.parametrize('joints', [1, 2, 5])
@pytest.mark.parametrize('array', JOINT_ARRAYS)
def test_a_joint_and_the_arrays_are_one(joints: int, array: str) -> None:
    """Whatever is written on one side is read on the other, and nothing else changes."""
    body = arm(joints)
    for i, joint in enumerate(body.joints):
        body.values[:] = 0.0
        setattr(joint, array, 1.5)
        assert body.joint_arrays[array].tolist() == [1.5 * (k == i) for k in range(joints)]
        assert np.count_nonzero(body.values) == 1
        getattr(body, array)[i] = -2.0
        assert getattr(joint, array) == -2.0
        assert type(getattr(joint, array)) is float


@pytest.mark.parametrize('value', [None, '1.0', [1.0], 1j])
def test_a_joint_takes_numbers(value: object) -> None:
    """Anything else is refused where it is written."""
    joint = arm(2).joints[1]
    with pytest.raises(TypeError):
        joint.u = value
    with pytest.raises(TypeError):
        joint.kp = value
    joint.u, joint.kp = np.float32(0.5), 3
    assert (joint.u, joint.kp) == (0.5, 3.0)


def test_a_link_without_a_joint_has_values_of_its_own() -> None:
    """They move nothing."""
    body = arm(2)
    before = body.values.copy()
    body.root_link.q = 1.0
    assert body.root_link.q == 1.0
    assert body.values.tolist() == before.tolist()
    assert body.root_link.u_upper == np.inf


def test_joints_of_a_clone_are_its_own() -> None:
    """A number that is written on one side is not read on the other."""
    body = two_joint_body()
    twin = body.clone()
    twin.joints[1].u = 5.0
    assert (body.joints[1].u, body.u[1]) == (0.0, 0.0)
    assert twin.u[1] == 5.0
