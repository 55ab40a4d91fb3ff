"""Reads ROS 2 parameter files and merges values into them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from cnoid_control.exceptions import CnoidControlError

NODE_KEYS = ('/**', 'cnoid_control', '/cnoid_control')
FLOAT = re.compile(
    r'^[-+]?(?:\d[\d_]*\.[\d_]*(?:[eE][-+]?\d+)?|\.\d[\d_]*(?:[eE][-+]?\d+)?'
    r'|\d[\d_]*[eE][-+]?\d+|\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$'
)


class InvalidConfigFile(CnoidControlError):
    """A file that is no ROS 2 parameter file for cnoid_control."""

    def __init__(self, path: object, message: str) -> None:
        """Name the file and what is wrong with it."""
        super().__init__(f'{path}: {message}')


class _Loader(yaml.SafeLoader):
    """Reads numbers as ROS does (1e5 is one) and refuses a key that stands twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f'{key!r} is given twice', key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


# The plain loader wants a dot in every float; its resolvers are shared, hence the copy.
_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != 'tag:yaml.org,2002:float']
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver('tag:yaml.org,2002:float', FLOAT, list('-+0123456789.'))


def parse_value(text: str) -> Any:
    """Value that a text such as `true`, `1e5` or `[1, 2]` states; the text itself for a word."""
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError:
        return text


def read_parameter_file(path: Path) -> dict[str, Any]:
    """Parameters that a file states for the node, nested.

    Raises:
        InvalidConfigFile: it cannot be read, or is no parameter file.
    """
    try:
        content = yaml.load(path.read_text(encoding='utf-8'), Loader=_Loader)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidConfigFile(path, f'cannot be read: {error}') from error
    except yaml.YAMLError as error:
        raise InvalidConfigFile(path, f'is not YAML: {error}') from error
    if not isinstance(content, dict) or not any(key in content for key in NODE_KEYS):
        raise InvalidConfigFile(path, "has no '/**: ros__parameters:'")
    values: dict[str, Any] = {}
    for key in NODE_KEYS:
        node = content.get(key, {'ros__parameters': {}})
        if not isinstance(node, dict) or not isinstance(node.get('ros__parameters'), dict):
            raise InvalidConfigFile(path, f"'{key}' has no map 'ros__parameters'")
        values = merge(values, node['ros__parameters'])
    return values


def merge(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Nested values with changes put in; a change may name a nested key as 'a.b.c'."""
    merged = dict(values)
    for key, change in changes.items():
        head, _, rest = str(key).partition('.')
        if rest:
            change = {rest: change}
        if isinstance(change, Mapping):
            inner = merged.get(head)
            merged[head] = merge(inner if isinstance(inner, Mapping) else {}, change)
        else:
            merged[head] = change
    return merged
