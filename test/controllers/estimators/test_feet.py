"""Feet: which links they are, where they touch and how fast."""

from __future__ import annotations

import numpy as np
import pytest

from cnoid_control.body import Body, load_body
from cnoid_control.body.rotations import rotation_matrix
from cnoid_control.body.solids import lowest_points
from cnoid_control.controllers.estimators.feet import Feet


@pytest.fixture
def sr1() -> Body:
    """SR1 in a posture of its own, leaning."""
    body = load_body('package://cnoid_control/urdf/sr1.urdf')
    random = np.random.default_rng(3)
    body.q[:] = random.uniform(-0.4, 0.4, body.num_joints)
    body.dq[:] = random.uniform(-1.0, 1.0, body.num_joints)
    return body


def test_feet_are_the_ends_of_the_limbs_that_it_stands_on(sr1: Body) -> None:
    """Whatever posture it is in when that is asked; each with the force sensor before it."""
    feet = Feet(sr1)
    assert [sr1.links[foot.link].name for foot in feet.feet] == ['LLEG_ANKLE_R', 'RLEG_ANKLE_R']
    assert [sensor.name for sensor in feet.sensors] == [
        'LeftAnkleForceSensor',
        'RightAnkleForceSensor',
    ]
    named = Feet(sr1, ['LeftAnkleForceSensor', 'RLEG_KNEE'])
    assert [sr1.links[foot.link].name for foot in named.feet] == ['LLEG_ANKLE_R', 'RLEG_KNEE']
    assert named.sensors == []


def test_they_touch_with_their_lowest_points(sr1: Body) -> None:
    """The same as all shapes of the robot have, in a world in which it leans."""
    feet = Feet(sr1)
    R = rotation_matrix(([1.0, 0.4, 0.2], 0.4))
    feet.move(sr1.q, sr1.dq)
    placed = feet.place(R[2]).contacts @ R.T
    sr1.root_link.p, sr1.root_link.R = np.zeros(3), R
    sr1.calc_forward_kinematics()
    expected = lowest_points(sr1.links)
    for point, foot in zip(placed, feet.feet, strict=True):
        np.testing.assert_allclose(point, expected[sr1.links[foot.link].name], atol=1e-9)


def test_velocities_are_those_of_finite_differences(sr1: Body) -> None:
    """Of the points of the feet that touch, and of the axes of the feet."""
    feet = Feet(sr1)
    feet.move(sr1.q, sr1.dq)
    before = feet.place(np.array([0.0, 0.0, 1.0]))
    links = [feet.model.links[foot.link] for foot in feet.feet]
    local = [
        link.R.T @ (point - link.p) for link, point in zip(links, before.contacts, strict=True)
    ]
    axes = [np.array(link.R) for link in links]
    step = 1e-6
    feet.move(sr1.q + step * sr1.dq, sr1.dq)
    for i, link in enumerate(links):
        moved = (link.p + link.R @ local[i] - before.contacts[i]) / step
        np.testing.assert_allclose(before.velocities[i], moved, atol=1e-5)
        spin = (link.R @ axes[i].T - np.eye(3)) / step
        rates = [spin[2, 1], spin[0, 2], spin[1, 0]]
        np.testing.assert_allclose(before.rates[i], rates, atol=1e-5)
