"""Masses and inertias that can be: of links, and of what moves as one piece."""

import numpy as np
import pytest

from cnoid_control.body.body import Body
from cnoid_control.body.description import BodyDescription, JointType, LinkDescription
from cnoid_control.body.exceptions import ModelError

SOLID = np.diag([0.1, 0.2, 0.3])


def robot(joint_type, inertia, mass=1.0, **more):
    """Build a base with one more link on it."""
    tip = LinkDescription(
        'tip', 'base', joint_type=joint_type, mass=mass, inertia=np.array(inertia), **more
    )
    if joint_type is not JointType.FIXED:
        tip.joint_id = 0
    base = LinkDescription('base', mass=2.0, inertia=SOLID)
    return Body(BodyDescription('r', [base, tip]))


@pytest.mark.parametrize('inertia', [np.zeros((3, 3)), np.full((3, 3), 1e-3), np.diag([1, 1, 0])])
def test_flat_inertias_are_for_links_that_are_fixed_to_solid_ones(inertia):
    """A point mass on a fixed joint is fine; on a joint that moves it is refused."""
    body = robot(JointType.FIXED, inertia)
    assert body.mass == 3.0
    with pytest.raises(ModelError, match="'tip'"):
        robot(JointType.REVOLUTE, inertia)


def test_point_masses_apart_are_solid_together():
    """Two point masses at a distance have no moment about their line; a third gives one."""
    links = [LinkDescription('base', mass=1.0, inertia=np.zeros((3, 3)))]
    for name, place in (('b', [1.0, 0, 0]), ('c', [0, 1.0, 0])):
        links.append(
            LinkDescription(
                name, 'base', mass=1.0, inertia=np.zeros((3, 3)), translation=np.array(place)
            )
        )
    with pytest.raises(ModelError, match="'base'"):
        Body(BodyDescription('r', links[:2]))
    assert Body(BodyDescription('r', links)).mass == 3.0


@pytest.mark.parametrize('joint_type', [JointType.FIXED, JointType.REVOLUTE])
def test_negative_inertias_are_refused_everywhere(joint_type):
    """No piece can make good for a negative moment."""
    with pytest.raises(ModelError, match="'tip'"):
        robot(joint_type, np.diag([0.1, 0.1, -0.01]))


def test_only_joints_that_move_need_an_axis():
    """The axis of a fixed joint means nothing."""
    robot(JointType.FIXED, SOLID, joint_axis=np.zeros(3))
    with pytest.raises(ModelError, match="'tip'"):
        robot(JointType.REVOLUTE, SOLID, joint_axis=np.zeros(3))
