"""Decides whether the base of a robot floats, where its file does not say."""

from __future__ import annotations

import numpy as np

from cnoid_control.body.balance import balanced_posture
from cnoid_control.body.body import Body
from cnoid_control.body.description import BodyDescription, JointType
from cnoid_control.body.link import Link
from cnoid_control.body.postures import default_posture
from cnoid_control.body.standing import (
    ancestors,
    ground_points,
    is_moving,
    limbs_of,
    touching_links,
)

# Root link of a mobile robot by the convention of REP 120.
FOOTPRINT = 'base_footprint'

# Words in the names of what is no leg, even where it would touch the ground.
NO_LEGS = ('hand', 'finger', 'gripper', 'thumb', 'palm', 'wrist')

# Share of the mass that legs or wheels have at least, together with what they branch from.
LEG_SHARE = 1.0 / 3.0

# Share of the mass up to which moving parts, such as rotors, only drive the base that has them.
ROTOR_SHARE = 0.05


def decide_base(description: BodyDescription) -> None:
    """Set the type of the root joint, and say why in `base_reason`.

    The robot is looked at in its posture. It floats

    - where the root link is named base_footprint, as in mobile robots;
    - where it has no joints, or only such as move no more than 5 % of its mass (rotors);
    - where it stands: at least two of its moving parts, on limbs of their own (legs, wheels),
      touch the ground, its centre of mass is above the area between them or can be brought there
      by moving the limbs, and the limbs and what they branch from have at least a third of its
      mass (so that fingers are no legs); what is named a hand, a finger, a thumb, a palm, a wrist
      or a gripper is no leg.

    Otherwise it is fixed: it stands on its own base, as arms do, or hangs from it.

    Raises:
        ModelError: the description is no robot.
    """
    kind, reason = _base_of(Body(description))
    for link in description.links:
        if link.parent is None:
            link.joint_type = kind
    description.base_reason = reason


def _base_of(body: Body) -> tuple[JointType, str]:
    root = body.root_link
    if root.name == FOOTPRINT:
        return JointType.FREE, f'the root link is {FOOTPRINT!r}, as of a mobile robot'
    moving = [link for link in body.links if is_moving(link)]
    if not moving:
        return JointType.FREE, 'it has no joints'
    share = sum(link.description.mass for link in moving) / max(body.mass, 1e-9)
    if share <= ROTOR_SHARE:
        return JointType.FREE, f'its joints move {share:.0%} of its mass only'
    body.q[:] = default_posture(body)
    body.calc_forward_kinematics()
    touching = touching_links(body)
    if not touching:
        return JointType.FIXED, 'it has no shapes to stand on'
    if any(not is_moving(link) for link in touching) and len(limbs_of(touching)) < 2:
        return JointType.FIXED, f'it stands on its base, {touching[0].name!r}'
    limbs = limbs_of([link for link in touching if is_moving(link)])
    arms = [link for link in limbs if _is_arm(link)]
    if arms:
        return JointType.FIXED, f'it would lie on {arms[0].name!r}, which is no leg'
    names = ', '.join(repr(link.name) for link in limbs)
    if len(limbs) < 2:
        return JointType.FIXED, f'only one moving part, {names}, would touch the ground'
    fork = _fork(limbs)
    if _mass_below(fork) < LEG_SHARE * body.mass:
        return JointType.FIXED, f'only {names} at the end of {fork.name!r} would touch the ground'
    if not _stands(body) and not _can_stand(body):
        return JointType.FIXED, f'it would fall over {names}'
    return JointType.FREE, f'it stands on {names}'


def _is_arm(link: Link) -> bool:
    """Whether a link is named as the end of an arm, or carried by one that is."""
    names = ' '.join(f'{above.name} {above.joint_name}' for above in ancestors(link)).lower()
    return any(word in names for word in NO_LEGS)


def _fork(limbs: list[Link]) -> Link:
    """The link that all of these branch from."""
    shared = [link.name for link in ancestors(limbs[0])]
    for limb in limbs[1:]:
        above = {link.name for link in ancestors(limb)}
        shared = [name for name in shared if name in above]
    return next(link for link in ancestors(limbs[0]) if link.name == shared[0])


def _mass_below(link: Link) -> float:
    """Mass of a link and of all that it carries [kg]."""
    return float(link.description.mass + sum(_mass_below(child) for child in link.children))


def _stands(body: Body) -> bool:
    """Whether the centre of mass is above the area between the parts that touch the ground."""
    return _is_inside(body.calc_center_of_mass()[:2], ground_points(touching_links(body)))


def _can_stand(body: Body) -> bool:
    """Whether legs can be moved so that the robot stands; it is left like that."""
    found = balanced_posture(body)
    if found is not None:
        body.q[:] = found
        body.calc_forward_kinematics()
    return found is not None and _stands(body)


def _is_inside(point: np.ndarray, corners: np.ndarray) -> bool:
    """Whether a point is in the convex hull of others: no half plane is free of them."""
    around = corners - point
    angles = np.sort(np.arctan2(around[:, 1], around[:, 0]))
    gaps = np.diff(np.append(angles, angles[0] + 2.0 * np.pi))
    return bool(gaps.max() < np.pi)
