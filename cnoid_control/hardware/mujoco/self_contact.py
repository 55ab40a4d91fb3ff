"""Parts of a robot that touch each other where it starts."""

from __future__ import annotations

import logging

import mujoco
import numpy as np

from cnoid_control.body import Body
from cnoid_control.hardware.mujoco.geometry import quaternion

logger = logging.getLogger(__name__)


def touching_pairs(body: Body, model: mujoco.MjModel, links: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of links, by index, that are inside each other where a robot starts.

    Neighbours, which MuJoCo never lets collide, are not among them.

    Args:
        body: the robot, in its posture and place.
        model: a compiled model of it.
        links: MuJoCo body of each link, by link index.
    """
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    # The poses are those of the body's own kinematics, whatever the model's joints are called.
    for geom in range(model.ngeom):
        found = np.flatnonzero(links == model.geom_bodyid[geom])
        if not found.size:
            continue
        link = body.links[int(found[0])]
        local = np.zeros(9)
        mujoco.mju_quat2Mat(local, model.geom_quat[geom])
        data.geom_xpos[geom] = link.p + link.R @ model.geom_pos[geom]
        data.geom_xmat[geom] = (link.R @ local.reshape(3, 3)).ravel()
    for index, number in enumerate(links):
        link = body.links[index]
        data.xpos[number], data.xmat[number] = link.p, np.array(link.R).ravel()
        data.xquat[number] = quaternion(link.R)
        data.xipos[number] = link.p + link.R @ model.body_ipos[number]
        inner = np.zeros(9)
        mujoco.mju_quat2Mat(inner, model.body_iquat[number])
        data.ximat[number] = (link.R @ inner.reshape(3, 3)).ravel()
    mujoco.mj_comPos(model, data)
    mujoco.mj_collision(model, data)
    index_of = {int(number): index for index, number in enumerate(links)}
    pairs = set()
    for i in range(data.ncon):
        contact = data.contact[i]
        ends = [int(model.geom_bodyid[geom]) for geom in (contact.geom1, contact.geom2)]
        if contact.dist < 0.0 and all(end in index_of for end in ends):
            first, second = sorted(index_of[end] for end in ends)
            pairs.add((first, second))
    return sorted(pairs)


def exclude_pairs(
    spec: mujoco.MjSpec, body: Body, names: list[str], pairs: list[tuple[int, int]]
) -> None:
    """Let pairs of links pass through each other, and say so.

    Args:
        spec: the spec with the robot.
        body: the robot.
        names: what the links are called in the spec, by link index.
        pairs: the pairs, by link index.
    """
    for one, other in pairs:
        spec.add_exclude(bodyname1=names[one], bodyname2=names[other])
    if pairs:
        listed = ', '.join(f'{body.links[a].name}/{body.links[b].name}' for a, b in pairs)
        logger.warning(
            '%s: links that touch where it starts do not collide with each other: %s',
            body.name,
            listed,
        )
