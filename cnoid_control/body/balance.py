"""Brings the feet of a floating robot under its centre of mass, where it would fall over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cnoid_control.body.body import Body
from cnoid_control.body.link import Link
from cnoid_control.body.solids import corners, solid_shapes
from cnoid_control.body.standing import (
    ancestors,
    ground_points,
    is_moving,
    limbs_of,
    touching_links,
)

# The centre of mass is well above the feet within this share of the way from their middle to
# the edge.
SAFE_SHARE = 0.5

# The axis of a foot that is nearest to the vertical, within this cosine, is the normal of its
# sole. What is that much above its lowest point belongs to the sole [m], and a sole of that size
# at least is to lie flat [m].
SOLE_DEPTH, SOLE_SIZE, UPRIGHT = 0.02, 0.05, 0.8

# Weights: of soles [1/rad], of heights and of the centre of mass [1/m], of the posture [1/rad].
FLAT, LEVEL, CENTRED, NEAR = 1.0, 10.0, 5.0, 0.05
STEPS, DIFFERENCE = 30, 1e-6


@dataclass
class _Foot:
    """A link that the robot stands on.

    Attributes:
        link: the link.
        middle: middle of its sole in the link frame [m].
        normal: what is to be vertical, in the link frame; None for a foot without a sole.
    """

    link: Link
    middle: np.ndarray
    normal: np.ndarray | None


def stands(body: Body) -> bool:
    """Whether the centre of mass is well above what a robot stands on, at the last kinematics."""
    touching = touching_links(body)
    if not touching:
        return True
    points = ground_points(touching)
    middle = (points.min(axis=0) + points.max(axis=0)) / 2.0
    half = np.maximum(np.ptp(points, axis=0) / 2.0, 1e-6)
    offset = np.abs(body.calc_center_of_mass()[:2] - middle)
    return bool((offset / half).max() <= SAFE_SHARE)


def balanced_posture(body: Body) -> np.ndarray | None:
    """Posture near the present one in which a robot stands on its feet.

    The joints of the limbs that touch the ground move as little as need be so that the soles lie
    flat, the feet are equally low, and the centre of mass is above their middle.

    Args:
        body: the robot, with forward kinematics done; it keeps its state.

    Returns:
        The displacements [rad] or [m], shape (num_joints,); None where it stands already, or
        does not stand on feet that joints move.
    """
    limbs = limbs_of([link for link in touching_links(body) if is_moving(link)])
    if len(limbs) < 2 or stands(body):
        return None
    joints = sorted(
        {above.joint_id for limb in limbs for above in ancestors(limb) if above.joint_id >= 0}
    )
    feet = [_foot(limb) for limb in limbs]
    before = body.q.copy()
    lower, upper = body.q_lower[joints], body.q_upper[joints]

    def errors(values: np.ndarray) -> np.ndarray:
        body.q[joints] = values
        body.calc_forward_kinematics()
        middles = np.array([foot.link.p + foot.link.R @ foot.middle for foot in feet])
        tilts = [
            FLAT * (foot.link.R @ foot.normal)[:2] for foot in feet if foot.normal is not None
        ]
        level = LEVEL * (middles[:, 2] - middles[:, 2].mean())
        centre = CENTRED * (body.calc_center_of_mass() - middles.mean(axis=0))[:2]
        near = NEAR * (values - before[joints])
        return np.concatenate([*tilts, level, centre, near])

    values = before[joints]
    for _ in range(STEPS):
        error = errors(values)
        slopes = [
            (errors(values + step) - error) / DIFFERENCE
            for step in DIFFERENCE * np.eye(len(joints))
        ]
        change = _step(np.array(slopes).T, error, values <= lower, values >= upper)
        values = np.clip(values + np.clip(change, -0.2, 0.2), lower, upper)
    found = before.copy()
    found[joints] = values
    body.q[:] = before
    body.calc_forward_kinematics()
    return found


def _step(
    slopes: np.ndarray, error: np.ndarray, at_lower: np.ndarray, at_upper: np.ndarray
) -> np.ndarray:
    """Least-squares step in which joints at the end of their range do not go beyond it."""
    free = np.ones(at_lower.size, dtype=bool)
    change = np.zeros(at_lower.size)
    for _ in range(at_lower.size):
        change[:] = 0.0
        change[free] = np.linalg.lstsq(slopes[:, free], -error, rcond=None)[0]
        beyond = (at_lower & (change < 0.0)) | (at_upper & (change > 0.0))
        if not beyond.any():
            break
        free &= ~beyond
    return change


def _foot(link: Link) -> _Foot:
    found = [corners(shape) for shape in solid_shapes([link.description])[link.name]]
    local = np.concatenate([ends.points for ends in found if ends is not None])
    # Of the axes of the foot and their opposites, the one that points up most.
    axis = int(np.argmax(np.abs(link.R[2])))
    normal = np.eye(3)[axis] * np.sign(link.R[2, axis])
    up = normal if abs(link.R[2, axis]) >= UPRIGHT else link.R[2]
    heights = local @ up
    sole = local[heights <= heights.min() + SOLE_DEPTH]
    flat = up is normal and np.sort(np.ptp(sole, axis=0))[1] >= SOLE_SIZE
    if not flat:
        sole = local[local @ link.R[2] <= (local @ link.R[2]).min() + SOLE_DEPTH]
    return _Foot(link, (sole.min(axis=0) + sole.max(axis=0)) / 2.0, normal if flat else None)
