"""Collada files (.dae): the triangles of their scene.

coal's reader mixes up the corners of nodes with several materials, so that their surfaces come out
crumpled; here every list of triangles keeps its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from xml.etree import ElementTree

import numpy as np

from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.formats.xml_reader import XmlReader
from cnoid_control.body.rotations import rotation_matrix

Element = ElementTree.Element
# Lists of polygons in a mesh.
LISTS = ('triangles', 'polylist', 'polygons', 'trifans', 'tristrips')
# Nodes inside of nodes, those that are used by their address included.
MAX_DEPTH = 50


def read_collada(text: str, source: str) -> tuple[np.ndarray, np.ndarray]:
    """Vertices [m], shape (n, 3), and faces, shape (m, 3), of the scene of a file.

    The unit of the file is taken into account, its up axis is not, as RViz and Gazebo do it.

    Args:
        text: content of the file.
        source: its name, for messages.

    Raises:
        ValueError: it is no Collada file, holds no mesh, or something that is not read here.
    """
    try:
        root = XmlReader(text, source).root
    except ModelError as error:
        raise ValueError(str(error)) from error
    return _Scene(root, source).read()


class _Scene:
    """The scene of a document, put together from its geometries."""

    def __init__(self, root: Element, source: str) -> None:
        self._source = source
        for element in root.iter():
            element.tag = element.tag.rpartition('}')[2]
        self._root = root
        self._named = {item.get('id'): item for item in root.iter() if item.get('id')}
        self._meshes: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self._vertices: list[np.ndarray] = []
        self._faces: list[np.ndarray] = []
        self._count = 0

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        unit = self._root.find('./asset/unit')
        scale = float(unit.get('meter', '1')) if unit is not None else 1.0
        shown = self._root.find('./scene/instance_visual_scene')
        scene = self._find(shown) if shown is not None else self._root.find('.//visual_scene')
        if scene is None:
            raise ValueError(f'{self._source}: has no scene')
        start = np.diag([scale, scale, scale, 1.0])
        for node in scene.findall('node'):
            self._add_node(node, start, 0)
        if not self._faces:
            raise ValueError(f'{self._source}: holds no triangles')
        return np.concatenate(self._vertices), np.concatenate(self._faces)

    def _find(self, user: Element) -> Element:
        address = user.get('url') or user.get('source') or ''
        found = self._named.get(address.removeprefix('#'))
        if found is None:
            raise ValueError(f'{self._source}: {user.tag} leads to {address!r}, which is missing')
        return found

    def _add_node(self, node: Element, above: np.ndarray, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise ValueError(f'{self._source}: nodes are nested more than {MAX_DEPTH} deep')
        place = above @ _transform(node)
        for user in node.findall('instance_geometry'):
            vertices, faces = self._mesh(self._find(user))
            self._vertices.append(vertices @ place[:3, :3].T + place[:3, 3])
            # What is mirrored would be inside out.
            mirrored = np.linalg.det(place[:3, :3]) < 0.0
            self._faces.append((faces[:, ::-1] if mirrored else faces) + self._count)
            self._count += len(vertices)
        for child in node.findall('node'):
            self._add_node(child, place, depth + 1)
        for user in node.findall('instance_node'):
            self._add_node(self._find(user), place, depth + 1)

    def _mesh(self, geometry: Element) -> tuple[np.ndarray, np.ndarray]:
        key = geometry.get('id', '')
        if key not in self._meshes:
            mesh = geometry.find('mesh')
            if mesh is None:
                raise ValueError(f'{self._source}: geometry {key!r} is no mesh')
            self._meshes[key] = self._read_mesh(mesh)
        return self._meshes[key]

    def _read_mesh(self, mesh: Element) -> tuple[np.ndarray, np.ndarray]:
        vertices: list[np.ndarray] = []
        faces: list[np.ndarray] = []
        count = 0
        for polygons in (part for part in mesh if part.tag in LISTS):
            inputs = polygons.findall('input')
            user = next((one for one in inputs if one.get('semantic') == 'VERTEX'), None)
            if user is None:
                raise ValueError(f'{self._source}: {polygons.tag} without corners')
            stride = 1 + max(int(one.get('offset', '0')) for one in inputs)
            positions = self._positions(user)
            offset = int(user.get('offset', '0'))
            nothing = np.zeros((0, 3), dtype=int)
            triangles = np.concatenate([nothing, *_indices(polygons, stride, offset)])
            if len(triangles):
                if triangles.min() < 0 or triangles.max() >= len(positions):
                    raise ValueError(f'{self._source}: a corner is not among the positions')
                vertices.append(positions)
                faces.append(triangles + count)
                count += len(positions)
        if not faces:
            return np.zeros((0, 3)), np.zeros((0, 3), dtype=int)
        return np.concatenate(vertices), np.concatenate(faces)

    def _positions(self, user: Element) -> np.ndarray:
        found = self._find(user)
        if found.tag == 'vertices':
            inner = next(
                (one for one in found.findall('input') if one.get('semantic') == 'POSITION'), None
            )
            if inner is None:
                raise ValueError(f'{self._source}: corners without positions')
            found = self._find(inner)
        array = found.find('float_array')
        values = np.array((array.text or '').split() if array is not None else [], dtype=float)
        accessor = found.find('./technique_common/accessor')
        stride = int(accessor.get('stride', '3')) if accessor is not None else 3
        return values[: len(values) // stride * stride].reshape(-1, stride)[:, :3]


def _indices(polygons: Element, stride: int, offset: int) -> Iterator[np.ndarray]:
    """Corners of triangles, shape (n, 3), of each list of indices of an element."""
    counts = polygons.find('vcount')
    for element in polygons.findall('p'):
        corners = np.array((element.text or '').split(), dtype=int)[offset::stride]
        if polygons.tag == 'triangles':
            yield corners[: len(corners) // 3 * 3].reshape(-1, 3)
        elif polygons.tag == 'polylist' and counts is not None:
            yield _fans(corners, np.array((counts.text or '').split(), dtype=int))
        elif polygons.tag == 'tristrips':
            yield _strip(corners)
        else:
            yield _fans(corners, np.array([len(corners)]))


def _fans(corners: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Triangles of polygons of so many corners each, all from the first corner."""
    found = [np.zeros((0, 3), dtype=int)]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int)
    for size in np.unique(counts[counts >= 3]).tolist():
        first = starts[counts == size]
        for i in range(1, size - 1):
            found.append(corners[np.stack([first, first + i, first + i + 1], axis=1)])
    return np.concatenate(found)


def _strip(corners: np.ndarray) -> np.ndarray:
    """Triangles of a strip; every second one is turned."""
    if len(corners) < 3:
        return np.zeros((0, 3), dtype=int)
    triangles = np.stack([corners[:-2], corners[1:-1], corners[2:]], axis=1)
    triangles[1::2] = triangles[1::2, ::-1]
    return triangles


def _transform(node: Element) -> np.ndarray:
    """Place of a node in the one above, shape (4, 4)."""
    place = np.eye(4)
    for element in node:
        if element.tag not in ('matrix', 'translate', 'rotate', 'scale'):
            continue
        values = np.array((element.text or '').split(), dtype=float)
        step = np.eye(4)
        if element.tag == 'matrix':
            step = values.reshape(4, 4)
        elif element.tag == 'translate':
            step[:3, 3] = values
        elif element.tag == 'scale':
            step[:3, :3] = np.diag(values)
        elif np.any(values[:3]):
            step[:3, :3] = rotation_matrix((values[:3], math.radians(values[3])))
        place = place @ step
    return place
