"""YAML nodes of a .body file, with errors that name file and line."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cnoid_control.body.exceptions import ModelError, invalid_value, missing_value
from cnoid_control.body.rotations import rotation_matrix

MAX_DEPTH = 50
MAX_ELEMENTS = 100_000

AXES = {'X': (1.0, 0.0, 0.0), 'Y': (0.0, 1.0, 0.0), 'Z': (0.0, 0.0, 1.0)}

# What stands for no limit on either side.
NO_LIMIT = (None, 'unlimited', 'inf', '-inf', math.inf, -math.inf)

# Keys that were called otherwise in old files.
OLD_KEYS = {
    'axis': 'jointAxis',
    'diffuse': 'diffuseColor',
    'faces': 'coordIndex',
    'fragment': 'node',
    'translation_in_link1': 'link1LocalPos',
    'translation_in_link2': 'link2LocalPos',
    'vertices': 'coordinate',
}


@dataclass
class BodyFile:
    """What is the same for all nodes of a file.

    Attributes:
        source: the file, for messages.
        folder: folder that relative addresses count from.
        tree: folder that holds the model and its neighbours; no file outside is read.
        degrees: whether angles are in degrees; else in radians.
        warnings: what was assumed or left out, one sentence each.
        text: the file itself, whose anchors its YAML resources may refer to.
        resources: YAML resources by path, with what has an anchor in them.
        counter: counts the nodes; aliases make small files with endlessly many.
    """

    source: str
    folder: Path
    tree: Path = Path('/')
    degrees: bool = True
    warnings: list[str] = field(default_factory=list)
    text: str = ''
    resources: dict[str, tuple[Any, dict[str, Any]]] = field(default_factory=dict)
    counter: Iterator[int] = field(default_factory=itertools.count)

    def warn(self, sentence: str) -> None:
        """Keep a sentence for the model's warnings, once."""
        warning = f'{self.source}: {sentence}'
        if warning not in self.warnings:
            self.warnings.append(warning)


