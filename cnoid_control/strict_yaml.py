"""YAML of unknown origin: plain data, no key twice, limited depth, numbers as ROS reads them."""

from __future__ import annotations

import re
from typing import Any

import yaml

MAX_DEPTH = 50

FLOAT_TAG = 'tag:yaml.org,2002:float'
FLOAT = re.compile(
    r'^[-+]?(?:\d[\d_]*\.[\d_]*(?:[eE][-+]?\d+)?|\.\d[\d_]*(?:[eE][-+]?\d+)?'
    r'|\d[\d_]*[eE][-+]?\d+|\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$'
)

# The C parser is ten times faster but not in every build of PyYAML.
_Base: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)


class _StrictLoader(_Base):
    """Safe loader whose mappings have text as keys: `on` is a key, not a truth value."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
        self._refuse_same_keys(node)
        self.flatten_mapping(node)
        return {key.value: self.construct_object(value, deep=deep) for key, value in node.value}

    def _refuse_same_keys(self, node: Any) -> None:
        seen: set[str] = set()
        for key, _ in node.value:
            text = key.value if isinstance(key, yaml.ScalarNode) else None
            if text is None or text in seen:
                problem = 'a key must be text' if text is None else f'{text!r} is given twice'
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(text)


# The plain loader wants a dot in every float; its resolvers are shared, hence the copy.
_StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != FLOAT_TAG]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_StrictLoader.add_implicit_resolver(FLOAT_TAG, FLOAT, list('-+0123456789.'))


def load_yaml(text: str) -> Any:
    """Plain data from YAML text: mappings with text keys, lists, text, numbers, truth values.

    Raises:
        yaml.YAMLError: the text is not YAML, asks for more than plain data, gives a key twice or
            is nested too deep.
    """
    depth = 0
    for event in yaml.parse(text, Loader=_Base):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise yaml.YAMLError(f'elements are nested more than {MAX_DEPTH} deep')
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except ValueError as error:
        # A number or a date that PyYAML recognizes but cannot convert.
        raise yaml.YAMLError(str(error)) from error
