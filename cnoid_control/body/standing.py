"""What a robot stands on."""

from __future__ import annotations

import numpy as np

from cnoid_control.body.body import Body
from cnoid_control.body.link import Link
from cnoid_control.body.solids import corners, lowest_points, solid_shapes

# What is within this of the lowest point touches the ground: share of the height, and least [m].
TOUCH_SHARE, TOUCH_LEAST = 0.03, 0.005


def is_moving(link: Link | None) -> bool:
    """Whether a joint moves a link with respect to the root."""
    while link is not None and link.parent is not None:
        if link.joint_type.has_displacement:
            return True
        link = link.parent
    return False


def touching_links(body: Body) -> list[Link]:
    """Links that touch the ground, where the robot is put down on it."""
    lowest = lowest_points(body.links)
    if not lowest:
        return []
    heights = [point[2] for point in lowest.values()]
    ground = min(heights)
    tops = max(heights + [float(link.p[2]) for link in body.links])
    near = ground + max(TOUCH_SHARE * (tops - ground), TOUCH_LEAST)
    return [link for link in body.links if link.name in lowest and lowest[link.name][2] <= near]


def ancestors(link: Link) -> list[Link]:
    """The link and what carries it, up to the root."""
    found: list[Link] = []
    above: Link | None = link
    while above is not None:
        found.append(above)
        above = above.parent
    return found


def limbs_of(links: list[Link]) -> list[Link]:
    """Links that carry none of the others, one per part that moves as a piece."""
    carriers = {above.name for link in links for above in ancestors(link)[1:]}
    ends = [link for link in links if link.name not in carriers]
    pieces: dict[str, Link] = {}
    for link in ends:
        piece = link
        while piece.parent is not None and not piece.joint_type.has_displacement:
            piece = piece.parent
        pieces.setdefault(piece.name, link)
    return list(pieces.values())


def ground_points(links: list[Link]) -> np.ndarray:
    """Where links touch the ground: x and y [m], shape (n, 2)."""
    shapes = solid_shapes(link.description for link in links)
    found = []
    for link in links:
        for shape in shapes[link.name]:
            ends = corners(shape)
            if ends is not None:
                points = ends.points @ link.R.T + link.p
                points[:, 2] -= ends.radius
                found.append(points)
    placed = np.concatenate(found)
    ground = placed[:, 2].min()
    near = placed[:, 2] <= ground + max(TOUCH_SHARE * np.ptp(placed[:, 2]), TOUCH_LEAST)
    return placed[near, :2]
