"""Kinematics and dynamics by plain recursion over the links, written apart from the package.

Everything is in world axes. Nothing of pinocchio is used, nor anything that the body computed:
only the description of the links and the state that is put in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from cnoid_control.body import Body, JointType


def cross(vector):
    """Return the matrix of the cross product with a vector."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def product(one, other):
    """Return the cross product of two vectors; numpy's own would take most of the tests' time."""
    a, b, c = one
    x, y, z = other
    return np.array([b * z - c * y, c * x - a * z, a * y - b * x])


def rotation(axis, angle):
    """Return the rotation about a unit axis, after Rodrigues."""
    hat = cross(axis)
    return np.eye(3) + math.sin(angle) * hat + (1.0 - math.cos(angle)) * hat @ hat


@dataclass
class State:
    """Inputs of the recursion."""

    p: np.ndarray
    R: np.ndarray
    v: np.ndarray
    w: np.ndarray
    dv: np.ndarray
    dw: np.ndarray
    q: dict = field(default_factory=dict)
    dq: dict = field(default_factory=dict)
    ddq: dict = field(default_factory=dict)

    @classmethod
    def of(cls, body: Body) -> State:
        """Return the state of a body: of its root and of every joint by the link's name."""
        root = body.root_link
        state = cls(*(getattr(root, name).copy() for name in ('p', 'R', 'v', 'w', 'dv', 'dw')))
        for joint in body.all_joints:
            leader, factor, offset = joint, 1.0, 0.0
            if joint.description.mimic is not None:
                leader = body.joint(joint.description.mimic.joint)
                factor = joint.description.mimic.multiplier
                offset = joint.description.mimic.offset
            state.q[joint.name] = factor * leader.q + offset
            state.dq[joint.name] = factor * leader.dq
            state.ddq[joint.name] = factor * leader.ddq
        return state


@dataclass
class Motion:
    """Pose and motion of one link."""

    p: np.ndarray
    R: np.ndarray
    v: np.ndarray
    w: np.ndarray
    dv: np.ndarray
    dw: np.ndarray


def motions(body: Body, state: State) -> dict[str, Motion]:
    """Return the motion of every link by its name."""
    found = {}
    for link in body.links:
        description = link.description
        if link.parent is None:
            found[link.name] = Motion(state.p, state.R, state.v, state.w, state.dv, state.dw)
            continue
        parent = found[link.parent.name]
        axis = description.joint_axis / np.linalg.norm(description.joint_axis)
        q, dq, ddq = (values.get(link.name, 0.0) for values in (state.q, state.dq, state.ddq))
        arm = parent.R @ description.translation
        R = parent.R @ description.rotation
        w, dw = parent.w, parent.dw
        slide = np.zeros(3)
        slide_v = np.zeros(3)
        slide_a = np.zeros(3)
        if link.joint_type is JointType.REVOLUTE:
            spin = R @ axis
            R = R @ rotation(axis, q)
            w = parent.w + spin * dq
            dw = parent.dw + spin * ddq + product(parent.w, spin * dq)
        elif link.joint_type is JointType.PRISMATIC:
            direction = R @ axis
            slide = direction * q
            slide_v = direction * dq
            slide_a = direction * ddq + 2.0 * product(parent.w, direction * dq)
        arm = arm + slide
        found[link.name] = Motion(
            p=parent.p + arm,
            R=R,
            v=parent.v + product(parent.w, arm) + slide_v,
            w=w,
            dv=parent.dv
            + product(parent.dw, arm)
            + product(parent.w, product(parent.w, arm))
            + slide_a,
            dw=dw,
        )
    return found


def center_of_mass(body: Body, state: State) -> np.ndarray:
    """Return the centre of mass."""
    found = motions(body, state)
    total = sum(link.m for link in body.links)
    return (
        sum(link.m * (found[link.name].p + found[link.name].R @ link.c) for link in body.links)
        / total
    )


def momentum(body: Body, state: State, point) -> tuple[np.ndarray, np.ndarray]:
    """Return the momentum and the angular momentum about a point."""
    linear, angular = np.zeros(3), np.zeros(3)
    for name, motion in motions(body, state).items():
        link = body.link(name)
        arm = motion.R @ link.c
        P = link.m * (motion.v + product(motion.w, arm))
        linear = linear + P
        inertia = motion.R @ link.I @ motion.R.T
        angular = angular + product(motion.p + arm - point, P) + inertia @ motion.w
    return linear, angular


def inverse_dynamics(body: Body, state: State, wrenches=None):
    """Return the effort of every joint by link name, and the wrench on every link.

    Wrenches are force and torque about the world origin that the parent puts on the link.
    """
    found = motions(body, state)
    needed = {}
    efforts = {}
    for link in reversed(body.links):
        motion = found[link.name]
        arm = motion.R @ link.c
        dv_com = motion.dv + product(motion.dw, arm) + product(motion.w, product(motion.w, arm))
        inertia = motion.R @ link.I @ motion.R.T
        force = link.m * dv_com
        moment = inertia @ motion.dw + product(motion.w, inertia @ motion.w)
        moment = moment + product(motion.p + arm, force)
        total = np.concatenate([force, moment])
        if wrenches is not None:
            total = total - wrenches[link.index]
        for child in link.children:
            total = total + needed[child.name]
        needed[link.name] = total
        axis = motion.R @ (
            link.description.joint_axis / np.linalg.norm(link.description.joint_axis)
        )
        rotor = link.rotor_inertia * state.ddq.get(link.name, 0.0)
        if link.parent is not None and link.joint_type is JointType.REVOLUTE:
            efforts[link.name] = axis @ (total[3:] - product(motion.p, total[:3])) + rotor
        elif link.parent is not None and link.joint_type is JointType.PRISMATIC:
            efforts[link.name] = axis @ total[:3] + rotor
    return efforts, needed
