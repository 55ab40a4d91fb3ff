"""The posture that a robot starts in, where nobody says another."""

from __future__ import annotations

import numpy as np

from cnoid_control.body.body import Body
from cnoid_control.body.description import BodyDescription, JointType, Posture


def own_posture(description: BodyDescription) -> Posture | None:
    """The posture that the model names as its own; None where it names none."""
    return next(iter(description.postures.values()), None)


def default_posture(body: Body) -> np.ndarray:
    """Displacements in which a robot starts [rad] or [m], shape (num_joints,).

    The model's own posture, if it has one; for the other joints the initial displacement that the
    model gives, else zero; moved into the ranges of the joints.
    """
    q = np.array([joint.description.q_initial for joint in body.joints])
    posture = own_posture(body.description)
    if posture is not None:
        q = with_posture(body, q, posture)
    return within_range(body, q)


def within_range(body: Body, q: np.ndarray) -> np.ndarray:
    """Displacements moved into the joints' ranges: by whole turns, else to the nearest end."""
    moved = q.copy()
    for i, joint in enumerate(body.joints):
        lower, upper = body.q_lower[i], body.q_upper[i]
        if lower <= q[i] <= upper:
            continue
        turned = q[i] + 2.0 * np.pi * np.ceil((lower - q[i]) / (2.0 * np.pi))
        revolute = joint.joint_type is JointType.REVOLUTE
        moved[i] = turned if revolute and lower <= turned <= upper else np.clip(q[i], lower, upper)
    return moved


def with_posture(body: Body, q: np.ndarray, posture: Posture) -> np.ndarray:
    """Displacements in which the joints of a posture are where it says, the others as in q."""
    q = q.copy()
    for name, value in posture.q.items():
        joint = body.joint(name)
        if joint.joint_id >= 0:
            q[joint.joint_id] = value
    return q
