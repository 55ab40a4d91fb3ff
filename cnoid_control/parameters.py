"""Options as dataclasses, for controllers and for every section of a configuration."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from cnoid_control.exceptions import CnoidControlError, choices

__all__ = [
    'TO_FILL_IN',
    'FileName',
    'ParameterChange',
    'ParameterError',
    'ParameterInfo',
    'PluginName',
    'field_types',
    'locate',
    'not_allowed',
    'parameter',
    'parameter_changes',
    'parameter_info',
    'parse_parameters',
    'refuse_other_names',
    'unknown_option',
    'wrong_type',
]


# What a value begins with that somebody has to fill in; the rest says what is wanted.
TO_FILL_IN = '???'


class ParameterError(CnoidControlError):
    """An option cannot be used as it was given."""

    def __init__(self, key: str, message: str) -> None:
        """Name the full key of the option and what is wrong with it."""
        self.key = key
        self.reason = message
        super().__init__(f'{key}: {message}')


def unknown_option(key: str, known: Iterable[str]) -> ParameterError:
    """The error about an option that does not exist."""
    return ParameterError(key, f'unknown option; {choices(known)}')


def wrong_type(key: str, value: object, expected: str) -> ParameterError:
    """The error about an option of the wrong type."""
    return ParameterError(key, f'{expected} expected, got {value!r} ({type(value).__name__})')


def not_allowed(key: str, value: object, allowed: str) -> ParameterError:
    """The error about an option outside its range or not among its choices."""
    return ParameterError(key, f'{value!r} is not allowed; {allowed}')


class FileName(str):
    """Type of an option that is a file, or the name of one that the package shares.

    A file in the folder of the configuration is absolute once parsed; what is not there stays as
    it is, a name that `share.shared_file` knows or refuses. An option that is a file in any case
    has the type `pathlib.Path`, and is always absolute once parsed.
    """


class PluginName(str):
    """Type of an option that names Python code: `name`, `package.module:Object`, `file.py:Object`.

    A relative file starts at the folder of the configuration and is absolute once parsed.
    """


def locate(value: str, folder: Path | None = None) -> str:
    """Absolute path that a configuration names; an empty text and an address (`://`) stay.

    Args:
        value: what the configuration says.
        folder: folder of the configuration; the working folder where None.
    """
    if not value or '://' in value:
        return value
    return str(((folder or Path.cwd()) / Path(value).expanduser()).absolute())


def locate_file(value: str, folder: Path | None = None) -> str:
    """Absolute path of a file that is there, else the name as it is; see `FileName`."""
    path = locate(value, folder)
    return path if Path(path).is_file() else value


def locate_plugin(value: str, folder: Path | None = None) -> str:
    """Name of Python code whose file, if it is in one, is absolute; see `PluginName`."""
    source, colon, name = value.rpartition(':')
    return f'{locate(source, folder)}{colon}{name}' if source.endswith('.py') else value


# How each type of path is made absolute.
PATHS: dict[type, Callable[[str, Path | None], str]] = {
    Path: locate,
    FileName: locate_file,
    PluginName: locate_plugin,
}

ParametersT = TypeVar('ParametersT')


@dataclass(frozen=True)
class ParameterInfo:
    """What is known of an option besides its type and default.

    Attributes:
        description: one line on what it does.
        unit: unit of the value, may be empty.
        minimum, maximum: inclusive range of numbers; infinite for none.
        choices: the values allowed; empty for any.
        read_only: whether it is refused to change it once the controller runs.
    """

    description: str = ''
    unit: str = ''
    minimum: float = -math.inf
    maximum: float = math.inf
    choices: tuple[Any, ...] = ()
    read_only: bool = False


def parameter(
    default: Any = MISSING,
    description: str = '',
    *,
    unit: str = '',
    minimum: float = -math.inf,
    maximum: float = math.inf,
    choices: Sequence[Any] = (),
    read_only: bool = False,
) -> Any:
    """Declare an option; without a default it must be given."""
    info = ParameterInfo(description, unit, minimum, maximum, tuple(choices), read_only)
    metadata = {'parameter': info}
    if isinstance(default, (list, dict)):
        return dataclasses.field(default_factory=lambda: type(default)(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def parameter_info(field: dataclasses.Field[Any]) -> ParameterInfo:
    """What a dataclass field was declared with."""
    return field.metadata.get('parameter', ParameterInfo())


@lru_cache(maxsize=256)
def field_types(schema: type) -> Mapping[str, Any]:
    """Types of a dataclass's fields by name; found once, for each is compiled from its text."""
    return MappingProxyType(typing.get_type_hints(schema))


