"""Mass matrix and inverse dynamics."""

from __future__ import annotations

from typing import overload

import numpy as np
import pinocchio as pin

from cnoid_control.body.body import Body
from cnoid_control.body.body_motion import cross
from cnoid_control.body.jacobians import from_pin
from cnoid_control.body.kinematic_tree import ROOT_NV
from cnoid_control.body.link import Link


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
