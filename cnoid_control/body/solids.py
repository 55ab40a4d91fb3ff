"""Corner points of shapes: where a robot ends, in any posture."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from cnoid_control.body.description import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    LinkDescription,
    Mesh,
    Shape,
    Sphere,
)
from cnoid_control.body.formats.mesh import read_mesh
from cnoid_control.body.kinematic_tree import KinematicTree
from cnoid_control.body.link import Link

if TYPE_CHECKING:
    from cnoid_control.body.body import Body

logger = logging.getLogger(__name__)

# Points on a circle; between them it ends 0.5 % further out.
CIRCLE_POINTS = 32


class Corners(NamedTuple):
    """Points whose convex hull, grown by a radius, is a shape.

    Attributes:
        points: in the link frame [m], shape (n, 3).
        radius: of the sphere around each of them [m].
    """

    points: np.ndarray
    radius: float


def corners(shape: Shape) -> Corners | None:
    """Corners of a shape in its link's frame; None for one that has no end or cannot be read."""
    found = _solid_corners(shape.geometry)
    if found is None:
        return None
    return Corners(found.points @ shape.rotation.T + shape.translation, found.radius)


def _solid_corners(solid: Geometry) -> Corners | None:
    if isinstance(solid, Box):
        signs = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
        return Corners(signs * solid.size, 0.0)
    if isinstance(solid, Sphere):
        return Corners(np.zeros((1, 3)), solid.radius)
    if isinstance(solid, Capsule):
        ends = np.array([[0.0, 0.0, -0.5], [0.0, 0.0, 0.5]]) * solid.length
        return Corners(ends, solid.radius)
    if isinstance(solid, (Cylinder, Cone)):
        half = solid.length / 2.0
        rim = solid.radius * _circle()
        end = np.array([0.0, 0.0, half])
        top = end[None] if isinstance(solid, Cone) else rim + end
        return Corners(np.concatenate([rim - end, top]), 0.0)
    if isinstance(solid, Ellipsoid):
        return Corners(_sphere() * solid.radii, 0.0)
    if isinstance(solid, Mesh):
        if solid.path:
            vertices = _file_vertices(solid.path)
        else:
            vertices = np.array(solid.vertices, dtype=float).reshape(-1, 3)
        return Corners(vertices * solid.scale, 0.0) if len(vertices) else None
    return None


@lru_cache(maxsize=1)
def _sphere() -> np.ndarray:
    """Points on a sphere of radius 1, its six ends included, shape (n, 3)."""
    rim = _circle()
    rings = [
        rim * np.cos(up) + [0.0, 0.0, np.sin(up)] for up in np.linspace(-1, 1, 17) * np.pi / 2
    ]
    return np.concatenate(rings)


@lru_cache(maxsize=1)
def _circle() -> np.ndarray:
    """Points on a circle of radius 1 about the z axis, shape (n, 3)."""
    angles = np.linspace(0.0, 2.0 * np.pi, CIRCLE_POINTS, endpoint=False)
    return np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)


@lru_cache(maxsize=512)
def _file_vertices(path: str) -> np.ndarray:
    """Vertices of a mesh file, unscaled, shape (n, 3); none where it cannot be read."""
    try:
        if Path(path).suffix.lower() == '.stl':
            vertices = _binary_stl_vertices(Path(path).read_bytes())
            if vertices is not None:
                return vertices
        return np.asarray(read_mesh(path).vertices, dtype=float).reshape(-1, 3)
    except (OSError, ValueError) as error:
        # The physics, which needs it, says so.
        logger.debug('%s: %s', path, error)
        return np.zeros((0, 3))


def _binary_stl_vertices(data: bytes) -> np.ndarray | None:
    """Vertices of a binary .stl file; None for a text file."""
    count = int.from_bytes(data[80:84], 'little')
    if len(data) != 84 + 50 * count:
        return None
    facet = np.dtype([('normal', '<f4', 3), ('corners', '<f4', (3, 3)), ('attribute', '<u2')])
    facets = np.frombuffer(data, facet, count, 84)
    return np.unique(facets['corners'].reshape(-1, 3), axis=0).astype(float)


def solid_shapes(links: Iterable[LinkDescription]) -> dict[str, list[Shape]]:
    """Shapes by link that stand for the robot: those that collide, else those that are seen."""
    links = list(links)
    for kind in ('collision', 'visual'):
        found = {
            link.name: [shape for shape in link.shapes if getattr(shape, kind)] for link in links
        }
        if any(found.values()):
            return found
    return {link.name: [] for link in links}


def lowest_points(links: Iterable[Link]) -> dict[str, np.ndarray]:
    """Lowest point of each link in the world [m], at the last forward kinematics.

    Links without a shape have none.
    """
    links = list(links)
    shapes = solid_shapes(link.description for link in links)
    lowest: dict[str, np.ndarray] = {}
    for link in links:
        for shape in shapes[link.name]:
            found = corners(shape)
            if found is None:
                continue
            placed = found.points @ link.R.T + link.p
            point = placed[np.argmin(placed[:, 2])] - [0.0, 0.0, found.radius]
            if link.name not in lowest or point[2] < lowest[link.name][2]:
                lowest[link.name] = point
    return lowest


# Corners of the links that end a robot, by its tree.
_ENDS: WeakKeyDictionary[KinematicTree, list[tuple[int, Corners]]] = WeakKeyDictionary()


def lowest_height(body: Body) -> float:
    """Height of the lowest point of a robot [m], at the last forward kinematics.

    It is that of `lowest_points`, found faster where it is asked for often; that of the root of a
    robot without shapes.
    """
    ends = _ENDS.get(body.tree)
    if ends is None:
        shapes = solid_shapes(link.description for link in body.links)
        ends = [
            (link.index, found)
            for link in body.links
            for shape in shapes[link.name]
            if (found := corners(shape)) is not None
        ]
        _ENDS[body.tree] = ends
    heights = [
        float((found.points @ body.links[index].R[2]).min() + body.links[index].p[2])
        - found.radius
        for index, found in ends
    ]
    return min(heights) if heights else float(body.root_link.p[2])


def reach(links: Iterable[Link]) -> float:
    """Distance from the root beyond which no link gets in any posture [m]."""
    ends: dict[str, float] = {}
    farthest = 0.0
    links = list(links)
    shapes = solid_shapes(link.description for link in links)
    for link in links:
        begin = 0.0
        if link.parent is not None:
            begin = ends[link.parent.name] + float(np.linalg.norm(link.description.translation))
        travel = 0.0
        if link.joint_type.value == 'prismatic':
            travel = max(abs(value) for value in _range(link.description))
        ends[link.name] = begin + travel
        for shape in shapes[link.name]:
            found = corners(shape)
            if found is not None:
                size = float(np.linalg.norm(found.points, axis=1).max()) + found.radius
                farthest = max(farthest, ends[link.name] + size)
    return max(farthest, *ends.values())


def _range(link: LinkDescription) -> tuple[float, float]:
    ends = (link.q_lower, link.q_upper)
    return ends if np.isfinite(ends).all() else (0.0, 0.0)
