"""Jacobians of links, of the centre of mass and of the angular momentum.

All need forward kinematics to have been run. Velocities are in world axes. Joints are in joint-id
order; mimic joints move with the joint they follow, virtual joints stand still.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from cnoid_control.body.body import Body
from cnoid_control.body.kinematic_tree import ROOT_NV
from cnoid_control.body.link import Link


def calc_cm_jacobian(body: Body, base: Link | None = None) -> np.ndarray:
    """Velocity of the centre of mass from the velocities of the joints and of the root.

    Args:
        body: the robot.
        base: link that stands still in the world; None where the root moves on its own.

    Returns:
        Without a base shape (3, num_joints + 6), columns [joints, root linear, root angular];
        with a base shape (3, num_joints).
    """
    jacobian = pin.jacobianCenterOfMass(body.model, body.data, body.pin_q(), False)
    return _joints_first(body, from_pin(body, jacobian), base)


def calc_angular_momentum_jacobian(body: Body, base: Link | None = None) -> np.ndarray:
    """Angular momentum about the centre of mass from the velocities of the joints and the root.

    With a base Choreonoid refers the momentum to the world origin and leaves out a part of the
    inertia; here it is the momentum about the centre of mass in both cases.

    Args:
        body: the robot.
        base: link that stands still in the world; None where the root moves on its own.

    Returns:
        Without a base shape (3, num_joints + 6), columns [joints, root linear, root angular];
        with a base shape (3, num_joints).
    """
    momentum_map = pin.computeCentroidalMap(body.model, body.data, body.pin_q())
    return _joints_first(body, from_pin(body, momentum_map[3:]), base)


def calc_link_jacobian(
    link: Link, local_point: np.ndarray | None = None, base: Link | None = None
) -> np.ndarray:
    """Velocity of a point of a link, and its angular velocity, from those of joints and root.

    Args:
        link: the link.
        local_point: the point in the link frame [m]; the origin where None.
        base: link that stands still in the world; None where the root moves on its own.

    Returns:
        Rows [linear, angular]. Without a base shape (6, num_joints + 6), columns [joints, root
        linear, root angular]; with a base shape (6, num_joints).
    """
    body = link.body
    pin.computeJointJacobians(body.model, body.data, body.pin_q())
    return _joints_first(body, _link_map(link, local_point), base)


def from_pin(body: Body, columns: np.ndarray) -> np.ndarray:
    """Columns of pinocchio's velocity vector turned to [root linear, root angular, joints].

    Args:
        body: the robot.
        columns: shape (k, model.nv), for the root's velocity in root axes.

    Returns:
        Shape (k, 6 + num_joints), for the root's velocity in world axes.
    """
    turned = np.empty((len(columns), ROOT_NV + body.num_joints))
    rotation = body.root_link.R.T
    turned[:, :3] = columns[:, :3] @ rotation
    turned[:, 3:6] = columns[:, 3:6] @ rotation
    turned[:, 6:] = columns[:, 6:] @ body.tree.joint_map
    return turned


def cross_matrix(vector: np.ndarray) -> np.ndarray:
    """Matrix that multiplies a vector to `vector` x it."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _link_map(link: Link, local_point: np.ndarray | None) -> np.ndarray:
    """Velocity of a point of a link from [root linear, root angular, joints]."""
    body = link.body
    joint = body.tree.pin_joints[link.index]
    aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    columns = pin.getJointJacobian(body.model, body.data, joint, aligned)
    point = body.link_placement(link.index)
    target = point.translation if local_point is None else point.act(np.asarray(local_point))
    jacobian = from_pin(body, columns)
    arm = target - body.data.oMi[joint].translation
    jacobian[:3] -= cross_matrix(arm) @ jacobian[3:]
    return jacobian


def _joints_first(body: Body, jacobian: np.ndarray, base: Link | None) -> np.ndarray:
    if base is None:
        return np.concatenate([jacobian[:, 6:], jacobian[:, :6]], axis=1)
    return hold_base(body, jacobian, base)


def hold_base(body: Body, jacobian: np.ndarray, base: Link) -> np.ndarray:
    """Drop the root's columns by moving it such that a link stands still.

    Args:
        body: the robot.
        jacobian: shape (k, 6 + num_joints), columns [root linear, root angular, joints].
        base: link that stands still.

    Returns:
        Shape (k, num_joints).
    """
    if base.is_root:
        return jacobian[:, 6:]
    pin.computeJointJacobians(body.model, body.data, body.pin_q())
    of_base = _link_map(base, None)[:, 6:]
    arm = body.link_placement(base.index).translation - body.root_link.p
    root = np.concatenate([-of_base[:3] - cross_matrix(arm) @ of_base[3:], -of_base[3:]])
    return jacobian[:, 6:] + jacobian[:, :6] @ root
