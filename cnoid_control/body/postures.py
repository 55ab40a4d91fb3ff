"""The posture that a robot starts in, where nobody says another."""

from __future__ import annotations

import numpy as np

from cnoid_control.body.body import Body
from cnoid_control.body.description import BodyDescription, Posture


def own_posture(description: BodyDescription) -> Posture | None:
    """The posture that the model names as its own; None where it names none."""
    return next(iter(description.postures.values()), None)


def default_posture(body: Body) -> np.ndarray:
    """Displacements in which a robot starts [rad] or [m], shape (num_joints,).

    The initial displacement that the model gives to a joint, zero where it gives none, moved to
    the nearest value within the joint's range; then the model's own posture, if it has one.
    """
    q = np.array([joint.description.q_initial for joint in body.joints])
    q = np.clip(q, body.q_lower, body.q_upper)
    posture = own_posture(body.description)
    return q if posture is None else with_posture(body, q, posture)


def with_posture(body: Body, q: np.ndarray, posture: Posture) -> np.ndarray:
    """Displacements in which the joints of a posture are where it says, the others as in q."""
    q = q.copy()
    for name, value in posture.q.items():
        joint = body.joint(name)
        if joint.joint_id >= 0:
            q[joint.joint_id] = value
    return q
