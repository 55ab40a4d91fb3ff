"""Poses, twists and wrenches of links, and values of devices, in command messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cnoid_control.body import Link, StateFlag
from cnoid_control.controllers.composition.base_controller import Message
from cnoid_control.controllers.composition.exceptions import CompositionError
from cnoid_control.controllers.sensor_reading import find_device
from cnoid_control.exceptions import choices
from cnoid_control.plugin import ControllerIO

# What a link can be commanded by, by the first part of the message item.
KINDS = {
    'pose': StateFlag.LINK_POSITION,
    'twist': StateFlag.LINK_TWIST,
    'wrench': StateFlag.LINK_EXT_WRENCH,
}
SHAPES = {'pose': (4, 4), 'twist': (6,), 'wrench': (6,)}
LINK_CHANNELS = StateFlag.LINK_POSITION | StateFlag.LINK_TWIST | StateFlag.LINK_EXT_WRENCH
WRENCH, DEVICE = 'wrench/', 'device/'


def link_item(kind: str, link: str) -> str:
    """Message item of what a link is commanded by."""
    return f'{kind}/{link}'


def read_command(kind: str, link: Link) -> np.ndarray:
    """What a controller has written to a link."""
    if kind == 'pose':
        return np.array(link.T)
    if kind == 'twist':
        return np.concatenate([link.v, link.w])
    return np.array(link.F_ext)


def enable_link(io: ControllerIO, link: str, flags: StateFlag) -> None:
    """Have a link of the composition's robot commanded by a pose, a twist or a wrench too."""
    target = io.body.link(link)
    io.enable_output(target, target.actuation_mode | flags)


class LinkCommands:
    """Writes what messages say of links and devices.

    - `pose/LINK`: pose in the world, shape (4, 4); `twist/LINK`: linear and angular velocity,
      world axes, shape (6,). The last one stays in force.
    - `wrench/LINK`: force and torque about the world's origin, world axes, shape (6,). It acts in
      the tick that commands it; wrenches of several parts add up.
    - `device/NAME`: values by the names of the device's fields, `{'on': False}`.
    """

    def __init__(self, io: ControllerIO, links: Mapping[str, str]) -> None:
        """Enable what the options name, besides what the parts have enabled.

        Args:
            io: io of the composition.
            links: what links are commanded by ('pose', 'twist' or 'wrench'), by link name.

        Raises:
            CompositionError: there is no such link, or nothing of that kind to command it by.
        """
        self._body = io.body
        names = [link.name for link in io.body.links]
        for name, kind in links.items():
            if name not in names:
                raise CompositionError(f'links.{name}: unknown link; {choices(names)}')
            if kind not in KINDS:
                raise CompositionError(f'links.{name}: unknown kind {kind!r}; {choices(KINDS)}')
            enable_link(io, name, KINDS[kind])
        self._links: dict[str, tuple[str, Link]] = {
            link_item(kind, name): (kind, io.body.link(name))
            for name in sorted(io.outputs)
            for kind, flag in KINDS.items()
            if io.body.link(name).actuation_mode & flag
        }
        self._wrenched = [link for kind, link in self._links.values() if kind == 'wrench']
        # Poses and twists that stay in force: what is measured may stand in their place.
        self._last = {
            item: read_command(kind, link)
            for item, (kind, link) in self._links.items()
            if kind != 'wrench'
        }

    def take(self, message: Message | None) -> None:
        """Take a message over.

        Raises:
            CompositionError: an item names a link that nobody enabled or a device or field that
                does not exist, or has the wrong shape.
        """
        for link in self._wrenched:
            link.F_ext[:] = 0.0
        for item, value in (message or {}).items():
            kind = item.split('/', 1)[0]
            if item.startswith(DEVICE):
                self._set_device(item, value)
            elif kind in KINDS and '/' in item:
                self._set_link(item, value)
        for item, value in self._last.items():
            kind, link = self._links[item]
            if kind == 'pose':
                link.T = value
            else:
                link.v, link.w = value[:3], value[3:]

    def _set_link(self, item: str, value: Any) -> None:
        if item not in self._links:
            there = choices(self._links)
            raise CompositionError(
                f'{item} is commanded, and the output is not enabled; {there}; see option `links`'
            )
        kind, link = self._links[item]
        array = np.asarray(value, dtype=float)
        if array.shape != SHAPES[kind]:
            raise CompositionError(f'{item} is {value!r}; shape {SHAPES[kind]} was expected')
        if kind == 'wrench':
            link.F_ext[:] = array
        else:
            self._last[item] = array.copy()

    def _set_device(self, item: str, value: Any) -> None:
        device = find_device(self._body, item.removeprefix(DEVICE))
        if not isinstance(value, Mapping):
            raise CompositionError(f'{item} is {value!r}; a map of its fields was expected')
        for name, given in value.items():
            if name.startswith('_') or not hasattr(device, name):
                known = [key for key in vars(device) if not key.startswith('_')]
                raise CompositionError(f'{item} has no field {name!r}; {choices(known)}')
            setattr(device, name, given)
        device.notify_state_change()
