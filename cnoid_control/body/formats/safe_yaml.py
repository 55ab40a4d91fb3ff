"""Loads YAML of unknown origin: plain data only, with limits."""

from __future__ import annotations

from typing import Any

import yaml

from cnoid_control.body.exceptions import InvalidYaml, NestingTooDeep

MAX_DEPTH = 50

# The C parser is ten times faster but not in every build of PyYAML.
_Base: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)


class _ModelLoader(_Base):
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
                problem = 'a key must be text' if text is None else f'key {text!r} is there twice'
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(text)


def load_yaml(text: str, source: str) -> Any:
    """Plain data from YAML text: mappings with text keys, lists, text, numbers, truth values.

    Raises:
        InvalidYaml: the text is not YAML, or asks for more than plain data.
        NestingTooDeep: it is nested too deep.
    """
    try:
        depth = 0
        for event in yaml.parse(text, Loader=_Base):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    raise NestingTooDeep(MAX_DEPTH, source)
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
        return yaml.load(text, Loader=_ModelLoader)
    except (yaml.YAMLError, ValueError) as error:
        raise InvalidYaml(' '.join(str(error).split()), source) from error
