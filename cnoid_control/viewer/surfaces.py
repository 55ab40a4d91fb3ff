"""Shapes of links as coloured triangles, ready for a browser."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cnoid_control.body.description import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    HeightField,
    Mesh,
    Shape,
    Sphere,
)
from cnoid_control.body.formats.mesh import cone_mesh, read_mesh

if TYPE_CHECKING:
    import trimesh

logger = logging.getLogger(__name__)

# Corners of what is round.
CIRCLE_CORNERS, SPHERE_RINGS = 32, (24, 24)

# Faces that meet at less than this angle look like one round surface [rad].
CREASE_ANGLE = np.radians(35.0)

ROUGHNESS = 0.6

# Longest side of a picture on a surface [pixel].
TEXTURE_SIZE = 1024


def surfaces(shape: Shape) -> list[trimesh.Trimesh]:
    """Coloured triangles of a shape in its link's frame, one mesh per material.

    A mesh file keeps its own materials and textures where the model gives the shape no colour.

    Raises:
        ValueError: a mesh file holds no mesh.
        OSError: it cannot be read.
    """
    solid = shape.geometry
    own = shape.color == Shape.color
    frame = np.eye(4)
    frame[:3, :3], frame[:3, 3] = shape.rotation, shape.translation
    if isinstance(solid, Mesh) and solid.path:
        meshes = _file_meshes(solid.path)
        frame = frame @ np.diag([*solid.scale, 1.0])
    else:
        meshes = (_solid_mesh(solid),)
    return [_placed(mesh, frame, own, shape.color) for mesh in meshes if len(mesh.faces)]


def _placed(
    mesh: trimesh.Trimesh, frame: np.ndarray, own: bool, color: Iterable[float]
) -> trimesh.Trimesh:
    """Copy of a mesh in another frame, with its own material or, where it has none, a colour."""
    import trimesh
    from trimesh.visual import ColorVisuals, TextureVisuals

    visual: Any = mesh.visual
    own = own and visual.kind is not None
    normals = mesh.vertex_normals if own and 'vertex_normals' in mesh._cache else None
    copy = trimesh.Trimesh(mesh.vertices, mesh.faces, vertex_normals=normals, process=False)
    copy.apply_transform(frame)
    if not own:
        copy = _smooth(copy)
        copy.visual = TextureVisuals(material=_material(np.array(list(color), dtype=float)))
    elif isinstance(visual, ColorVisuals):
        copy.visual = ColorVisuals(copy, vertex_colors=visual.vertex_colors)
    else:
        copy.visual = TextureVisuals(uv=visual.uv, material=visual.material)
    return copy


def to_glb(meshes: Iterable[trimesh.Trimesh]) -> bytes:
    """Binary glTF file of meshes."""
    import trimesh

    return bytes(trimesh.Scene(list(meshes)).export(file_type='glb'))


def merged(meshes: Iterable[trimesh.Trimesh]) -> tuple[np.ndarray, np.ndarray]:
    """Vertices [m] and faces of meshes as one surface, without their colours."""
    vertices, faces, start = [np.zeros((0, 3))], [np.zeros((0, 3), dtype=int)], 0
    for mesh in meshes:
        vertices.append(mesh.vertices)
        faces.append(mesh.faces + start)
        start += len(mesh.vertices)
    return np.concatenate(vertices), np.concatenate(faces)


@lru_cache(maxsize=256)
def _file_meshes(path: str) -> tuple[trimesh.Trimesh, ...]:
    """Meshes of a file, unscaled, with materials for the browser; those without have no visual.

    Raises:
        ValueError: the file holds no mesh.
        OSError: it cannot be read.
    """
    import trimesh
    from trimesh.visual import ColorVisuals

    suffix = Path(path).suffix.lower()
    if suffix != '.msh':
        try:
            # The nodes of a file are placed, copied and scaled by its own tree.
            parts = trimesh.load_scene(path).dump()
            meshes = [part for part in parts if isinstance(part, trimesh.Trimesh)]
        except Exception as error:
            # Its readers raise what the libraries below them raise.
            logger.debug('%s: %s: %s', path, type(error).__name__, error)
            meshes = []
        if any(len(mesh.faces) for mesh in meshes):
            for mesh in meshes:
                mesh.apply_scale(_unit(mesh))
                if suffix == '.stl':
                    mesh.visual = ColorVisuals()
                else:
                    _prepare_material(mesh)
            return tuple(meshes)
    vertices, faces = read_mesh(path)
    return (trimesh.Trimesh(vertices, faces),)


def _unit(mesh: trimesh.Trimesh) -> float:
    """Length of a file's unit [m]; 1 where it does not say."""
    found = re.fullmatch(r'(\S+) \* meters', str(mesh.metadata.get('units', '')))
    return float(found[1]) if found else 1.0


