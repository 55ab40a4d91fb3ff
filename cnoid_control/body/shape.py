"""Shapes of links: what is seen and what collides."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Box:
    """Box of full edge lengths `size` [m], centred on its frame."""

    size: tuple[float, float, float]


@dataclass(frozen=True)
class Sphere:
    """Sphere of `radius` [m], centred on its frame."""

    radius: float


@dataclass(frozen=True)
class Cylinder:
    """Cylinder of `radius` and full `length` [m] along the Z axis of its frame."""

    radius: float
    length: float


@dataclass(frozen=True)
class Capsule:
    """Cylinder of `length` [m] along Z with half spheres of `radius` [m] at both ends."""

    radius: float
    length: float


@dataclass(frozen=True)
class Cone:
    """Cone of base `radius` and full `length` [m] along Z, its tip towards +Z."""

    radius: float
    length: float


@dataclass(frozen=True)
class Mesh:
    """Triangles from a file, or given as vertices [m] and vertex indices.

    Attributes:
        path: absolute path of the mesh file; empty for a mesh given by its triangles.
        scale: factor along each axis.
        uri: the address as it stood in the model file, kept for writing it back.
        vertices: corner positions, flattened x y z ... [m]; empty for a file.
        triangles: corner indices, flattened, three a triangle.
    """

    path: str = ''
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    uri: str = ''
    vertices: tuple[float, ...] = ()
    triangles: tuple[int, ...] = ()


Geometry = Box | Sphere | Cylinder | Capsule | Cone | Mesh


@dataclass
class Shape:
    """One geometry of a link, placed in the link frame.

    Attributes:
        geometry: the solid.
        translation: origin of the geometry's frame in the link frame [m], shape (3,).
        rotation: axes of the geometry's frame in the link frame, shape (3, 3).
        visual: whether it is seen.
        collision: whether it collides.
        color: red, green, blue, opacity in [0, 1].
        name: name in the model file, may be empty.
    """

    geometry: Geometry
    translation: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    visual: bool = True
    collision: bool = True
    color: tuple[float, float, float, float] = (0.7, 0.7, 0.7, 1.0)
    name: str = ''
