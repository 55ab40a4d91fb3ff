"""Places solids in a link whatever a scene file does to their frames: scale, mirror, shear."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cnoid_control.body.description import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    HeightField,
    Mesh,
    Shape,
    Sphere,
)
from cnoid_control.body.formats.mesh import CONE_CORNERS, Triangles, cone_mesh, read_mesh

# Scene files have cylinders, capsules and cones along Y; here they are along Z.
Y_TO_Z = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])

# Lengths that differ by less are the same.
SAME = 1e-9

# Corners of the half of a capsule's outline when it becomes a mesh.
CAPSULE_RINGS = 8

Color = tuple[float, float, float, float]


def affine(
    linear: np.ndarray, translation: np.ndarray | Sequence[float] = (0, 0, 0)
) -> np.ndarray:
    """Frame (4, 4) from its linear part and its origin."""
    frame = np.eye(4)
    frame[:3, :3] = linear
    frame[:3, 3] = translation
    return frame


def split(placement: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Rotation and scale along the axes of a frame; None where it is sheared.

    A mirrored frame has a negative factor along its Y axis.
    """
    scale = np.linalg.norm(placement[:3, :3], axis=0)
    if not np.all(scale > 0.0):
        return None
    rotation = placement[:3, :3] / scale
    if not np.allclose(rotation.T @ rotation, np.eye(3), atol=SAME):
        return None
    if np.linalg.det(rotation) < 0.0:
        scale[1] = -scale[1]
        rotation[:, 1] = -rotation[:, 1]
    return rotation, scale


def place(solid: Geometry, placement: np.ndarray) -> Shape:
    """Shape of a solid in a link.

    Args:
        solid: the solid; one with an axis has it along Z of its frame.
        placement: its frame in the link frame, shape (4, 4); may scale, mirror and shear.

    Raises:
        ValueError: the frame makes it flat, or leaves a height field that is none.
        OSError: a mesh file cannot be read.
    """
    if not abs(np.linalg.det(placement[:3, :3])) > 0.0:
        raise ValueError('factors that are not 0')
    parts = split(placement)
    scaled = None if parts is None else _scale(solid, parts[1])
    if parts is not None and scaled is not None:
        return Shape(scaled, placement[:3, 3].copy(), parts[0])
    if isinstance(solid, (Sphere, Ellipsoid)):
        # The image of a ball is an ellipsoid in the axes of the singular vectors.
        radii = solid.radii if isinstance(solid, Ellipsoid) else [solid.radius] * 3
        axes, lengths, _ = np.linalg.svd(placement[:3, :3] * radii)
        if np.linalg.det(axes) < 0.0:
            axes[:, 0] = -axes[:, 0]
        x, y, z = lengths.tolist()
        return Shape(Ellipsoid((x, y, z)), placement[:3, 3].copy(), axes)
    if isinstance(solid, HeightField):
        raise ValueError('a frame that keeps the heights of a height field upright')
    surface = triangles_of(solid)
    vertices = surface.vertices @ placement[:3, :3].T
    faces = surface.faces
    if np.linalg.det(placement[:3, :3]) < 0.0:
        faces = faces[:, ::-1]
    return Shape(embedded(vertices, faces), placement[:3, 3].copy())


def _scale(solid: Geometry, scale: np.ndarray) -> Geometry | None:
    """Solid of the same kind when its axes are scaled; None where there is none."""
    x, y, z = (float(factor) for factor in np.abs(scale))
    round_about_z = abs(x - y) < SAME
    if isinstance(solid, Box):
        return Box((solid.size[0] * x, solid.size[1] * y, solid.size[2] * z))
    if isinstance(solid, Sphere):
        if round_about_z and abs(x - z) < SAME:
            return Sphere(solid.radius * x)
        return Ellipsoid((solid.radius * x, solid.radius * y, solid.radius * z))
    if isinstance(solid, Ellipsoid):
        return Ellipsoid((solid.radii[0] * x, solid.radii[1] * y, solid.radii[2] * z))
    if isinstance(solid, (Cylinder, Cone)):
        if not round_about_z:
            return None
        return type(solid)(solid.radius * x, solid.length * z)
    if isinstance(solid, Capsule):
        if not round_about_z or abs(x - z) >= SAME:
            return None
        return Capsule(solid.radius * x, solid.length * z)
    if isinstance(solid, HeightField):
        if scale[1] < 0.0:
            return None
        spacing = (solid.spacing[0] * x, solid.spacing[1] * y)
        return replace(solid, spacing=spacing, heights=tuple(h * z for h in solid.heights))
    if solid.path:
        a, b, c = (float(own * factor) for own, factor in zip(solid.scale, scale, strict=True))
        return replace(solid, scale=(a, b, c))
    if scale[1] < 0.0:
        return None
    vertices = np.reshape(solid.vertices, (-1, 3)) * scale
    return replace(solid, vertices=tuple(vertices.ravel().tolist()))


