"""Reads the shapes of a Choreonoid .body file."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from cnoid_control.body.description import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Geometry,
    Mesh,
    Shape,
    Sphere,
)
from cnoid_control.body.exceptions import (
    ModelError,
    PathOutsidePackage,
    missing_value,
    unknown_type,
)
from cnoid_control.body.formats.choreonoid_node import BodyFile, BodyNode
from cnoid_control.body.formats.extrusion import Extrusion, elevation, extruded
from cnoid_control.body.formats.placement import Y_TO_Z, affine, embedded, place
from cnoid_control.body.formats.polygons import triangulate_faces
from cnoid_control.body.formats.resources import (
    FILE_SCHEME,
    MANIFEST,
    PACKAGE_SCHEME,
    package_folder,
    resolve_uri,
)
from cnoid_control.body.formats.vrml import VrmlScene

SOLIDS = ('Box', 'Sphere', 'Cylinder', 'Capsule', 'Cone')
MESHES = ('Mesh', 'TriangleMesh', 'IndexedFaceSet')
GEOMETRIES = (*SOLIDS, 'Extrusion', 'ElevationGrid', *MESHES, 'Resource')
MESH_SUFFIXES = ('.stl', '.dae', '.obj', '.ply')
SCENE_SUFFIXES = ('.wrl',)

# Thickness of a box that has none [m].
PLANE = 1e-3

UNITS = {'meter': 1.0, 'millimeter': 1e-3, 'inch': 0.0254}
# Turns what has Y upwards so that Z is.
Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


def model_tree(folder: Path) -> Path:
    """Folder that a model in `folder` may refer to files in.

    It is the package that the model is in, else the folder that holds the model's own folder and
    its neighbours.
    """
    package = package_folder(folder / 'model')
    if (package / MANIFEST).is_file():
        return package
    own = folder.absolute()
    # No model gets the whole disk.
    return own if own.parent == Path(own.anchor) else own.parent


def model_path(file: BodyFile, uri: str, folder: Path | None = None) -> Path:
    """Path that an address in a model stands for.

    Raises:
        PathOutsidePackage: it leads out of the model's tree.
    """
    path = resolve_uri(uri, folder or file.folder, file.source)
    if uri.startswith(PACKAGE_SCHEME):
        return path
    whole = Path(os.path.normpath(path.absolute()))
    tree = file.tree
    is_package = (tree / MANIFEST).is_file()
    # Beside the model's folder there are neighbours, but what lies between them is not theirs.
    between = not is_package and whole.parent == tree and file.folder.absolute() != tree
    if not whole.is_relative_to(tree) or between:
        raise PathOutsidePackage(uri, tree, file.source)
    return path


def resource_path(node: BodyNode) -> Path:
    """Path of the file that a resource node refers to.

    Raises:
        ModelError: it refers to none.
        PathOutsidePackage: it leads out of the model's tree.
    """
    uri = node.text('uri')
    if not uri:
        raise missing_value(node.label, 'uri', node.file.source)
    # The address of a mesh may be absolute, as in URDF.
    if Path(uri.removeprefix(FILE_SCHEME)).is_absolute() and _is_mesh(uri):
        return resolve_uri(uri, node.file.folder, node.file.source)
    return model_path(node.file, uri)


def _is_mesh(uri: str) -> bool:
    return Path(uri).suffix.lower() in MESH_SUFFIXES


def read_shape(node: BodyNode, placement: np.ndarray) -> list[Shape]:
    """Shapes of a `Shape` node; more than one where it must be cut to collide as it is.

    Args:
        node: the node.
        placement: its frame in the link frame, shape (4, 4); may scale, mirror and shear.

    Raises:
        ModelError: the subclass that names what is wrong.
    """
    geometry = node.node('geometry')
    if geometry is None:
        raise missing_value(node.label, 'geometry', node.file.source)
    shapes = _read_geometry(geometry, placement)
    color = _read_color(node)
    for shape in shapes:
        shape.color = color if color is not None else shape.color
    return shapes


def read_resource(node: BodyNode, placement: np.ndarray) -> list[Shape]:
    """Shapes of a `Resource` node: a mesh file or a VRML scene, or one node of it.

    A file that is not there leaves a warning.

    Raises:
        ModelError: the subclass that names what is wrong.
    """
    path = resource_path(node)
    suffix = path.suffix.lower()
    if suffix not in (*MESH_SUFFIXES, *SCENE_SUFFIXES):
        known = ', '.join((*MESH_SUFFIXES, *SCENE_SUFFIXES, '.yaml'))
        raise node.fail('uri', f'a file of one of {known}')
    if not path.is_file():
        node.file.warn(f'{node.label}: {node.text("uri")!r} is not there ({path}); left out')
        return []
    frame = placement @ _unit_frame(node)
    if suffix in SCENE_SUFFIXES:
        file = node.file
        scene = VrmlScene(path, lambda uri, folder: model_path(file, uri, folder), file.warn)
        return scene.read(node.text('fragment'), frame)
    if 'fragment' in node:
        raise node.fail('fragment', f'none: single nodes of {suffix} files are not read')
    return [_place(node, Mesh(path=str(path), uri=node.text('uri')), frame)]


def _unit_frame(node: BodyNode) -> np.ndarray:
    """Frame that takes the units and the upper axis of a file to metres and Z."""
    value = node.get('metadata')
    if value is None:
        return np.eye(4)
    if isinstance(value, str):
        words = value.split()
        unit = next((word for word in words if word in UNITS), 'meter')
        upper = 'Y' if 'y_upper' in words else 'Z'
    else:
        metadata = node.inside(node.file, value)
        unit, upper = metadata.text('length_unit', 'meter'), metadata.text('upper_axis', 'Z')
    if unit not in UNITS or upper not in ('Y', 'Z'):
        raise node.fail('metadata', f'a length_unit of {", ".join(UNITS)} and upper_axis Y or Z')
    return affine((Y_UP if upper == 'Y' else np.eye(3)) * UNITS[unit])


def _place(node: BodyNode, solid: Geometry, placement: np.ndarray) -> Shape:
    try:
        return place(solid, placement)
    except (ValueError, OSError) as error:
        raise node.fail('scale', str(error)) from error


def _read_geometry(node: BodyNode, placement: np.ndarray) -> list[Shape]:
    kind = node.text('type')
    if kind not in GEOMETRIES:
        raise unknown_type(node.label, kind, GEOMETRIES, node.file.source)
    if kind == 'Resource':
        return read_resource(node, placement)
    if kind in MESHES:
        return [_place(node, _read_mesh(node), placement)]
    try:
        if kind == 'Extrusion':
            return extruded(_read_extrusion(node), placement)
        if kind == 'ElevationGrid':
            columns, rows = (node.integer(f'{axis}_dimension', 0) for axis in 'xz')
            spacing = node.number('x_spacing', 1.0), node.number('z_spacing', 1.0)
            heights = np.array(node.numbers('height'))
            return [elevation(columns, rows, spacing, heights, placement)]
    except ValueError as error:
        raise ModelError(f'{node.label}: expected {error}', node.file.source) from error
    if kind == 'Box':
        return [_place(node, Box(_box_size(node)), placement)]
    radius = _positive(node, 'radius', 1.0)
    if kind == 'Sphere':
        return [_place(node, Sphere(radius), placement)]
    # A capsule may be as short as a sphere.
    if kind == 'Capsule' and node.number('height', 1.0) == 0.0:
        return [_place(node, Sphere(radius), placement)]
    height = _positive(node, 'height', 1.0)
    solids: dict[str, type[Cylinder | Capsule | Cone]] = {
        'Cylinder': Cylinder,
        'Capsule': Capsule,
        'Cone': Cone,
    }
    return [_place(node, solids[kind](radius, height), placement @ affine(Y_TO_Z))]


def _box_size(node: BodyNode) -> tuple[float, float, float]:
    size = node.vector('size', 3, (1.0, 1.0, 1.0))
    flat = size == 0.0
    if flat.sum() == 1:
        node.file.warn(f'{node.label}: size {size.tolist()} is flat; it is {PLANE} m thick here')
        size[flat] = PLANE
    if not np.all(size > 0.0):
        raise node.fail('size', 'lengths above 0')
    x, y, z = size.tolist()
    return x, y, z


def _read_extrusion(node: BodyNode) -> Extrusion:
    turns = _table(node, 'orientation', 4, [0.0, 0.0, 1.0, 0.0])
    turns[:, 3] = [node.to_radian(angle) for angle in turns[:, 3]]
    square = [1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0, 1.0, 1.0, 1.0]
    return Extrusion(
        _table(node, 'cross_section', 2, square),
        _table(node, 'spine', 3, [0.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
        _table(node, 'scale', 2, [1.0, 1.0]),
        turns,
        node.flag('begin_cap', True),
        node.flag('end_cap', True),
    )


def _table(node: BodyNode, key: str, width: int, default: list[float]) -> np.ndarray:
    """Numbers of a key in rows; what is left over counts for nothing, as in Choreonoid."""
    values = node.numbers(key) if key in node else default
    rest = len(values) % width
    if rest:
        node.file.warn(
            f'{node.label}: {key} has {len(values)} numbers, not a multiple of {width}; '
            f'the last {rest} are left out'
        )
    return np.reshape(values[: len(values) - rest], (-1, width))


def _read_mesh(node: BodyNode) -> Mesh:
    vertices = node.numbers('vertices')
    indices = np.array(node.numbers('faces' if 'faces' in node else 'triangles'))
    if len(vertices) % 3 or np.any(indices != indices.astype(int)):
        raise node.fail('faces', 'three numbers for each vertex, and whole ones for faces')
    corners = np.reshape(vertices, (-1, 3))
    # Faces are three corners each, or any number with -1 behind the last.
    if -1 not in indices:
        if indices.size % 3:
            raise node.fail('faces', 'three existing vertices for each triangle')
        triples = indices.reshape(-1, 3)
        indices = np.column_stack([triples, np.full(len(triples), -1)]).ravel()
    try:
        return embedded(corners, triangulate_faces(corners, indices.astype(int)))
    except ValueError as error:
        raise node.fail('faces', str(error)) from error


def _read_color(node: BodyNode) -> tuple[float, float, float, float] | None:
    appearance = node.node('appearance')
    material = appearance.node('material') if appearance is not None else None
    if material is None:
        return None
    if 'diffuse' in material:
        red, green, blue = material.vector('diffuse', 3).tolist()
    else:
        red, green, blue = Shape.color[:3]
    return (red, green, blue, 1.0 - material.number('transparency', 0.0))


def _positive(node: BodyNode, key: str, default: float) -> float:
    value = node.number(key, default)
    if not value > 0.0:
        raise node.fail(key, 'lengths above 0')
    return value
