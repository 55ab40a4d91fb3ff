"""Options of controllers as a page shows them, and options with one of them changed."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import ParameterInfo, parameter_info
from cnoid_control.plugin.options import followed_options, parse_option_string
from cnoid_control.runtime.managed_controller import ManagedController
from cnoid_control.viewer.source import Option

KINDS = {bool: 'bool', int: 'int', float: 'float', str: 'text'}


def options_of(managed: ManagedController) -> list[Option]:
    """All options of a controller in force, nested ones one by one, 'controller.key' each."""
    if managed.parameters is None:
        return []
    followed = followed_options(type(managed.controller))
    kind = type(managed.controller).__name__

    def refusal(key: str, read_only: bool) -> str:
        if read_only:
            return 'it is read-only while the controller runs'
        if key.split('.')[0] not in followed:
            return f'{kind} does not follow it while it runs'
        return ''

    return [
        Option(
            key=f'{managed.name}.{key}',
            value=_plain(value),
            kind=_kind(hint, value),
            description=info.description,
            unit=info.unit,
            minimum=info.minimum if math.isfinite(info.minimum) else None,
            maximum=info.maximum if math.isfinite(info.maximum) else None,
            choices=[_plain(choice) for choice in info.choices],
            refusal=refusal(key, read_only),
        )
        for key, value, hint, info, read_only in _walk(managed.parameters, '', False)
    ]


Leaf = tuple[str, Any, Any, ParameterInfo, bool]


def _walk(parameters: Any, prefix: str, read_only: bool) -> Iterator[Leaf]:
    """Leaves of nested options: key, value, type, what it was declared with, read-only."""
    hints = typing.get_type_hints(type(parameters))
    for field in dataclasses.fields(parameters):
        info = parameter_info(field)
        value, key = getattr(parameters, field.name), f'{prefix}{field.name}'
        fixed = read_only or info.read_only
        if dataclasses.is_dataclass(value):
            yield from _walk(value, f'{key}.', fixed)
        elif isinstance(value, dict) and value and all(map(_is_section, value.values())):
            for name, part in value.items():
                yield from _walk(part, f'{key}.{name}.', fixed)
        else:
            yield key, value, hints[field.name], info, fixed


def _is_section(value: Any) -> bool:
    return dataclasses.is_dataclass(value)


def _kind(hint: Any, value: Any) -> str:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        hint = type(value)
    if isinstance(hint, type) and issubclass(hint, (str, Path)):
        return 'text'
    return KINDS.get(hint, 'yaml')


def _plain(value: Any) -> Any:
    """Value in what JSON has."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if value is None or type(value) in (bool, int, float, str):
        return value
    return str(value)


def changed_options(managed: ManagedController, key: str, value: Any) -> dict[str, Any]:
    """All options of a controller, one of them changed.

    Args:
        managed: the controller.
        key: key of the option, without the controller's name.
        value: its new value.

    Raises:
        CnoidControlError: the options were given as text that is no map.
    """
    given = managed.options
    if isinstance(given, str):
        try:
            given = parse_option_string(given)
        except ValueError as error:
            raise CnoidControlError(f'{managed.name}: {error}') from error
    options = _copy(given)
    part = options
    *sections, last = key.split('.')
    for section in sections:
        inner = part.get(section)
        part[section] = part = dict(inner) if isinstance(inner, Mapping) else {}
    part[last] = value
    return options


def _copy(value: Any) -> Any:
    return {k: _copy(v) for k, v in value.items()} if isinstance(value, Mapping) else value
