"""Messages as text, so that a log can hold them and a replay can post them again."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from typing import Any, TypeVar

import numpy as np

from cnoid_control.plugin.messages import Message

MessageT = TypeVar('MessageT', bound=Message)


def message_to_text(message: Message) -> str:
    """JSON of what a message says; numbers keep their bits.

    Fields that are no data, such as the handle of a goal, are left out.
    """
    return json.dumps(_encode(message))


def message_from_text(kind: type[MessageT], text: str) -> MessageT:
    """Message of a kind that says what the text says; what was left out has its default.

    Raises:
        ValueError: the text is not that of such a message.
    """
    try:
        return _decode(kind, json.loads(text))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f'no {kind.__name__}: {text[:80]!r}') from error


def _is_data(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, (bool, int, float, str, tuple, list, dict, np.ndarray))
        or dataclasses.is_dataclass(value)
    )


def _encode(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        fields = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        return {name: _encode(part) for name, part in fields if _is_data(part)}
    if isinstance(value, np.ndarray):
        return {'shape': list(value.shape), 'data': value.reshape(-1).tolist()}
    if isinstance(value, (tuple, list)):
        return [_encode(part) for part in value]
    if isinstance(value, dict):
        return {str(key): _encode(part) for key, part in value.items()}
    return value


def _decode(kind: Any, value: Any) -> Any:
    origin = typing.get_origin(kind)
    arguments = typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        return _decode(next(one for one in arguments if one is not type(None)), value)
    if origin is tuple:
        return tuple(_decode(arguments[0], part) for part in value)
    if origin is list:
        return [_decode(arguments[0], part) for part in value]
    if origin is dict:
        return {key: _decode(arguments[1], part) for key, part in value.items()}
    if kind is np.ndarray:
        return np.array(value['data'], dtype=float).reshape(value['shape'])
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        parts = {name: _decode(hints[name], part) for name, part in value.items()}
        return typing.cast(type, kind)(**parts)
    return value