def _solid_mesh(solid: object) -> trimesh.Trimesh:
    import trimesh

    create = trimesh.creation
    if isinstance(solid, Box):
        return create.box(solid.size)
    # Made in their unit sizes: what is tiny would lose its faces as degenerate ones.
    if isinstance(solid, (Sphere, Ellipsoid)):
        radii = (solid.radius,) * 3 if isinstance(solid, Sphere) else solid.radii
        return create.uv_sphere(1.0, count=SPHERE_RINGS).apply_scale(radii)
    if isinstance(solid, Cylinder):
        size = (solid.radius, solid.radius, solid.length)
        return create.cylinder(1.0, 1.0, sections=CIRCLE_CORNERS).apply_scale(size)
    if isinstance(solid, Capsule):
        mesh = create.capsule(solid.length / solid.radius, 1.0, count=SPHERE_RINGS)
        mesh.apply_translation([0.0, 0.0, -mesh.bounds.mean(axis=0)[2]])
        return mesh.apply_scale(solid.radius)
    if isinstance(solid, Cone):
        solid = cone_mesh(solid)
    if isinstance(solid, Mesh):
        vertices = np.reshape(solid.vertices, (-1, 3)) * solid.scale
        return trimesh.Trimesh(vertices, np.reshape(solid.triangles, (-1, 3)))
    if isinstance(solid, HeightField):
        return _field_mesh(solid)
    raise TypeError(f'a shape of type {type(solid).__name__} has no surface')


def _field_mesh(field: HeightField) -> trimesh.Trimesh:
    import trimesh

    x, y = np.meshgrid(np.arange(field.columns), np.arange(field.rows))
    heights = np.array(field.heights)
    vertices = np.column_stack(
        [x.ravel() * field.spacing[0], y.ravel() * field.spacing[1], heights]
    )
    corner = (x + y * field.columns)[:-1, :-1].ravel()
    right, up, across = corner + 1, corner + field.columns, corner + field.columns + 1
    faces = np.concatenate(
        [np.column_stack([corner, right, across]), np.column_stack([corner, across, up])]
    )
    return trimesh.Trimesh(vertices, faces)


def _smooth(mesh: trimesh.Trimesh) -> trimesh.Trimesh:
    """The mesh with normals that make it round where its faces meet at small angles."""
    import trimesh

    mesh = trimesh.Trimesh(mesh.vertices, mesh.faces)
    corners, normals = mesh.vertices[mesh.faces].reshape(-1, 3), mesh.face_normals
    return _with_normals(corners, _corner_normals(mesh, normals))


