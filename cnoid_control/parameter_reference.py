"""Options in words: key, type, range, default, unit and meaning, from their declaration."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

from cnoid_control.parameters import FileName, ParameterInfo, PluginName, parameter_info

# What stands for a name that the user chooses, in the key of a section of a map.
ANY_NAME = 'NAME'
TYPES: dict[Any, str] = {
    bool: 'true or false',
    int: 'integer',
    float: 'number',
    str: 'text',
    Path: 'file',
    FileName: 'file or name',
    PluginName: 'name of code',
    Any: 'anything',
    type(None): 'nothing',
}


@dataclass(frozen=True)
class ParameterRow:
    """One option in words.

    Attributes:
        key: full key; `NAME` stands for any name of a map's entry.
        type: what kind of value it takes.
        default: the default as YAML has it; 'required' where it must be given.
        unit: unit of the value, may be empty.
        range: least and largest value, or the choices; empty for any.
        description: what it does.
        read_only: whether it cannot change while the controller runs.
    """

    key: str
    type: str
    default: str
    unit: str
    range: str
    description: str
    read_only: bool


def describe_parameters(schema: type, prefix: str = '') -> list[ParameterRow]:
    """All options of a dataclass, those of nested sections one by one.

    Args:
        schema: the dataclass.
        prefix: key of the whole; may be empty.
    """
    return list(_rows(schema, prefix, False, ()))


def _rows(
    schema: type, prefix: str, read_only: bool, above: tuple[type, ...]
) -> Iterator[ParameterRow]:
    hints = typing.get_type_hints(schema)
    for field in dataclasses.fields(schema):
        info = parameter_info(field)
        kind, key = hints[field.name], f'{prefix}.{field.name}' if prefix else field.name
        fixed = read_only or info.read_only
        section, name = _section_of(kind)
        if section is None or section in above:
            yield _row(key, kind, field, info, fixed)
        else:
            yield from _rows(section, f'{key}{name}', fixed, (*above, schema))


def _section_of(kind: Any) -> tuple[type | None, str]:
    """Dataclass of a section, and what comes behind its key; None where it is none."""
    if dataclasses.is_dataclass(kind):
        return typing.cast(type, kind), ''
    if typing.get_origin(kind) is dict:
        element = typing.get_args(kind)[1]
        if dataclasses.is_dataclass(element):
            return typing.cast(type, element), f'.{ANY_NAME}'
    return None, ''


def _row(
    key: str, kind: Any, field: dataclasses.Field[Any], info: ParameterInfo, read_only: bool
) -> ParameterRow:
    if field.default is not MISSING:
        default = _text(field.default)
    elif field.default_factory is not MISSING:
        default = _text(field.default_factory())
    else:
        default = 'required'
    return ParameterRow(
        key, type_text(kind), default, info.unit, _range(info), info.description, read_only
    )


def type_text(kind: Any) -> str:
    """A type in words."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return ' or '.join(dict.fromkeys(type_text(one) for one in inner))
    if origin is list:
        return f'list of {type_text(inner[0])}'
    if origin is dict:
        return f'map of {type_text(inner[1])} by name'
    if origin is tuple:
        if inner[-1] is Ellipsis:
            return f'list of {type_text(inner[0])}'
        return f'list of {len(inner)}: {", ".join(type_text(one) for one in inner)}'
    if origin is typing.Literal:
        return ', '.join(_text(one) for one in inner)
    if dataclasses.is_dataclass(kind):
        return 'map'
    return TYPES.get(kind, getattr(kind, '__name__', str(kind)))


def _range(info: ParameterInfo) -> str:
    if info.choices:
        return ', '.join(_text(one) for one in info.choices)
    low, high = math.isfinite(info.minimum), math.isfinite(info.maximum)
    if low and high:
        return f'{info.minimum:g} to {info.maximum:g}'
    if low:
        return f'at least {info.minimum:g}'
    return f'at most {info.maximum:g}' if high else ''


def _text(value: Any) -> str:
    """A value as YAML has it."""
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, float):
        return '.inf' if value == math.inf else '-.inf' if value == -math.inf else f'{value:g}'
    if isinstance(value, (list, tuple)):
        return f'[{", ".join(_text(one) for one in value)}]'
    if isinstance(value, dict):
        return f'{{{", ".join(f"{key}: {_text(one)}" for key, one in value.items())}}}'
    if isinstance(value, Path):
        return "''" if value == Path() else str(value)
    if isinstance(value, str):
        return value or "''"
    return str(value)
