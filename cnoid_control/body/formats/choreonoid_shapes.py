"""Reads the shapes of a Choreonoid .body file."""

from __future__ import annotations

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
from cnoid_control.body.exceptions import ModelError, missing_value, unknown_type
from cnoid_control.body.formats.choreonoid_node import BodyNode
from cnoid_control.body.formats.resources import resolve_uri

GEOMETRIES = ('Box', 'Sphere', 'Cylinder', 'Capsule', 'Cone', 'Mesh', 'Resource')
MESH_SUFFIXES = ('.stl', '.dae', '.obj', '.wrl', '.ply')

# Cylinders, capsules and cones lie along Y in .body files and along Z here.
Y_TO_Z = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


def read_shape(node: BodyNode, placement: np.ndarray, link: str) -> Shape:
    """Shape of a `Shape` node.

    Args:
        node: the node.
        placement: its frame in the link frame, shape (4, 4); may scale along its axes.
        link: name of the link, for messages.

    Raises:
        ModelError: the subclass that names what is wrong.
    """
    geometry = node.node('geometry')
    if geometry is None:
        raise missing_value(node.label, 'geometry', node.file.source)
    rotation, scale = split_scale(node, placement)
    solid, turned = _read_geometry(geometry, scale, link)
    return Shape(
        solid,
        translation=placement[:3, 3].copy(),
        rotation=rotation @ Y_TO_Z if turned else rotation,
        color=_read_color(node),
    )


def read_resource(node: BodyNode, placement: np.ndarray, link: str) -> Shape:
    """Shape of a `Resource` node: a mesh file.

    Raises:
        ModelError: the subclass that names what is wrong.
    """
    rotation, scale = split_scale(node, placement)
    mesh = _read_mesh_file(node, scale, link)
    return Shape(mesh, translation=placement[:3, 3].copy(), rotation=rotation)


def split_scale(node: BodyNode, placement: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotation and scale of a frame.

    Raises:
        ModelError: it is sheared or mirrored, so that there are no such two.
    """
    scale = np.linalg.norm(placement[:3, :3], axis=0)
    if not np.all(scale > 0.0):
        raise node.fail('scale', 'factors above 0')
    rotation = placement[:3, :3] / scale
    proper = np.allclose(rotation.T @ rotation, np.eye(3), atol=1e-9)
    if not proper or np.linalg.det(rotation) < 0.0:
        raise node.fail('scale', 'factors above 0 along the axes of what they scale')
    return rotation, scale


def _read_geometry(node: BodyNode, scale: np.ndarray, link: str) -> tuple[Geometry, bool]:
    """Solid, and whether its axis was along Y."""
    kind = node.text('type')
    if kind not in GEOMETRIES:
        raise unknown_type(f'geometry of link {link!r}', kind, GEOMETRIES, node.file.source)
    if kind == 'Box':
        x, y, z = (_positive(node, 'size', value) for value in node.vector('size', 3) * scale)
        return Box((x, y, z)), False
    if kind == 'Mesh':
        return _read_mesh(node, scale), False
    if kind == 'Resource':
        return _read_mesh_file(node, scale, link), False
    even = np.ptp(scale) < 1e-9 if kind == 'Sphere' else abs(scale[0] - scale[2]) < 1e-9
    if not even:
        raise node.fail('scale', f'a scale that leaves a {kind} one')
    radius = _positive(node, 'radius', node.number('radius', 1.0) * scale[0])
    if kind == 'Sphere':
        return Sphere(radius), False
    height = _positive(node, 'height', node.number('height', 1.0) * scale[1])
    if kind == 'Cylinder':
        return Cylinder(radius, height), True
    return (Capsule if kind == 'Capsule' else Cone)(radius, height), True


def _read_mesh(node: BodyNode, scale: np.ndarray) -> Mesh:
    vertices = node.numbers('vertices')
    indices = node.numbers('faces' if 'faces' in node else 'triangles')
    triangles: list[int] = []
    face: list[int] = []
    # Faces are three corners each, or any number with -1 behind the last.
    open_ended = -1 in indices
    for value in [*indices, -1] if open_ended else indices:
        if value >= 0:
            face.append(int(value))
        if value < 0 or (not open_ended and len(face) == 3):
            for corner in range(1, len(face) - 1):
                triangles += [face[0], face[corner], face[corner + 1]]
            face = []
    if face or len(vertices) % 3 or max(triangles, default=0) * 3 >= max(len(vertices), 1):
        raise node.fail('faces', 'three existing vertices for each triangle')
    scaled = (np.reshape(vertices, (-1, 3)) * scale).ravel()
    return Mesh(vertices=tuple(scaled.tolist()), triangles=tuple(triangles))


def _read_mesh_file(node: BodyNode, scale: np.ndarray, link: str) -> Mesh:
    uri = node.text('uri')
    if not uri:
        raise missing_value(node.label, 'uri', node.file.source)
    path = resolve_uri(uri, node.file.folder, node.file.source)
    if path.suffix.lower() not in MESH_SUFFIXES or 'node' in node:
        raise ModelError(f'{node.label}: {uri!r} is not supported', node.file.source)
    if not path.is_file():
        raise ModelError(f'link {link!r}: mesh {uri!r} is not there ({path})', node.file.source)
    x, y, z = scale.tolist()
    return Mesh(path=str(path), scale=(x, y, z), uri=uri)


def _read_color(node: BodyNode) -> tuple[float, float, float, float]:
    appearance = node.node('appearance')
    material = appearance.node('material') if appearance is not None else None
    if material is None:
        return Shape.color
    if 'diffuse' in material:
        red, green, blue = material.vector('diffuse', 3).tolist()
    else:
        red, green, blue = Shape.color[:3]
    return (red, green, blue, 1.0 - material.number('transparency', 0.0))


def _positive(node: BodyNode, key: str, value: float) -> float:
    if not value > 0.0:
        raise node.fail(key, 'lengths above 0')
    return float(value)
