"""Reads the triangles of mesh files, of every format that coal knows."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np


class Triangles(NamedTuple):
    """A surface.

    Attributes:
        vertices: corner positions [m], shape (n, 3).
        faces: corner indices, counter-clockwise seen from outside, shape (m, 3).
    """

    vertices: np.ndarray
    faces: np.ndarray


@lru_cache(maxsize=64)
def read_mesh(path: str) -> Triangles:
    """Triangles of a mesh file, unscaled.

    Raises:
        ValueError: the file holds no mesh.
    """
    # Imported here: it takes long, and robots of plain shapes need none of it.
    import coal

    try:
        model = coal.MeshLoader().load(path)
    except RuntimeError as error:
        raise ValueError(f'{path}: {error}') from error
    corners = [model.tri_indices(i) for i in range(model.num_tris)]
    faces = np.array([(c[0], c[1], c[2]) for c in corners], dtype=int).reshape(-1, 3)
    return Triangles(np.array(model.vertices()), faces)