def triangles_of(solid: Geometry) -> Triangles:
    """Surface of a solid in its own frame.

    Raises:
        ValueError: a mesh file holds no mesh.
        OSError: a mesh file cannot be read.
    """
    if isinstance(solid, Mesh):
        if solid.path:
            vertices, faces = read_mesh(solid.path)
        else:
            vertices = np.reshape(solid.vertices, (-1, 3))
            faces = np.reshape(solid.triangles, (-1, 3)).astype(int)
        flip = np.prod(solid.scale) < 0.0
        return Triangles(vertices * solid.scale, faces[:, ::-1] if flip else faces)
    if isinstance(solid, Cone):
        return triangles_of(cone_mesh(solid))
    if isinstance(solid, Cylinder):
        half = solid.length / 2.0
        return _revolve([(0.0, -half), (solid.radius, -half), (solid.radius, half), (0.0, half)])
    if isinstance(solid, Capsule):
        angles = np.linspace(0.0, math.pi / 2.0, CAPSULE_RINGS + 1)
        cap = [
            (solid.radius * math.cos(a), solid.length / 2.0 + solid.radius * math.sin(a))
            for a in angles
        ]
        return _revolve([(r, -z) for r, z in reversed(cap)] + cap)
    if isinstance(solid, HeightField):
        return _grid_surface(solid)
    if isinstance(solid, Box):
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) / 2.0
        quads = [
            (0, 1, 3, 2),
            (4, 6, 7, 5),
            (0, 4, 5, 1),
            (2, 3, 7, 6),
            (0, 2, 6, 4),
            (1, 5, 7, 3),
        ]
        halves = [(a, b, c) for a, b, c, _ in quads] + [(a, c, d) for a, _, c, d in quads]
        return Triangles(corners * solid.size, np.array(halves))
    radii = solid.radii if isinstance(solid, Ellipsoid) else [solid.radius] * 3
    angles = np.linspace(-math.pi / 2.0, math.pi / 2.0, 2 * CAPSULE_RINGS + 1)
    ball = _revolve([(math.cos(a), math.sin(a)) for a in angles])
    return Triangles(ball.vertices * radii, ball.faces)


def _revolve(outline: Sequence[tuple[float, float]]) -> Triangles:
    """Surface that an outline (distance from Z, height) makes when it is turned about Z."""
    turns = 2.0 * math.pi * np.arange(CONE_CORNERS) / CONE_CORNERS
    rings = [
        np.column_stack([r * np.cos(turns), r * np.sin(turns), np.full(CONE_CORNERS, z)])
        for r, z in outline
    ]
    faces = []
    for ring in range(len(outline) - 1):
        for corner in range(CONE_CORNERS):
            a = ring * CONE_CORNERS + corner
            b = ring * CONE_CORNERS + (corner + 1) % CONE_CORNERS
            faces += [(a, b, b + CONE_CORNERS), (a, b + CONE_CORNERS, a + CONE_CORNERS)]
    return weld(Triangles(np.concatenate(rings), np.array(faces)))


def weld(surface: Triangles) -> Triangles:
    """The surface with corners at one place made one, and without what then has no area."""
    if not len(surface.vertices):
        return surface
    vertices, index = np.unique(np.round(surface.vertices, 12), axis=0, return_inverse=True)
    faces = index.reshape(-1)[surface.faces]
    a, b, c = faces.T
    return Triangles(vertices, faces[(a != b) & (b != c) & (c != a)])


def _grid_surface(field: HeightField) -> Triangles:
    columns, rows = field.columns, field.rows
    y, x = np.mgrid[0:rows, 0:columns]
    vertices = np.column_stack(
        [x.ravel() * field.spacing[0], y.ravel() * field.spacing[1], np.array(field.heights)]
    )
    cell = (y[:-1, :-1] * columns + x[:-1, :-1]).ravel()
    ahead, above = cell + 1, cell + columns
    lower = np.column_stack([cell, ahead, above + 1])
    upper = np.column_stack([cell, above + 1, above])
    return Triangles(vertices, np.concatenate([lower, upper]))


def embedded(vertices: np.ndarray, faces: np.ndarray) -> Mesh:
    """Mesh that is given by its triangles."""
    return Mesh(
        vertices=tuple(np.asarray(vertices, dtype=float).ravel().tolist()),
        triangles=tuple(np.asarray(faces, dtype=int).ravel().tolist()),
    )
