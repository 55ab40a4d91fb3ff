"""YAML of unknown origin: plain data, no key twice, limited depth, numbers as ROS reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import yaml

MAX_DEPTH = 50

MERGE = '<<'
MERGE_TAG = 'tag:yaml.org,2002:merge'

FLOAT_TAG = 'tag:yaml.org,2002:float'
FLOAT = re.compile(
    r'^[-+]?(?:\d[\d_]*\.[\d_]*(?:[eE][-+]?\d+)?|\.\d[\d_]*(?:[eE][-+]?\d+)?'
    r'|\d[\d_]*[eE][-+]?\d+|\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$'
)

INT_TAG = 'tag:yaml.org,2002:int'
INT = re.compile(
    r'^[-+]?(?:0b[01_]*[01]|0[0-7_]*[0-7]|0|[1-9](?:[0-9_]*[0-9])?|0x[0-9a-fA-F_]*[0-9a-fA-F]'
    r'|[1-9][0-9_]*(?::[0-5]?[0-9])+)$'
)

# The C parser is ten times faster but not in every build of PyYAML.
_Base: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)


Duplicate = Callable[[str, int], None]


class _Strict:
    """Construction of mappings that have text as keys: `on` is a key, not a truth value."""

    on_duplicate: Duplicate | None = None

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
        self._check_keys(node)
        self.flatten_mapping(node)
        values: dict[str, Any] = {}
        for key, value in node.value:
            # The last one counts, and stands where it is last.
            values.pop(key.value, None)
            values[key.value] = self.construct_object(value, deep=deep)  # type: ignore[attr-defined]
        return values

    def flatten_mapping(self, node: Any) -> None:
        """Merge what `<<` names; each key once, or merges of merges would grow without end."""
        has_merge = any(key.tag == MERGE_TAG for key, _ in node.value)
        if has_merge:
            self._check_keys(node)
        super().flatten_mapping(node)  # type: ignore[misc]
        if has_merge:
            last: dict[Any, Any] = {}
            for key, value in node.value:
                # What is no text is refused where the mapping is made.
                name = key.value if isinstance(key, yaml.ScalarNode) else id(key)
                last.pop(name, None)
                last[name] = (key, value)
            node.value = list(last.values())

    def _check_keys(self, node: Any) -> None:
        seen: set[str] = set()
        for key, _ in node.value:
            text = key.value if isinstance(key, yaml.ScalarNode) else None
            if text is None or (text in seen and self.on_duplicate is None):
                problem = 'a key must be text' if text is None else f'{text!r} is given twice'
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            if text in seen and text != MERGE and self.on_duplicate is not None:
                self.on_duplicate(text, key.start_mark.line + 1)
            seen.add(text)


class _StrictLoader(_Strict, _Base):
    """Safe loader with strict mappings."""


PYTHON_TAG = 'tag:yaml.org,2002:python/'


class PythonObject:
    """What stands for an object of Python in a file: its tag, and nothing that can be used."""

    def __init__(self, tag: str) -> None:
        """Keep the tag, for messages."""
        self.tag = tag

    def __repr__(self) -> str:
        return f'<{self.tag}>'


class _DumpLoader(_Strict, _Base):
    """The same for what Python programs have dumped: tuples are lists, no object is made."""

    def construct_python(self, suffix: str, node: Any) -> Any:
        if suffix == 'tuple' and isinstance(node, yaml.SequenceNode):
            return [self.construct_object(item, deep=True) for item in node.value]  # type: ignore[attr-defined]
        return PythonObject(f'!!python/{suffix}')


_DumpLoader.add_multi_constructor(PYTHON_TAG, _DumpLoader.construct_python)  # type: ignore[attr-defined]


class _AnchorLoader(_Strict, yaml.SafeLoader):  # type: ignore[misc]
    """The same, which also remembers what has an anchor; the C parser cannot."""

    outer: Mapping[str, Any] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        if not hasattr(self, 'anchored'):
            self.anchored: dict[str, Any] = {}
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent) and str(event.anchor) in self.outer:
            self.anchors.setdefault(str(event.anchor), self.outer[str(event.anchor)])
        node = super().compose_node(parent, index)
        if not isinstance(event, yaml.AliasEvent) and event.anchor:
            self.anchored[event.anchor] = node
        return node


# The plain loader wants a dot in every float, and takes the name 1_ for 1; its resolvers are
# shared, hence the copy.
_RESOLVERS = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag not in (FLOAT_TAG, INT_TAG)]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for _loader in (_StrictLoader, _DumpLoader, _AnchorLoader):
    _loader.yaml_implicit_resolvers = {key: list(pairs) for key, pairs in _RESOLVERS.items()}
    _loader.add_implicit_resolver(FLOAT_TAG, FLOAT, list('-+0123456789.'))
    _loader.add_implicit_resolver(INT_TAG, INT, list('-+0123456789'))


def load_yaml(text: str, on_duplicate: Duplicate | None = None) -> Any:
    """Plain data from YAML text: mappings with text keys, lists, text, numbers, truth values.

    Args:
        text: the YAML.
        on_duplicate: called with every key that is given twice, and its line; the last one
            counts. Where None, such keys are refused.

    Raises:
        yaml.YAMLError: the text is not YAML, asks for more than plain data, gives a key twice or
            is nested too deep.
    """
    return _load(text, _StrictLoader, on_duplicate)[0]


class _RosDumper(yaml.SafeDumper):
    """Writes what is the same twice: rcl reads no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Refer to nothing."""
        return True


def wants_quotes(text: str) -> bool:
    """Whether text that YAML takes as it is means something else to ROS, or nothing."""
    return (':' in text and '\n' not in text) or text in ('y', 'Y', 'n', 'N')


def of_one_type(values: list[Any]) -> list[Any]:
    """The list with decimals where it has both these and whole numbers, which ROS refuses."""
    kinds = {type(value) for value in values}
    return [float(value) for value in values] if kinds == {int, float} else values


def _represent_list(dumper: yaml.SafeDumper, values: list[Any]) -> yaml.Node:
    return yaml.SafeDumper.represent_list(dumper, of_one_type(values))


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    if wants_quotes(text):
        return dumper.represent_scalar('tag:yaml.org,2002:str', text, style="'")
    return dumper.represent_str(text)


_RosDumper.add_representer(list, _represent_list)
_RosDumper.add_representer(str, _represent_text)


def ros_yaml(content: Any) -> str:
    """YAML text of plain data that programs of ROS read as a parameter file."""
    return yaml.dump(
        content,
        Dumper=_RosDumper,
        sort_keys=False,
        default_flow_style=None,
        width=99,
        allow_unicode=True,
    )


def load_python_dump(text: str) -> Any:
    """As `load_yaml`, for what `yaml.dump` of Python has written.

    Tuples are lists. Whatever else is no plain data is a `PythonObject`: it is never made, and a
    reader that needs it fails by its tag.

    Raises:
        yaml.YAMLError: as of `load_yaml`.
    """
    return _load(text, _DumpLoader, None)[0]


def load_anchors(
    text: str, on_duplicate: Duplicate | None = None, outer: str = ''
) -> tuple[Any, dict[str, Any]]:
    """As `load_yaml`, and all that has an anchor, by its name.

    Args:
        text: the YAML.
        on_duplicate: as of `load_yaml`.
        outer: YAML text whose anchors may be referred to as well.

    Raises:
        yaml.YAMLError: as of `load_yaml`.
    """
    return _load(text, _AnchorLoader, on_duplicate, _anchored_nodes(outer))


def _anchored_nodes(text: str) -> dict[str, Any]:
    loader = _AnchorLoader(text)
    try:
        loader.get_single_node()
        return getattr(loader, 'anchored', {})
    finally:
        loader.dispose()


def _load(
    text: str,
    loader_type: Any,
    on_duplicate: Duplicate | None,
    outer: Mapping[str, Any] | None = None,
) -> tuple[Any, dict[str, Any]]:
    _check_depth(text)
    loader = loader_type(text)
    loader.on_duplicate = on_duplicate
    loader.outer = outer or {}
    try:
        node = loader.get_single_node()
        if node is None:
            return None, {}
        data = loader.construct_document(node)
        _check_unfolded(data, {}, 0)
        anchored = getattr(loader, 'anchored', {})
        return data, {name: loader.construct_document(found) for name, found in anchored.items()}
    except ValueError as error:
        # A number or a date that PyYAML recognizes but cannot convert.
        raise yaml.YAMLError(str(error)) from error
    finally:
        loader.dispose()


def _check_depth(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_Base):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise yaml.YAMLError(f'elements are nested more than {MAX_DEPTH} deep')
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _check_unfolded(data: Any, heights: dict[int, int], depth: int) -> int:
    """Refuse what aliases make too deep, or a part of itself; how many levels it has."""
    if not isinstance(data, (dict, list)):
        return 0
    known = heights.get(id(data), 1)
    if depth + known > MAX_DEPTH:
        raise yaml.YAMLError(f'elements are nested more than {MAX_DEPTH} deep')
    if id(data) not in heights:
        children = data.values() if isinstance(data, dict) else data
        below = [_check_unfolded(child, heights, depth + 1) for child in children]
        heights[id(data)] = 1 + max(below, default=0)
    return heights[id(data)]
