"""Triangles of the solids that links are made of."""

from __future__ import annotations

from functools import lru_cache, singledispatch

import numpy as np

from cnoid_control.body.description import Box, Capsule, Cone, Cylinder, Geometry, Mesh, Sphere
from cnoid_control.body.formats.mesh import Triangles, read_mesh

SEGMENTS = 32
RINGS = 12


@lru_cache(maxsize=512)
def tessellate(geometry: Geometry) -> Triangles:
    """Return the surface of a solid; round ones as polyhedra inscribed in them."""
    return _tessellate(geometry)


@singledispatch
def _tessellate(geometry: Geometry) -> Triangles:
    raise TypeError(f'{type(geometry).__name__} is not a geometry')


@_tessellate.register
def _(box: Box) -> Triangles:
    corners = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))]
    return Triangles(corners * np.array(box.size) / 2, np.array(faces))


@_tessellate.register
def _(sphere: Sphere) -> Triangles:
    latitude = np.linspace(-np.pi / 2, np.pi / 2, 2 * RINGS + 1)
    return _revolve(sphere.radius * np.cos(latitude), sphere.radius * np.sin(latitude))


@_tessellate.register
def _(cylinder: Cylinder) -> Triangles:
    r, half = cylinder.radius, cylinder.length / 2
    return _revolve(np.array([0, r, r, 0]), np.array([-half, -half, half, half]))


@_tessellate.register
def _(cone: Cone) -> Triangles:
    r, half = cone.radius, cone.length / 2
    return _revolve(np.array([0, r, 0]), np.array([-half, -half, half]))


@_tessellate.register
def _(capsule: Capsule) -> Triangles:
    latitude = np.linspace(0, np.pi / 2, RINGS + 1)
    radii = capsule.radius * np.cos(latitude)
    heights = capsule.length / 2 + capsule.radius * np.sin(latitude)
    return _revolve(
        np.concatenate([radii[::-1], radii]), np.concatenate([-heights[::-1], heights])
    )


@_tessellate.register
def _(mesh: Mesh) -> Triangles:
    if mesh.vertices:
        vertices = np.reshape(mesh.vertices, (-1, 3))
        faces = np.reshape(mesh.triangles, (-1, 3))
    else:
        vertices, faces = read_mesh(mesh.path)
    return Triangles(vertices * np.array(mesh.scale), faces)


def _revolve(radii: np.ndarray, heights: np.ndarray) -> Triangles:
    """Turn a profile, given from bottom to top, about the Z axis."""
    angles = np.arange(SEGMENTS) * 2 * np.pi / SEGMENTS
    rings = np.stack(
        [
            np.outer(radii, np.cos(angles)),
            np.outer(radii, np.sin(angles)),
            np.repeat(heights[:, None], SEGMENTS, axis=1),
        ],
        axis=2,
    )
    ring, segment = np.meshgrid(np.arange(len(radii) - 1), np.arange(SEGMENTS), indexing='ij')
    here = ring * SEGMENTS + segment
    beside = ring * SEGMENTS + (segment + 1) % SEGMENTS
    above, opposite = here + SEGMENTS, beside + SEGMENTS
    # At a pole, where the radius is nought up to rounding, one triangle of the two has no area.
    is_ring = radii > 1e-9 * radii.max()
    lower = np.stack([here, beside, opposite], axis=2)[is_ring[:-1]]
    upper = np.stack([here, opposite, above], axis=2)[is_ring[1:]]
    faces = np.concatenate([lower.reshape(-1, 3), upper.reshape(-1, 3)])
    return Triangles(rings.reshape(-1, 3), faces)