def parse_parameters(
    schema: type[ParametersT],
    values: Mapping[str, Any],
    prefix: str = '',
    folder: Path | None = None,
) -> ParametersT:
    """Check values against a dataclass and make an instance of it.

    Args:
        schema: the dataclass.
        values: option values by name, nested mappings for nested options.
        prefix: key of the whole, for messages ('pd.gains').
        folder: folder that relative paths start from; the working folder where None.

    Raises:
        ParameterError: a value is unknown, missing, of the wrong type or out of range; nothing
            is kept.
    """
    if not isinstance(values, Mapping):
        raise wrong_type(prefix, values, 'a map of options')
    _refuse_unfilled(values, prefix)
    fields = {field.name: field for field in dataclasses.fields(schema)}  # type: ignore[arg-type]
    for key in values:
        if key not in fields:
            raise unknown_option(_join(prefix, str(key)), fields)
    types_of_fields = field_types(schema)  # type: ignore[arg-type]
    parsed = {}
    for name, field in fields.items():
        key = _join(prefix, name)
        if name in values:
            parsed[name] = _parse_value(
                types_of_fields[name], values[name], key, parameter_info(field), folder
            )
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ParameterError(key, 'is missing')
        elif isinstance(field.default, Path) and field.default != Path():
            parsed[name] = Path(locate(str(field.default), folder))
    return schema(**parsed)


def _refuse_unfilled(values: Mapping[str, Any], prefix: str) -> None:
    """Name everything that somebody was to fill in and has not."""
    left = list(_unfilled(values, prefix))
    if left:
        texts = [
            f'is still to be filled in{wanted and ":"} {wanted}'.rstrip() for _, wanted in left
        ]
        more = ''.join(
            f'\n{key}: {text}' for (key, _), text in zip(left[1:], texts[1:], strict=True)
        )
        raise ParameterError(left[0][0], texts[0] + more)


def _unfilled(value: Any, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _unfilled(inner, _join(key, str(name)))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _unfilled(inner, f'{key}[{i}]')
    elif isinstance(value, str) and value.startswith(TO_FILL_IN):
        yield key, value.removeprefix(TO_FILL_IN).strip()


def _parse_value(kind: Any, value: Any, key: str, info: ParameterInfo, folder: Path | None) -> Any:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return _parse_union(typing.get_args(kind), value, key, info, folder)
    if origin is dict:
        element = typing.get_args(kind)[1]
        if not isinstance(value, Mapping):
            raise wrong_type(key, value, 'a map by name')
        if element in (bool, int, float, str):
            value = _flat(value)
        return {
            str(name): _parse_value(element, item, _join(key, str(name)), info, folder)
            for name, item in value.items()
        }
    if origin is list:
        element = typing.get_args(kind)[0]
        if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, '__iter__'):
            raise wrong_type(key, value, f'a list of {element.__name__}')
        return [
            _parse_value(element, item, f'{key}[{i}]', info, folder)
            for i, item in enumerate(value)
        ]
    if origin is tuple:
        return _parse_tuple(typing.get_args(kind), value, key, info, folder)
    if origin is typing.Literal:
        allowed = typing.get_args(kind)
        # By type, too: True is equal to 1.
        if not any(value == one and type(value) is type(one) for one in allowed):
            raise not_allowed(key, value, choices(allowed))
        return value
    if dataclasses.is_dataclass(kind):
        return parse_parameters(typing.cast(type, kind), value, key, folder)
    return _check_scalar(kind, value, key, info, folder)


