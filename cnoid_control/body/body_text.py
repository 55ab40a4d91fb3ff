"""A robot model as text, whatever format it was read from: exact, and without its files."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from cnoid_control.body import description as descriptions
from cnoid_control.body.body import Body
from cnoid_control.body.description import BodyDescription, LinkDescription, Mesh
from cnoid_control.body.devices import vision
from cnoid_control.body.devices.base import Device
from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.signal import Signal
from cnoid_control.exceptions import choices

# Key of what is no plain map: the name of a type, or one of the two below.
KIND = '!'
ARRAY, TUPLE, MAP = 'array', 'tuple', 'map'
# What belongs to the body that a device is on, not to the device.
NOT_STORED = ('link', 'index', 'state_changed')


def _types() -> dict[str, type]:
    """Types that a model is made of, by name; nothing else is ever made from a text."""
    known: dict[str, type] = {}
    for module in (descriptions, vision):
        for name, kind in vars(module).items():
            if isinstance(kind, type) and (
                dataclasses.is_dataclass(kind) or issubclass(kind, Enum)
            ):
                known[name] = kind
    return known | Device.types


def body_to_text(body: Body) -> str:
    """Model, name, joint groups and start posture of a body as JSON.

    Raises:
        ModelError: the model holds something that has no text.
    """
    groups = {name: group.joint_names for name, group in body.joint_groups.items()}
    values = {
        'name': body.name,
        'groups': {name: names for name, names in groups.items() if name != 'all'},
        'start_posture': body.start_posture.tolist(),
        'description': _plain(body.description),
    }
    return json.dumps(values)


def body_from_text(text: str, files: Mapping[str, str] | None = None) -> Body:
    """Body of what `body_to_text` wrote, in the posture of the model.

    Args:
        text: the text.
        files: where mesh files are now, by the path that they had; '' leaves the shape out.

    Raises:
        ModelError: it is no such text.
    """
    try:
        stored = json.loads(text)
        description = _built(stored['description'])
        if not isinstance(description, BodyDescription):
            raise ModelError('it describes no robot')
        for link in description.links:
            _move_meshes(link, files or {})
        body = Body(description, stored['name'])
        for name, joints in stored['groups'].items():
            body.add_joint_group(name, joints)
        body.start_posture = np.array(stored['start_posture'])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f'a stored model cannot be read: {error!r}') from error
    return body


def mesh_files(description: BodyDescription) -> list[str]:
    """Paths of the mesh files of a model, each once."""
    shapes = [shape for link in description.links for shape in link.shapes]
    return list(
        dict.fromkeys(
            shape.geometry.path
            for shape in shapes
            if isinstance(shape.geometry, Mesh) and shape.geometry.path
        )
    )


def _move_meshes(link: LinkDescription, files: Mapping[str, str]) -> None:
    kept = []
    for shape in link.shapes:
        solid = shape.geometry
        if isinstance(solid, Mesh) and solid.path in files:
            if not files[solid.path]:
                continue
            shape.geometry = dataclasses.replace(solid, path=files[solid.path])
        kept.append(shape)
    link.shapes = kept


def _plain(value: Any) -> Any:
    """Value in what JSON has; maps with a key `!` say what they stand for."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, Enum):
        return {KIND: type(value).__name__, 'value': value.value}
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return {KIND: ARRAY, 'type': value.dtype.str, 'shape': value.shape, 'data': _list(value)}
    if isinstance(value, tuple):
        return {KIND: TUPLE, 'items': [_plain(item) for item in value]}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value) and KIND not in value:
            return {key: _plain(item) for key, item in value.items()}
        return {KIND: MAP, 'items': [[_plain(k), _plain(v)] for k, v in value.items()]}
    if isinstance(value, Device):
        kind = getattr(value, 'watched_type', type(value))
        own = {name: part for name, part in vars(value).items() if name not in NOT_STORED}
        return {KIND: kind.__name__, **{name: _plain(part) for name, part in own.items()}}
    if dataclasses.is_dataclass(value) and type(value).__name__ in _types():
        parts = {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
        return {KIND: type(value).__name__, **{name: _plain(p) for name, p in parts.items()}}
    raise ModelError(f'{value!r} of a model has no text: it is a {type(value).__name__}')


def _list(array: np.ndarray) -> list[Any]:
    numbers: list[Any] = array.ravel().tolist()
    return numbers


def _built(value: Any) -> Any:
    if isinstance(value, list):
        return [_built(item) for item in value]
    if not isinstance(value, dict):
        return value
    name = value.get(KIND)
    if name is None:
        return {key: _built(item) for key, item in value.items()}
    if name == ARRAY:
        return np.array(value['data'], dtype=np.dtype(value['type'])).reshape(value['shape'])
    if name == TUPLE:
        return tuple(_built(item) for item in value['items'])
    if name == MAP:
        return {_built(key): _built(item) for key, item in value['items']}
    known = _types()
    if name not in known:
        raise ModelError(f'a stored model has a {name!r}, which is unknown here; {choices(known)}')
    kind = known[name]
    if issubclass(kind, Enum):
        return kind(value['value'])
    parts = {key: _built(item) for key, item in value.items() if key != KIND}
    if issubclass(kind, Device):
        device = kind.__new__(kind)
        vars(device).update(parts, link=None, index=-1, state_changed=Signal())
        return device
    return kind(**parts)