def _corner_normals(mesh: trimesh.Trimesh, normals: np.ndarray) -> np.ndarray:
    """Normal at each corner of each face: the mean of the faces around within the crease angle."""
    incidence = mesh.faces.ravel()
    face_of_corner = np.repeat(np.arange(len(mesh.faces)), 3)
    weighted = normals * mesh.area_faces[:, None]
    # Pairs of corners at the same vertex.
    order = np.argsort(incidence, kind='stable')
    sorted_vertices = incidence[order]
    starts = np.searchsorted(sorted_vertices, np.arange(len(mesh.vertices)))
    counts = np.diff(np.append(starts, len(order)))
    per_corner = counts[incidence]
    first = np.repeat(np.arange(len(incidence)), per_corner)
    offsets = np.arange(len(first)) - np.repeat(np.cumsum(per_corner) - per_corner, per_corner)
    second = order[np.repeat(starts[incidence], per_corner) + offsets]
    one, other = face_of_corner[first], face_of_corner[second]
    near = np.einsum('ij,ij->i', normals[one], normals[other]) > np.cos(CREASE_ANGLE)
    summed = np.zeros((len(incidence), 3))
    for axis in range(3):
        summed[:, axis] = np.bincount(
            first[near], weighted[other[near], axis], minlength=len(incidence)
        )
    length = np.linalg.norm(summed, axis=1, keepdims=True)
    return np.where(length > 0.0, summed / np.where(length > 0.0, length, 1.0), 0.0)


def _with_normals(corners: np.ndarray, normals: np.ndarray) -> trimesh.Trimesh:
    """Mesh of triangles, with corners of the same place and normal made one vertex."""
    import trimesh

    both = np.column_stack([corners, normals]).astype(np.float32)
    # Rounded, so that normals summed in another order are the same ones.
    keys = np.round(both, 6) + 0.0
    _, index, inverse = np.unique(
        keys.view([('', np.float32)] * 6).ravel(), return_index=True, return_inverse=True
    )
    return trimesh.Trimesh(
        corners[index], inverse.reshape(-1, 3), vertex_normals=normals[index], process=False
    )


def linear(color: np.ndarray) -> np.ndarray:
    """Linear intensities, as glTF has them, of colours as screens have them, from 0 to 1."""
    return np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)


def _material(color: np.ndarray, texture: object = None) -> object:
    from trimesh.visual.material import PBRMaterial

    color = np.clip(color, 0.0, 1.0)
    return PBRMaterial(
        baseColorFactor=np.append(linear(color[:3]), color[3]),
        baseColorTexture=texture,
        metallicFactor=0.0,
        roughnessFactor=ROUGHNESS,
        alphaMode='BLEND' if color[3] < 1.0 else 'OPAQUE',
        # The faces of many models look inwards.
        doubleSided=True,
    )


def _prepare_material(mesh: trimesh.Trimesh) -> None:
    """Make the material that a mesh has from its file one for the browser."""
    from trimesh.visual import ColorVisuals

    visual: Any = mesh.visual
    if isinstance(visual, ColorVisuals):
        if visual.kind is not None:
            colors = np.asarray(visual.vertex_colors, dtype=float) / 255.0
            mesh.visual = ColorVisuals(mesh, vertex_colors=_bytes(colors))
        return
    material = visual.material
    if hasattr(material, 'to_pbr'):
        material = material.to_pbr()
    color = np.ones(4)
    if material.baseColorFactor is not None:
        color = np.asarray(material.baseColorFactor, dtype=float).ravel() / 255.0
    # Files disagree on what 0 means; nobody models what cannot be seen.
    color[3] = color[3] if color[3] > 0.0 else 1.0
    visual.material = _material(color, _texture(material.baseColorTexture))


def _texture(image: Any) -> Any:
    """Picture on a surface in a size and a format that are quickly sent; None for none."""
    if image is None:
        return None
    from PIL import Image

    image = image.reduce(-(-max(image.size) // TEXTURE_SIZE))
    if image.has_transparency_data:
        return image
    stream = io.BytesIO()
    image.convert('RGB').save(stream, 'JPEG', quality=90)
    return Image.open(stream)


def _bytes(colors: np.ndarray) -> np.ndarray:
    colors = np.column_stack([linear(colors[:, :3]), colors[:, 3]])
    return np.round(colors * 255.0).astype(np.uint8)
