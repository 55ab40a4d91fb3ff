"""Reader of VRML 97 scenes (.wrl): the shapes that they hold."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cnoid_control.body.description import Box, Cone, Cylinder, Shape, Sphere
from cnoid_control.body.exceptions import ModelError, invalid_value
from cnoid_control.body.formats.extrusion import Extrusion, elevation, extruded
from cnoid_control.body.formats.placement import Y_TO_Z, affine, embedded, place
from cnoid_control.body.formats.polygons import triangulate_faces
from cnoid_control.body.formats.resources import read_text
from cnoid_control.body.rotations import turn_matrix

MAX_DEPTH = 100
MAX_NODES = 100_000

HEADER = '#VRML V2.0'

# A list of numbers is one token, so that large meshes are read at the speed of numpy.
TOKEN = re.compile(
    r'(?P<space>[\s,]+|\#[^\n]*)|(?P<numbers>\[[-+0-9.eE,\s]*\])|(?P<text>"(?:\\.|[^"\\])*")'
    r'|(?P<mark>[\[\]{}])|(?P<word>[^\s,\[\]{}"#]+)'
)

# Nodes that hold others, and the field that they are in.
GROUPS = ('Group', 'Transform', 'Collision', 'Anchor', 'Billboard')
# What has no solid and is only drawn.
DRAWN = ('IndexedLineSet', 'PointSet', 'Text')
# What is not there to be seen or touched.
IGNORED = (
    'WorldInfo',
    'Viewpoint',
    'NavigationInfo',
    'Background',
    'DirectionalLight',
    'PointLight',
    'SpotLight',
    'Fog',
    'Sound',
    'Script',
)


@dataclass
class VrmlNode:
    """One node.

    Attributes:
        kind: its type.
        name: its DEF name, empty for none.
        fields: values as they stand: numbers as arrays, nodes, lists, text, truth values.
    """

    kind: str
    name: str = ''
    fields: dict[str, Any] = field(default_factory=dict)


class _Parser:
    """Reads the nodes of one file."""

    def __init__(self, text: str, source: str) -> None:
        self._source = source
        self._text = text
        self._tokens = [
            (match.lastgroup, match.group(), match.start())
            for match in TOKEN.finditer(text)
            if match.lastgroup != 'space'
        ]
        self._tokens.append(('end', '', len(text)))
        self._at = 0
        self._names: dict[str, VrmlNode] = {}
        self._prototypes: set[str] = set()

    def nodes(self) -> list[VrmlNode]:
        found = []
        while self._kind() != 'end':
            node = self._statement()
            if node is not None:
                found.append(node)
        return found

    def _kind(self) -> str:
        return str(self._tokens[self._at][0])

    def _peek(self, ahead: int = 0) -> str:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)][1]

    def _next(self) -> str:
        if self._kind() == 'end':
            raise self._fail('is cut off')
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _expect(self, mark: str) -> None:
        if self._peek() != mark:
            raise self._fail(f'{self._peek()!r} stands where {mark!r} is expected')
        self._next()

    def _fail(self, reason: str) -> ModelError:
        place = self._tokens[min(self._at, len(self._tokens) - 1)][2]
        line = self._text.count('\n', 0, place) + 1
        return ModelError(f'is not VRML that can be read: line {line}: {reason}', self._source)

    def _statement(self, depth: int = 0) -> VrmlNode | None:
        word = self._peek()
        if word in ('PROTO', 'EXTERNPROTO'):
            self._next()
            self._prototypes.add(self._next())
            self._skip_block()
            if word == 'PROTO':
                self._skip_block()
            elif self._kind() == 'text':
                self._next()
            else:
                self._skip_block()
            return None
        if word == 'ROUTE':
            for _ in range(4):
                self._next()
            return None
        return self._node(depth)

    def _skip_block(self) -> None:
        """Pass over what is in brackets or braces."""
        if self._kind() == 'numbers':
            self._next()
            return
        if self._peek() not in ('[', '{'):
            raise self._fail(f'{self._peek()!r} stands where a block is expected')
        depth = 0
        while True:
            word = self._next()
            depth += (word in ('[', '{')) - (word in (']', '}'))
            if depth == 0:
                return

    def _node(self, depth: int) -> VrmlNode | None:
        if depth > MAX_DEPTH:
            raise ModelError(f'nodes are nested more than {MAX_DEPTH} deep', self._source)
        word = self._next()
        if word == 'NULL':
            return None
        if word == 'USE':
            name = self._next()
            if name not in self._names:
                raise self._fail(f'USE of {name!r}, which is not defined before')
            return self._names[name]
        name = ''
        if word == 'DEF':
            word = self._next()
            # Some exporters leave the name out.
            if self._peek() != '{':
                name, word = word, self._next()
        node = VrmlNode(word, name)
        if self._peek() != '{':
            raise self._fail(f'{self._peek()!r} stands where the {{ of {word!r} is expected')
        self._next()
        while self._peek() != '}':
            if self._peek() in ('PROTO', 'EXTERNPROTO', 'ROUTE'):
                self._statement(depth)
                continue
            if self._kind() == 'end':
                raise self._fail('is cut off')
            if self._kind() != 'word':
                raise self._fail(f'{self._peek()!r} stands where a field of {word!r} is expected')
            key = self._next()
            node.fields[key] = self._value(depth)
        self._next()
        if name:
            self._names[name] = node
        return node

    def _value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ModelError(f'values are nested more than {MAX_DEPTH} deep', self._source)
        kind, word = self._kind(), self._peek()
        if kind == 'numbers':
            return self._numbers(self._next()[1:-1].replace(',', ' ').split())
        if word == '[':
            self._next()
            values: list[Any] = []
            while self._peek() != ']':
                value = self._value(depth + 1)
                values += value.tolist() if isinstance(value, np.ndarray) else [value]
            self._next()
            plain = all(isinstance(value, float) for value in values)
            return np.array(values) if values and plain else values
        if kind == 'text':
            return self._next()[1:-1]
        if word in ('TRUE', 'FALSE'):
            return self._next() == 'TRUE'
        if kind == 'word' and _is_number(word):
            words = []
            while self._kind() == 'word' and _is_number(self._peek()):
                words.append(self._next())
            return self._numbers(words)
        if kind != 'word':
            raise self._fail(f'{word!r} stands where a value is expected')
        return self._node(depth + 1)

    def _numbers(self, words: list[str]) -> np.ndarray:
        try:
            return np.array([int(w, 16) if w[:2] in ('0x', '0X') else float(w) for w in words])
        except ValueError as error:
            raise self._fail(str(error)) from error


def _is_number(word: str) -> bool:
    return word[:1] in '+-.0123456789' and word[:1] != ''


@dataclass
class VrmlScene:
    """Shapes of a VRML file.

    Attributes:
        path: the file, for messages and what it includes.
        check: called with every file that it includes; raises where it must not.
        warn: called with a sentence about what is left out.
        outer: files that include it.
        counter: counts the nodes; USE and Inline make small files with endlessly many.
    """

    path: Path
    check: Callable[[str, Path], Path]
    warn: Callable[[str], None]
    outer: tuple[Path, ...] = ()
    counter: Iterator[int] = field(default_factory=itertools.count)

    def read(self, fragment: str = '', frame: np.ndarray | None = None) -> list[Shape]:
        """Shapes of the scene, or of one named node.

        A named node keeps the rotations of what it is in, and loses the translations, its own
        too: it is taken to its own origin, as Choreonoid does.

        Args:
            fragment: DEF name of the node; the whole scene where empty.
            frame: place of the scene, shape (4, 4); may scale, mirror and shear.

        Raises:
            ModelError: the file is not VRML, or has no such node.
        """
        frame = np.eye(4) if frame is None else frame
        text = read_text(self.path, tolerant=True)
        # Parts of scenes often have no header at all.
        if text.startswith('#VRML') and not text.startswith(HEADER):
            raise invalid_value('the file', 'header', text[:20], HEADER, str(self.path))
        nodes = _Parser(text, str(self.path)).nodes()
        if not fragment:
            return [shape for node in nodes for shape in self._shapes(node, frame, 0)]
        for node in nodes:
            found = self._find(node, fragment, np.eye(4), 0)
            if found is not None:
                chosen, outside = found
                own = self._frame(chosen)
                start = affine((outside @ own)[:3, :3]) @ np.linalg.inv(own)
                return list(self._shapes(chosen, frame @ start, 0))
        raise ModelError(f'there is no node {fragment!r}', str(self.path))

    def _find(
        self, node: VrmlNode, name: str, frame: np.ndarray, depth: int
    ) -> tuple[VrmlNode, np.ndarray] | None:
        if depth > MAX_DEPTH:
            raise ModelError(f'nodes are nested more than {MAX_DEPTH} deep', str(self.path))
        self._count()
        if node.name == name:
            return node, frame
        inner = frame @ self._frame(node)
        for child in self._children(node):
            found = self._find(child, name, inner, depth + 1)
            if found is not None:
                return found
        return None

    def _children(self, node: VrmlNode) -> list[VrmlNode]:
        if node.kind == 'Switch':
            choices = _nodes(node.fields.get('choice'))
            chosen = int(_number(node, 'whichChoice', -1.0))
            return choices[chosen : chosen + 1] if chosen >= 0 else []
        if node.kind == 'LOD':
            return _nodes(node.fields.get('level'))[:1]
        return _nodes(node.fields.get('children'))

    def _frame(self, node: VrmlNode) -> np.ndarray:
        if node.kind != 'Transform':
            return np.eye(4)
        values = node.fields
        center = self._vector(values, 'center', (0.0, 0.0, 0.0))
        turn = turn_matrix(self._vector(values, 'rotation', (0.0, 0.0, 1.0, 0.0)))
        tilt = turn_matrix(self._vector(values, 'scaleOrientation', (0.0, 0.0, 1.0, 0.0)))
        scale = self._vector(values, 'scale', (1.0, 1.0, 1.0))
        linear = turn @ (tilt * scale) @ tilt.T
        translation = self._vector(values, 'translation', (0.0, 0.0, 0.0))
        return affine(linear, translation + center - linear @ center)

    def _vector(self, values: dict[str, Any], key: str, default: tuple[float, ...]) -> np.ndarray:
        value = values.get(key)
        if value is None:
            return np.array(default)
        if not isinstance(value, np.ndarray) or value.shape != (len(default),):
            expected = f'{len(default)} numbers'
            raise invalid_value('node', key, value, expected, str(self.path))
        return value

    def _shapes(self, node: VrmlNode, frame: np.ndarray, depth: int) -> Iterator[Shape]:
        if depth > MAX_DEPTH:
            raise ModelError(f'nodes are nested more than {MAX_DEPTH} deep', str(self.path))
        self._count()
        if node.kind == 'Shape':
            yield from self._solid(node, frame)
        elif node.kind == 'Inline':
            yield from self._inline(node, frame)
        elif node.kind not in IGNORED:
            children = self._children(node)
            if node.kind not in (*GROUPS, 'Switch', 'LOD') and not children:
                self.warn(f'{node.kind} is not read')
            inner = frame @ self._frame(node)
            for child in children:
                yield from self._shapes(child, inner, depth + 1)

    def _count(self) -> None:
        if next(self.counter) > MAX_NODES:
            raise ModelError(
                f'USE and Inline unfold to more than {MAX_NODES} nodes', str(self.path)
            )

    def _inline(self, node: VrmlNode, frame: np.ndarray) -> Iterator[Shape]:
        urls = node.fields.get('url', [])
        for url in urls if isinstance(urls, list) else [urls]:
            path = self.check(str(url), self.path.parent)
            if path in (self.path, *self.outer):
                raise ModelError(f'{url!r} is a part of itself', str(self.path))
            inner = VrmlScene(path, self.check, self.warn, (*self.outer, self.path), self.counter)
            yield from inner.read('', frame)

    def _solid(self, node: VrmlNode, frame: np.ndarray) -> Iterator[Shape]:
        geometry = node.fields.get('geometry')
        if not isinstance(geometry, VrmlNode):
            return
        if geometry.kind in DRAWN:
            self.warn(f'{geometry.kind} has no surface and is left out')
            return
        try:
            shapes = self._geometry(geometry, frame)
        except ValueError as error:
            raise ModelError(
                f'{geometry.kind} {geometry.name!r}: expected {error}', str(self.path)
            ) from error
        color = self._color(node.fields.get('appearance'))
        for shape in shapes:
            shape.color = color
            yield shape

    def _color(self, appearance: Any) -> tuple[float, float, float, float]:
        nodes = _nodes(appearance)
        materials = _nodes(nodes[0].fields.get('material')) if nodes else []
        if not materials:
            return Shape.color
        material = materials[0]
        red, green, blue = self._vector(material.fields, 'diffuseColor', (0.8, 0.8, 0.8)).tolist()
        return red, green, blue, 1.0 - _number(material, 'transparency', 0.0)

    def _geometry(self, node: VrmlNode, frame: np.ndarray) -> list[Shape]:
        values = node.fields
        upright = frame @ affine(Y_TO_Z)
        if node.kind == 'Box':
            x, y, z = self._vector(values, 'size', (2.0, 2.0, 2.0)).tolist()
            return [place(Box((x, y, z)), frame)]
        if node.kind == 'Sphere':
            return [place(Sphere(_number(node, 'radius', 1.0)), frame)]
        if node.kind == 'Cylinder':
            size = _number(node, 'radius', 1.0), _number(node, 'height', 2.0)
            return [place(Cylinder(*size), upright)]
        if node.kind == 'Cone':
            size = _number(node, 'bottomRadius', 1.0), _number(node, 'height', 2.0)
            return [place(Cone(*size), upright)]
        if node.kind == 'IndexedFaceSet':
            return self._faces(node, frame)
        if node.kind == 'Extrusion':
            square = [1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0, 1.0, 1.0, 1.0]
            extrusion = Extrusion(
                np.array(values.get('crossSection', square)),
                np.array(values.get('spine', [0.0, 0.0, 0.0, 0.0, 1.0, 0.0])),
                np.array(values.get('scale', [1.0, 1.0])),
                np.array(values.get('orientation', [0.0, 0.0, 1.0, 0.0])),
                bool(values.get('beginCap', True)),
                bool(values.get('endCap', True)),
            )
            return extruded(extrusion, frame)
        if node.kind == 'ElevationGrid':
            columns = int(_number(node, 'xDimension', 0.0))
            rows = int(_number(node, 'zDimension', 0.0))
            spacing = _number(node, 'xSpacing', 1.0), _number(node, 'zSpacing', 1.0)
            return [elevation(columns, rows, spacing, np.array(values.get('height', [])), frame)]
        self.warn(f'geometry {node.kind} is not read')
        return []

    def _faces(self, node: VrmlNode, frame: np.ndarray) -> list[Shape]:
        coordinates = _nodes(node.fields.get('coord'))
        points = coordinates[0].fields.get('point', []) if coordinates else []
        indices = np.asarray(node.fields.get('coordIndex', []), dtype=int)
        if len(points) < 9 or not indices.size:
            return []
        vertices = np.reshape(points, (-1, 3))
        faces = triangulate_faces(vertices, indices)
        if node.fields.get('ccw', True) is False:
            faces = faces[:, ::-1]
        return [place(embedded(vertices, faces), frame)]


def _nodes(value: Any) -> list[VrmlNode]:
    values = value if isinstance(value, list) else [value]
    return [node for node in values if isinstance(node, VrmlNode)]


def _number(node: VrmlNode, key: str, default: float) -> float:
    value = node.fields.get(key)
    if value is None:
        return default
    if not isinstance(value, np.ndarray) or value.size != 1:
        raise ValueError(f'a number for {key}')
    return float(value[0])
