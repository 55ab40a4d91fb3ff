"""Commands to devices: a light switched, a camera turned off.

A std_msgs/Float64MultiArray whose dimensions name the fields: one label and size per field, the
numbers of all fields one after the other. What a message leaves out stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cnoid_control.body.devices.base import Device
from cnoid_control.exceptions import choices
from cnoid_control.messages.devices import topic_name
from cnoid_control.messages.exceptions import MalformedMessage
from cnoid_control.messages.layouts import NUMBERS, MessageLayout


def command_topic(device: Device) -> str:
    """Relative topic on which a device is commanded; no other characters than ROS allows."""
    return f'{topic_name(device.name)}/command'


def command_values(device: Device) -> np.ndarray:
    """Numbers of all fields that a controller can change, one after the other."""
    parts = [np.ravel(getattr(device, name)) for name in device.command_fields]
    return np.concatenate(parts).astype(float)


def encode_device_command(device: Device) -> bytes:
    """Message with everything that a controller can change of a device."""
    sizes = {name: int(np.size(getattr(device, name))) for name in device.command_fields}
    dimensions = [{'label': name, 'size': size, 'stride': size} for name, size in sizes.items()]
    values: dict[str, Any] = {'layout.dim': dimensions, 'data': command_values(device)}
    return MessageLayout(NUMBERS, values).template


def apply_device_command(device: Device, message: Any) -> None:
    """Change a device as a message says, and say so.

    Raises:
        MalformedMessage: the device has no such field, the numbers are not those of the fields,
            or the device cannot be like that; nothing has changed then.
    """
    data = np.array(message.data, dtype=float)
    given: dict[str, np.ndarray] = {}
    start = 0
    for dimension in message.layout.dim:
        name = dimension.label
        if name in given:
            raise MalformedMessage(f'{name!r} is given twice')
        if name not in device.command_fields:
            raise MalformedMessage(f'{name!r} cannot be changed; {choices(device.command_fields)}')
        size = np.size(getattr(device, name))
        given[name] = data[start : start + dimension.size]
        if dimension.size != size or len(given[name]) != size:
            raise MalformedMessage(f'{name!r} has {size} numbers, got {len(given[name])}')
        start += size
    if not given or start != len(data):
        raise MalformedMessage(f'{len(data)} numbers for the fields {", ".join(given) or "none"}')
    if not np.isfinite(data).all():
        raise MalformedMessage('a number is non-finite')
    before = {name: np.ravel(getattr(device, name)).copy() for name in given}
    _assign(device, given)
    problem = device.problem()
    if problem:
        _assign(device, before)
        raise MalformedMessage(problem)
    device.notify_state_change()


def _assign(device: Device, given: Mapping[str, np.ndarray]) -> None:
    for name, values in given.items():
        current = getattr(device, name)
        if isinstance(current, np.ndarray):
            current[...] = values.reshape(current.shape)
        else:
            setattr(device, name, type(current)(values[0]))