class BodyNode:
    """One mapping; keys are asked for in snake_case and found in camelCase too.

    Attributes:
        file: the file it is in.
        data: the mapping itself.
        label: text that names it in messages.
    """

    def __init__(self, file: BodyFile, data: Any, label: str, depth: int = 0) -> None:
        """Wrap a mapping.

        Raises:
            ModelError: it is no mapping.
            ModelError: it is nested too deep.
            ModelError: the file unfolds to more nodes than any robot needs.
        """
        if next(file.counter) > MAX_ELEMENTS:
            raise ModelError(f'aliases unfold to more than {MAX_ELEMENTS} elements', file.source)
        if depth > MAX_DEPTH:
            raise ModelError(f'elements are nested more than {MAX_DEPTH} deep', file.source)
        if not isinstance(data, Mapping):
            raise invalid_value(label, 'value', data, 'a mapping', file.source)
        self.file = file
        self.data: Mapping[str, Any] = data
        self.label = label
        self._depth = depth

    def _spelling(self, key: str) -> str | None:
        for spelling in (key, _camel(key), OLD_KEYS.get(key, key)):
            # A key without a value says nothing.
            if spelling in self.data and self.data[spelling] is not None:
                return spelling
        return None

    def __contains__(self, key: str) -> bool:
        """Whether it says something of that key."""
        return self._spelling(key) is not None

    def get(self, key: str) -> Any:
        """Value of a key as it stands, None where there is none."""
        spelling = self._spelling(key)
        return None if spelling is None else self.data[spelling]

    def fail(self, key: str, expected: str) -> ModelError:
        """Error that the value of a key is not what was expected."""
        return invalid_value(self.label, key, self.get(key), expected, self.file.source)

    def node(self, key: str) -> BodyNode | None:
        """Mapping of a key."""
        if key not in self:
            return None
        return BodyNode(self.file, self.get(key), f'{self.label}.{key}', self._depth + 1)

    def inside(self, file: BodyFile, data: Any) -> BodyNode:
        """Mapping that stands in for this node, in another file as well."""
        return BodyNode(file, data, self.label, self._depth + 1)

    def nodes(self, key: str, default_type: str = '') -> list[tuple[str, BodyNode]]:
        """Types and nodes of a key that has a list, one node, or a mapping of types to nodes."""
        value = self.get(key)
        if value is None:
            return []
        if isinstance(value, list):
            found = [(None, item) for item in value]
        elif isinstance(value, Mapping) and 'type' in value:
            found = [(None, value)]
        elif isinstance(value, Mapping):
            found = list(value.items())
        else:
            raise self.fail(key, 'a list or a mapping')
        nodes = []
        for kind, item in found:
            name = item.get('name', kind) if isinstance(item, Mapping) else kind
            node = BodyNode(self.file, item, f'{self.label}.{key}[{name}]', self._depth + 1)
            own = node.text('type', kind or default_type)
            if kind is not None and own != kind:
                raise node.fail('type', repr(kind))
            if not own:
                raise missing_value(node.label, 'type', self.file.source)
            nodes.append((own, node))
        return nodes

    def text(self, key: str, default: str = '') -> str:
        """Text of a key."""
        if key not in self:
            return default
        value = self.get(key)
        if isinstance(value, (Mapping, list)) or value is None:
            raise self.fail(key, 'text')
        return str(value)

    def symbol(self, key: str, default: str = '') -> str:
        """Text of a key in snake_case."""
        return snake(self.text(key, default))

    def flag(self, key: str, default: bool) -> bool:
        """Truth value of a key."""
        value = self.get(key) if key in self else default
        if not isinstance(value, bool):
            raise self.fail(key, 'true or false')
        return value

    def integer(self, key: str, default: int) -> int:
        """Whole number of a key."""
        value = self.number(key, default)
        if value != int(value):
            raise self.fail(key, 'a whole number')
        return int(value)

    def number(self, key: str, default: float) -> float:
        """Number of a key."""
        return self._number(key, self.get(key)) if key in self else default

    def angle(self, key: str, default: float) -> float:
        """Angle of a key [rad]."""
        return self.to_radian(self._number(key, self.get(key))) if key in self else default

    def vector(self, key: str, size: int, default: Any = None) -> np.ndarray:
        """List of numbers of a key; `default` where there is none, zeros where that is None."""
        if key not in self:
            return np.zeros(size) if default is None else np.array(default, dtype=float)
        return self._vector(key, self.get(key), size)

    def numbers(self, key: str) -> list[float]:
        """List of any number of numbers."""
        value = self.get(key)
        if not isinstance(value, list):
            raise self.fail(key, 'a list of numbers')
        return [self._number(key, item) for item in value]

    def to_radian(self, value: float) -> float:
        """Angle [rad] from one in the unit of the file."""
        return math.radians(value) if self.file.degrees else value

    def translation(self, key: str = 'translation') -> np.ndarray:
        """Position [m]: one vector, or several that are added."""
        return np.zeros(3) if key not in self else self._sum(key, self.get(key))

    def _sum(self, key: str, value: Any) -> np.ndarray:
        if isinstance(value, list) and value and isinstance(value[0], list):
            return np.sum([self._sum(key, item) for item in value], axis=0)
        return self._vector(key, value, 3)

    def rotation(self, key: str = 'rotation') -> np.ndarray:
        """Rotation: one axis and angle, or several, multiplied from left to right."""
        value = self.get(key)
        if value is None:
            return np.eye(3)
        several = isinstance(value, list) and value and isinstance(value[0], list)
        matrix = np.eye(3)
        for item in value if several else [value]:
            turn = self._vector(key, item, 4)
            if not turn[:3].any():
                raise self.fail(key, 'an axis that is not zero')
            matrix = matrix @ rotation_matrix((turn[:3], self.to_radian(turn[3])))
        return matrix

    def frame(self) -> np.ndarray:
        """Place of what it holds in its parent: translation, rotation and scale, (4, 4)."""
        frame = np.eye(4)
        frame[:3, :3] = self.rotation()
        frame[:3, 3] = self.translation()
        if 'scale' in self:
            several = isinstance(self.get('scale'), list)
            scale = self.vector('scale', 3) if several else [self.number('scale', 1.0)]
            turn = self.rotation('scale_orientation')
            frame[:3, :3] = frame[:3, :3] @ (turn * scale) @ turn.T
        return frame

    def axis(self, key: str) -> np.ndarray:
        """Axis: a vector, or X, Y, Z, -X, -Y, -Z; Z where there is none."""
        value = self.get(key) if key in self else 'Z'
        if isinstance(value, list):
            return self._vector(key, value, 3)
        name = str(value).upper()
        if name.lstrip('-') not in AXES or name.startswith('--'):
            raise self.fail(key, 'a vector or one of X, Y, Z, -X, -Y, -Z')
        return np.array(AXES[name.lstrip('-')]) * (-1.0 if name.startswith('-') else 1.0)

    def limits(self, key: str, angular: bool) -> tuple[float, float]:
        """Lower and upper limit: two numbers, or one for both sides; infinite for none."""
        value = self.get(key)
        pair = value if isinstance(value, list) else [value, value]
        if len(pair) != 2:
            raise self.fail(key, 'one number, two numbers, or unlimited')
        bounds = []
        for item in pair:
            bound = math.inf if item in NO_LIMIT else self._number(key, item)
            bounds.append(self.to_radian(bound) if angular else bound)
        lower, upper = bounds
        if not isinstance(value, list) or pair[0] in NO_LIMIT:
            lower = -lower
        if lower > upper:
            raise self.fail(key, 'a lower limit below the upper one')
        return lower, upper

    def inertia(self, key: str) -> np.ndarray:
        """Inertia tensor: 9 numbers by rows, or 6: xx xy xz yy yz zz."""
        value = self.get(key)
        if isinstance(value, list) and len(value) == 6:
            xx, xy, xz, yy, yz, zz = self._vector(key, value, 6)
            return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return self._vector(key, value, 9).reshape(3, 3)

    def _vector(self, key: str, value: Any, size: int) -> np.ndarray:
        if not isinstance(value, list) or len(value) != size:
            raise self.fail(key, f'{size} numbers')
        return np.array([self._number(key, item) for item in value])

    def _number(self, key: str, value: Any) -> float:
        # YAML 1.1 takes 1e-3 for text.
        if not isinstance(value, bool) and isinstance(value, (int, float, str)):
            try:
                number = float(value)
            except (ValueError, OverflowError):
                number = math.nan
            if math.isfinite(number):
                return number
        raise self.fail(key, 'a finite number')


def snake(text: str) -> str:
    """Text in snake_case: jointId -> joint_id."""
    return re.sub(r'(?<=[a-z0-9])([A-Z])', r'_\1', text).lower()


def _camel(key: str) -> str:
    first, *rest = key.split('_')
    return first + ''.join(word.capitalize() for word in rest)
