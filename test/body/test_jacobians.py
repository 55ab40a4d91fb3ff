import numpy as np
import pytest
from body import reference_recursion as reference

from cnoid_control.body import (
    Body,
    calc_angular_momentum_jacobian,
    calc_cm_jacobian,
    calc_link_jacobian,
)


def velocity(body: Body) -> np.ndarray:
    """Return the velocities in the order of the columns: joints, root linear, root angular."""
    return np.concatenate([body.dq, body.root_link.v, body.root_link.w])


def with_velocity(body: Body, column: int) -> reference.State:
    """Return the state with a unit velocity in one column and none in the others."""
    state = reference.State.of(body)
    unit = np.zeros(body.num_joints + 6)
    unit[column] = 1.0
    state.v, state.w = unit[-6:-3], unit[-3:]
    by_id = dict(zip([joint.name for joint in body.joints], unit, strict=False))
    for joint in body.all_joints:
        mimic = joint.description.mimic
        leader = joint if mimic is None else body.joint(mimic.joint)
        state.dq[joint.name] = by_id[leader.name] * (1.0 if mimic is None else mimic.multiplier)
    return state


def test_cm_jacobian_agrees_with_recursion(body: Body) -> None:
    """Each column is the velocity of the centre of mass at that unit velocity."""
    J = calc_cm_jacobian(body)
    assert J.shape == (3, body.num_joints + 6)
    for column in range(body.num_joints + 6):
        P, _ = reference.momentum(body, with_velocity(body, column), np.zeros(3))
        np.testing.assert_allclose(J[:, column], P / body.mass, atol=1e-9)


def test_cm_jacobian_agrees_with_finite_differences(body: Body) -> None:
    """The joints' columns are the derivatives of the centre of mass, prismatic joints too."""
    J = calc_cm_jacobian(body)
    for joint in body.joints:
        ends = []
        for step in (1e-6, -1e-6):
            moved = body.clone()
            moved.q[joint.joint_id] += step
            moved.calc_forward_kinematics()
            ends.append(moved.calc_center_of_mass().copy())
        slope = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(J[:, joint.joint_id], slope, atol=1e-6)


def test_angular_momentum_jacobian_agrees_with_recursion(body: Body) -> None:
    """Each column is the angular momentum about the centre of mass at that unit velocity."""
    H = calc_angular_momentum_jacobian(body)
    com = body.calc_center_of_mass()
    for column in range(body.num_joints + 6):
        _, L = reference.momentum(body, with_velocity(body, column), com)
        np.testing.assert_allclose(H[:, column], L, atol=1e-9)
    np.testing.assert_allclose(H[:, -6:-3], 0.0, atol=1e-9)


def test_jacobians_give_the_momentum(body: Body) -> None:
    """Times the velocities, both Jacobians give the body's momentum."""
    P, L = body.calc_total_momentum('com')
    np.testing.assert_allclose(body.mass * calc_cm_jacobian(body) @ velocity(body), P, atol=1e-9)
    np.testing.assert_allclose(calc_angular_momentum_jacobian(body) @ velocity(body), L, atol=1e-9)


@pytest.mark.parametrize('where', [0, 4, -1])
def test_base_stands_still(body: Body, where: int) -> None:
    """With a base, the columns are for a body that moves such that this link does not."""
    base = body.links[where]
    J = calc_cm_jacobian(body, base)
    H = calc_angular_momentum_jacobian(body, base)
    assert J.shape == H.shape == (3, body.num_joints)
    for joint in body.joints:
        state = with_velocity(body, joint.joint_id)
        found = reference.motions(body, state)[base.name]
        # The root goes back by what the base would have moved.
        state.w = -found.w
        state.v = -found.v + np.cross(found.w, base.p - body.root_link.p)
        still = reference.motions(body, state)[base.name]
        np.testing.assert_allclose(np.concatenate([still.v, still.w]), 0.0, atol=1e-9)
        P, L = reference.momentum(body, state, body.calc_center_of_mass())
        np.testing.assert_allclose(J[:, joint.joint_id], P / body.mass, atol=1e-9)
        np.testing.assert_allclose(H[:, joint.joint_id], L, atol=1e-9)


def test_link_jacobian_agrees_with_recursion(body: Body) -> None:
    """Each column is the velocity of a point of the link at that unit velocity."""
    point = np.array([0.1, -0.2, 0.3])
    for link in body.links[:: max(1, body.num_links // 6)]:
        J = calc_link_jacobian(link, point)
        assert J.shape == (6, body.num_joints + 6)
        for column in range(body.num_joints + 6):
            motion = reference.motions(body, with_velocity(body, column))[link.name]
            linear = motion.v + np.cross(motion.w, motion.R @ point)
            expected = np.concatenate([linear, motion.w])
            np.testing.assert_allclose(J[:, column], expected, atol=1e-9, err_msg=link.name)
