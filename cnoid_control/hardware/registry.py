"""Kinds of hardware by name, from the entry points of all installed packages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cnoid_control.body import Body, Device
from cnoid_control.entry_points import HARDWARE, EntryPoint, entry_points_by_name
from cnoid_control.exceptions import choices, describe
from cnoid_control.hardware.exceptions import HardwareError
from cnoid_control.hardware.hardware import Hardware
from cnoid_control.messages.devices import require_devices_of

DEFAULT = 'mujoco'


@dataclass(frozen=True)
class HardwareKind:
    """A kind of hardware. An entry point of the group `cnoid_control.hardware` names one.

    Its module is imported whenever a configuration has options for it, so what is slow to import
    or may be missing is imported in `create`.

    Attributes:
        description: one line for `cnoid_control list`.
        parameters: dataclass of its options.
        create: makes the hardware from the body, the options, the period of a tick [s] and the
            ROS topics of devices by name.
        observable: whether it measures a device at little cost even if no controller reads it:
            logs and plots ask for these.
        is_simulated: whether it has its own time; otherwise the wall clock's.
    """

    description: str
    parameters: type
    create: Callable[[Body, Any, float, Mapping[str, str]], Hardware]
    observable: Callable[[Device], bool] = lambda device: False
    is_simulated: bool = True


@lru_cache(maxsize=1)
def _entry_points() -> dict[str, EntryPoint]:
    return entry_points_by_name(HARDWARE)


def hardware_names() -> list[str]:
    """Names of the installed kinds, sorted; nothing is imported for it."""
    return list(_entry_points())


def hardware_kind(name: str) -> HardwareKind:
    """Installed kind of hardware by its name.

    Raises:
        HardwareError: there is none, or it cannot be imported.
    """
    point = _entry_points().get(name)
    if point is None:
        raise HardwareError(f'unknown hardware {name!r}; {choices(hardware_names())}')
    try:
        kind = point.load()
    except Exception as error:
        raise HardwareError(f'hardware {name!r} cannot be loaded: {describe(error)}') from error
    if not isinstance(kind, HardwareKind):
        raise HardwareError(f'hardware {name!r}: {point.value} is not a HardwareKind: {kind!r}')
    return kind


def create_hardware(
    name: str,
    body: Body,
    parameters: Any,
    time_step: float,
    devices: Mapping[str, str] | None = None,
) -> Hardware:
    """Make the hardware on which controllers will run.

    Args:
        name: name of the kind.
        body: the robot in its initial state.
        parameters: options, an instance of the kind's `parameters`.
        time_step: period of a tick [s].
        devices: ROS topics of the devices by name, for a robot behind topics.

    Raises:
        HardwareError: there is no such kind, or it cannot be made with these options.
        ParameterError: a topic is for a device that the robot does not have.
    """
    require_devices_of(devices or {}, body.devices)
    return hardware_kind(name).create(body, parameters, time_step, devices or {})


def observable_devices(name: str, body: Body) -> list[str]:
    """Names of the devices that a kind of hardware measures at little cost.

    Raises:
        HardwareError: there is no such kind.
    """
    kind = hardware_kind(name)
    return [device.name for device in body.devices if kind.observable(device)]