def _parse_tuple(
    kinds: tuple[Any, ...], value: Any, key: str, info: ParameterInfo, folder: Path | None
) -> tuple[Any, ...]:
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, '__iter__'):
        raise wrong_type(key, value, 'a list')
    items = list(value)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = (kinds[0],) * len(items)
    if len(items) != len(kinds):
        raise not_allowed(key, value, f'it needs {len(kinds)} values')
    return tuple(
        _parse_value(kind, item, f'{key}[{i}]', info, folder)
        for i, (kind, item) in enumerate(zip(kinds, items, strict=True))
    )


def _flat(values: Mapping[Any, Any], prefix: str = '') -> dict[str, Any]:
    """Map without maps in it: a dot in a name is taken for nesting by files and ROS parameters."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        key = _join(prefix, str(name))
        flat |= _flat(value, key) if isinstance(value, Mapping) and value else {key: value}
    return flat


def _parse_union(
    kinds: tuple[Any, ...], value: Any, key: str, info: ParameterInfo, folder: Path | None
) -> Any:
    if value is None and type(None) in kinds:
        return None
    listed = not isinstance(value, (str, bytes, Mapping)) and hasattr(value, '__iter__')
    for kind in kinds:
        wants = typing.get_origin(kind)
        if (wants is list and listed) or (wants is dict and isinstance(value, Mapping)):
            return _parse_value(kind, value, key, info, folder)
    scalars = [kind for kind in kinds if isinstance(kind, type) and kind is not type(None)]
    if scalars and not listed and not isinstance(value, Mapping):
        return _parse_value(scalars[0], value, key, info, folder)
    raise wrong_type(key, value, ' or '.join(str(kind) for kind in kinds))


def _check_scalar(
    kind: Any, value: Any, key: str, info: ParameterInfo, folder: Path | None
) -> Any:
    if kind is Any:
        return value
    if kind in PATHS:
        if not isinstance(value, (str, Path)):
            raise wrong_type(key, value, 'a path' if kind is not PluginName else 'a name')
        return kind(PATHS[kind](str(value), folder))
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise wrong_type(key, value, kind.__name__)
    if info.choices and value not in info.choices:
        raise not_allowed(key, value, choices(info.choices))
    # Written so that NaN, which compares false with everything, is refused too.
    if kind in (int, float) and not info.minimum <= value <= info.maximum:
        raise not_allowed(key, value, f'it must lie in [{info.minimum}, {info.maximum}]')
    return value


@dataclass(frozen=True)
class ParameterChange:
    """One option that differs between two sets of options.

    Attributes:
        key: full key of the option ('hand.gain'); of a map by name, the key of the entry that
            was added or removed.
        old, new: both values; `MISSING` where an entry was added or removed.
        read_only: whether the option, or one that contains it, was declared read-only.
    """

    key: str
    old: Any
    new: Any
    read_only: bool


def parameter_changes(old: Any, new: Any, prefix: str = '') -> list[ParameterChange]:
    """Options that differ between two instances of one dataclass, down to single values.

    Args:
        old: the options as they were.
        new: the options as they are to be.
        prefix: key of the whole.
    """
    return list(_differences(old, new, prefix, False))


def refuse_other_names(key: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Refuse to add or remove entries of a map by name while running.

    Args:
        key: key of the map, for messages.
        old: the map in force.
        new: what it is to be.

    Raises:
        ParameterError: an entry was added or removed.
    """
    for name in dict.fromkeys([*old, *new]):
        if (name in old) != (name in new):
            word = 'added' if name in new else 'removed'
            raise ParameterError(
                _join(key, name), f'it cannot be {word} while the controller runs'
            )


def _differences(old: Any, new: Any, key: str, read_only: bool) -> Iterator[ParameterChange]:
    if dataclasses.is_dataclass(old) and type(old) is type(new):
        for field in dataclasses.fields(old):
            fixed = read_only or parameter_info(field).read_only
            values = getattr(old, field.name), getattr(new, field.name)
            yield from _differences(*values, _join(key, field.name), fixed)
    elif isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            pair = old.get(name, MISSING), new.get(name, MISSING)
            yield from _differences(*pair, _join(key, str(name)), read_only)
    # The default of an argument may be anything, and the same one is no change.
    elif old is not new and old != new:
        yield ParameterChange(key, old, new, read_only)


def _join(prefix: str, name: str) -> str:
    return f'{prefix}.{name}' if prefix else name
