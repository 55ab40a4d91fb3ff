"""Jacobians, mass matrix and inverse dynamics of a body."""

from __future__ import annotations

from typing import overload

import numpy as np
import pinocchio as pin

from cnoid_control.body.body import Body, cross
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


@overload
def calc_mass_matrix(body: Body) -> np.ndarray: ...
@overload
def calc_mass_matrix(body: Body, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...
def calc_mass_matrix(
    body: Body, g: np.ndarray | None = None
) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
    """Mass matrix M, and with `g` the bias b too, of M [dv, dw, ddq] + b = [f, tau, u].

    dv is the acceleration of the root's origin as a point, dw its angular acceleration, f and tau
    the force and the torque about the root's origin that act on the root from outside, all in
    world axes; ddq and u belong to the joints with an id. The root's rows and columns come first;
    there are none where the root is fixed. Rotors are on the diagonal.

    Args:
        body: the robot; forward kinematics with velocity must have been run.
        g: what holds against gravity [m/s^2], world axes: upward, such as (0, 0, 9.8), to have
            gravity in b. Only b depends on it.

    Returns:
        M, or M and b.
    """
    first = ROOT_NV if body.is_fixed_root else 0
    full = pin.crba(body.model, body.data, body.pin_q())
    mass_matrix = from_pin(body, from_pin(body, full).T)[first:, first:]
    if g is None:
        return mass_matrix
    root = body.root_link
    acceleration = np.zeros(body.model.nv)
    # pinocchio adds the gravity of its model; it is taken out again here.
    linear = np.asarray(g, dtype=float) - cross(root.w, root.v) + body.model.gravity.linear
    acceleration[:3] = linear @ root.R
    force = pin.rnea(body.model, body.data, body.pin_q(), body.pin_v(), acceleration)
    return mass_matrix, from_pin(body, force[None, :])[0, first:]


def calc_inverse_dynamics(link: Link) -> np.ndarray:
    """Efforts that the motion needs: writes `u` of a link's joint and of all below it.

    The motion is that of the root (p, R, v, w, dv, dw) and of the joints (q, dq, ddq); forward
    kinematics are run with it. There is no gravity in it: accelerate the root upwards, by
    `root.dv += (0, 0, 9.8)`, to have it. F_ext of the links is taken off. A joint that others
    mimic bears their efforts.

    Args:
        link: the link to begin at; the root for the whole body.

    Returns:
        Force [N] and torque about the world origin [N m] that hold the link, world axes,
        shape (6,).
    """
    body = link.body
    body.calc_forward_kinematics(velocity=True, acceleration=True)
    lifted = body.root_link.dv + body.model.gravity.linear
    motion = body.pin_q(), body.pin_v(), body.pin_acceleration(lifted)
    # Most often there are none, and the list of them would take as long as the rest.
    forces = (_external_forces(body),) if body.external_wrenches.any() else ()
    effort = pin.rnea(body.model, body.data, *motion, *forces)
    _write_efforts(link, effort[ROOT_NV:])
    wrench = _wrench_at(link)
    return np.concatenate([wrench.linear, wrench.angular])


def _external_forces(body: Body) -> pin.StdVec_Force:
    forces = pin.StdVec_Force()
    forces.extend([pin.Force.Zero() for _ in range(body.model.njoints)])
    for index in np.flatnonzero(body.external_wrenches.any(axis=1)):
        joint = body.tree.pin_joints[index]
        wrench = body.external_wrenches[index]
        forces[joint] += body.data.oMi[joint].actInv(pin.Force(wrench[:3], wrench[3:]))
    return forces


def _write_efforts(link: Link, effort: np.ndarray) -> None:
    tree = link.body.tree
    by_slot = np.zeros(tree.num_slots)
    by_slot[tree.slots_in_pin_order] = effort
    if tree.mimic_slots.size:
        borne = tree.mimic_multipliers * by_slot[tree.mimic_slots]
        np.add.at(by_slot, tree.mimicked_slots, borne)
        by_slot[tree.mimic_slots] = 0.0
    # Links are in depth-first order: those below a link are the ones that follow it.
    below = tree.joint_slots[link.index : link.index + _size(link)]
    slots = [slot for slot in below if slot >= 0]
    link.body.joint_arrays['u'][slots] = by_slot[slots]


def _size(link: Link) -> int:
    """Number of links that a link carries, itself included."""
    if link.is_root:
        return link.body.num_links
    return 1 + sum(_size(child) for child in link.children)


def _wrench_at(link: Link) -> pin.Force:
    """Wrench on a link from its parent, about the world origin, after pin.rnea."""
    data, tree = link.body.data, link.body.tree
    joint = tree.pin_joints[link.index]
    if tree.placements[link.index] is None:
        return data.oMi[joint].act(data.f[joint])
    # The link is rigidly on another one: sum over what it carries.
    inertia = pin.Inertia(link.m, link.c, link.I).se3Action(tree.placements[link.index])
    velocity = data.v[joint]
    needed = inertia * data.a_gf[joint] + inertia.vxiv(velocity)
    wrench = data.oMi[joint].act(needed)
    wrench -= pin.Force(link.F_ext[:3], link.F_ext[3:])
    for child in link.children:
        wrench += _wrench_at(child)
    return wrench
