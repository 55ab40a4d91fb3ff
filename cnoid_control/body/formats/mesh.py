"""Mesh files."""

from __future__ import annotations

import math
import os
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cnoid_control.body.description import Cone, Mesh
from cnoid_control.body.formats.collada import read_collada
from cnoid_control.body.formats.resources import FILE_SCHEME, PACKAGE_SCHEME


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
        OSError: it cannot be read.
    """
    if Path(path).suffix.lower() == '.dae':
        return Triangles(*read_collada(Path(path).read_text('utf-8', 'replace'), path))
    # Imported here: it takes long, and robots of plain shapes need none of it.
    import coal

    try:
        model = coal.MeshLoader().load(path)
    except RuntimeError as error:
        raise ValueError(f'{path}: {error}') from error
    corners = [model.tri_indices(i) for i in range(model.num_tris)]
    faces = np.array([(c[0], c[1], c[2]) for c in corners], dtype=int).reshape(-1, 3)
    return Triangles(np.array(model.vertices()), faces)


# Corners of the base of a cone.
CONE_CORNERS = 32


class MeshWriter:
    """Collects the meshes of a model, and writes those that have no file yet.

    Attributes:
        folder: folder that they are written to, beside the URDF file.
    """

    def __init__(self, urdf: Path) -> None:
        """Prepare for a URDF file.

        Args:
            urdf: the URDF file that refers to the meshes.
        """
        self._urdf = urdf
        self.folder = urdf.with_name(f'{urdf.stem}_meshes')
        self._texts: dict[Path, str] = {}
        self._known: dict[Mesh | Cone, Path] = {}

    def add(self, solid: Mesh | Cone, link: str) -> tuple[str, tuple[float, float, float]]:
        """File name and scale by which the URDF file refers to a mesh."""
        if isinstance(solid, Mesh) and solid.path:
            if solid.uri.startswith((PACKAGE_SCHEME, FILE_SCHEME)):
                return solid.uri, solid.scale
            return os.path.relpath(solid.path, self._urdf.absolute().parent), solid.scale
        if solid not in self._known:
            path = self.folder / f'{link}_{len(self._known)}.obj'
            mesh = cone_mesh(solid) if isinstance(solid, Cone) else solid
            self._texts[path] = _obj_text(mesh)
            self._known[solid] = path
        name = self._known[solid].relative_to(self._urdf.parent).as_posix()
        return name, solid.scale if isinstance(solid, Mesh) else (1.0, 1.0, 1.0)

    def write(self) -> None:
        """Write the files.

        Raises:
            OSError: they cannot be written.
        """
        for path, text in self._texts.items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding='utf-8')


def cone_mesh(cone: Cone) -> Mesh:
    """Cone as a mesh whose base has `CONE_CORNERS` corners."""
    half = cone.length / 2.0
    vertices = [0.0, 0.0, half, 0.0, 0.0, -half]
    triangles = []
    for corner in range(CONE_CORNERS):
        angle = 2.0 * math.pi * corner / CONE_CORNERS
        vertices += [cone.radius * math.cos(angle), cone.radius * math.sin(angle), -half]
        this, following = 2 + corner, 2 + (corner + 1) % CONE_CORNERS
        triangles += [0, this, following, 1, following, this]
    return Mesh(vertices=tuple(vertices), triangles=tuple(triangles))


def _obj_text(mesh: Mesh) -> str:
    corners = [mesh.vertices[i : i + 3] for i in range(0, len(mesh.vertices), 3)]
    faces = [mesh.triangles[i : i + 3] for i in range(0, len(mesh.triangles), 3)]
    lines = ['v ' + ' '.join(repr(value) for value in corner) for corner in corners]
    lines += ['f ' + ' '.join(str(index + 1) for index in face) for face in faces]
    return '\n'.join(lines) + '\n'
