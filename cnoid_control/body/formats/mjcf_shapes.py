"""Geoms of an MJCF file as shapes of links."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from cnoid_control.body.description import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Geometry,
    Mesh,
    Shape,
    Sphere,
)
from cnoid_control.body.formats.mjcf_file import mesh_path

if TYPE_CHECKING:
    import mujoco

# MuJoCo draws the groups 0 to 2 by default.
LAST_SEEN_GROUP = 2

# The colour of a geom that has none, so that its material's is taken.
NO_COLOR = [0.5, 0.5, 0.5, 1.0]

# Mesh files that everybody reads; others are taken as MuJoCo has read them.
MESH_SUFFIXES = ('.stl', '.obj')


class ShapeReader:
    """Reads the shapes of the bodies of a compiled model."""

    def __init__(self, model: mujoco.MjModel, spec: mujoco.MjSpec, warnings: list[str]) -> None:
        """Prepare for a model.

        Args:
            model: the compiled model.
            spec: what it was compiled from: only that knows the mesh files.
            warnings: takes a sentence about every shape that is left out.
        """
        self._model, self._spec, self._warnings = model, spec, warnings
        self._meshes = {mesh.name or Path(mesh.file).stem: mesh for mesh in spec.meshes}
        self._paired = {*model.pair_geom1.tolist(), *model.pair_geom2.tolist()}

    def read(self, body: int) -> list[Shape]:
        """Shapes of a body that are seen or collide."""
        model = self._model
        first = int(model.body_geomadr[body])
        shapes = []
        for geom in range(first, first + int(model.body_geomnum[body])):
            color = model.geom_rgba[geom].tolist()
            material = int(model.geom_matid[geom])
            if material >= 0 and np.allclose(color, NO_COLOR):
                color = model.mat_rgba[material].tolist()
            collides = bool(model.geom_contype[geom] | model.geom_conaffinity[geom])
            shape = Shape(
                Sphere(0.0),
                visual=bool(model.geom_group[geom] <= LAST_SEEN_GROUP and color[3] > 0.0),
                collision=collides or geom in self._paired,
                color=(color[0], color[1], color[2], color[3]),
                name=str(model.geom(geom).name),
            )
            if (shape.visual or shape.collision) and self._set_geometry(shape, geom):
                shapes.append(shape)
        return shapes

    def _set_geometry(self, shape: Shape, geom: int) -> bool:
        import mujoco

        model = self._model
        shape.translation = model.geom_pos[geom].copy()
        shape.rotation = _matrix(model.geom_quat[geom])
        kind = mujoco.mjtGeom(int(model.geom_type[geom]))
        a, b, c = model.geom_size[geom].tolist()
        solids: dict[mujoco.mjtGeom, Geometry] = {
            kind.mjGEOM_BOX: Box((2.0 * a, 2.0 * b, 2.0 * c)),
            kind.mjGEOM_SPHERE: Sphere(a),
            kind.mjGEOM_CYLINDER: Cylinder(a, 2.0 * b),
            kind.mjGEOM_CAPSULE: Capsule(a, 2.0 * b),
            kind.mjGEOM_ELLIPSOID: Ellipsoid((a, b, c)),
        }
        if kind in solids:
            shape.geometry = solids[kind]
        elif kind == kind.mjGEOM_MESH:
            self._set_mesh(shape, int(model.geom_dataid[geom]))
        else:
            body = model.body(int(model.geom_bodyid[geom])).name
            word = kind.name.removeprefix('mjGEOM_').lower()
            self._warnings.append(f'body {body!r}: a shape of type {word} is in the physics only')
            return False
        return True

    def _set_mesh(self, shape: Shape, index: int) -> None:
        model = self._model
        mesh = self._meshes.get(str(model.mesh(index).name))
        moved = mesh is not None and (np.any(mesh.refpos) or abs(mesh.refquat[0]) < 1.0)
        if mesh is None or moved or Path(mesh.file).suffix.lower() not in MESH_SUFFIXES:
            first, count = int(model.mesh_vertadr[index]), int(model.mesh_vertnum[index])
            vertices = model.mesh_vert[first : first + count]
            first, count = int(model.mesh_faceadr[index]), int(model.mesh_facenum[index])
            faces = model.mesh_face[first : first + count]
            shape.geometry = Mesh(
                vertices=tuple(vertices.ravel().tolist()), triangles=tuple(faces.ravel().tolist())
            )
            return
        x, y, z = np.asarray(mesh.scale).tolist()
        shape.geometry = Mesh(path=str(mesh_path(self._spec, mesh).resolve()), scale=(x, y, z))
        # MuJoCo has moved the vertices to their own centre and axes.
        shape.rotation = shape.rotation @ _matrix(model.mesh_quat[index]).T
        shape.translation = shape.translation - shape.rotation @ model.mesh_pos[index]


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = quaternion.tolist()
    return pin.Quaternion(w, x, y, z).normalized().toRotationMatrix()
