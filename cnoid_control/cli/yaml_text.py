"""YAML for people: numbers, lists and maps with comments, as ROS reads them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from cnoid_control.strict_yaml import of_one_type, wants_quotes

WIDTH = 99
# A map of more numbers than this is written in one piece.
SHORT = 4
GLUE = '\x00'


def yaml_number(value: float) -> str:
    """Number of six digits that YAML and ROS read as a float."""
    mantissa, exponent, power = f'{value + 0.0:.6g}'.partition('e')
    return f'{mantissa if "." in mantissa else mantissa + ".0"}{exponent}{power}'


def yaml_scalar(value: Any) -> str:
    """One value in one line; a float as `yaml_number` writes it."""
    import yaml

    if isinstance(value, float):
        return yaml_number(value)
    if isinstance(value, str) and wants_quotes(value):
        return "'" + value.replace("'", "''") + "'"
    return yaml.safe_dump(value, width=10_000, allow_unicode=True).partition('\n')[0]


def yaml_comment(text: str) -> str:
    """Text as lines of a comment."""
    lines = textwrap.wrap(' '.join(text.split()), WIDTH - 4, subsequent_indent='  ')
    return ''.join(f'# {line}\n' for line in lines)


def yaml_entry(
    key: str, value: Any, depth: int, comments: Mapping[str, list[str]], prefix: str = ''
) -> str:
    """Lines of one entry of a map, with the comments on it and on what is in it.

    Args:
        key: the name.
        value: a value, a list of them, or a map.
        depth: how deep the map is nested.
        comments: comments by full key ('action.scale').
        prefix: full key of the map.
    """
    indent = '  ' * depth
    full_key = f'{prefix}.{key}' if prefix else key
    text = ''.join(
        f'{indent}{line}\n'
        for comment in comments.get(full_key, [])
        for line in yaml_comment(comment).splitlines()
    )
    start = f'{indent}{yaml_scalar(key)}:'
    if isinstance(value, Mapping) and len(value) > SHORT and _is_plain(value):
        # Lines are broken between pairs only.
        pairs = ', '.join(f'{yaml_scalar(k)}:{GLUE}{yaml_scalar(v)}' for k, v in value.items())
        return text + _wrapped(f'{start} {{{pairs}}}', indent)
    if isinstance(value, Mapping):
        inner = [yaml_entry(str(k), v, depth + 1, comments, full_key) for k, v in value.items()]
        return f'{text}{start}\n{"".join(inner)}'
    if isinstance(value, list):
        items = ', '.join(yaml_scalar(item) for item in of_one_type(value))
        return text + _wrapped(f'{start} [{items}]', indent)
    return f'{text}{start} {yaml_scalar(value)}\n'


def _is_plain(values: Mapping[str, Any]) -> bool:
    return not any(isinstance(value, (Mapping, list, str)) for value in values.values())


def _wrapped(line: str, indent: str) -> str:
    wrapped = textwrap.wrap(line, WIDTH, subsequent_indent=f'{indent}  ', break_on_hyphens=False)
    return '\n'.join(wrapped).replace(GLUE, ' ') + '\n'
