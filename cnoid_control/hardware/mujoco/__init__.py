"""Embedded physics with MuJoCo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cnoid_control.body import Body
from cnoid_control.hardware.hardware import Hardware
from cnoid_control.hardware.mujoco.parameters import (
    MujocoParameters,
    ObjectParameters,
    SceneParameters,
)
from cnoid_control.hardware.registry import HardwareKind
from cnoid_control.lazy import lazy_names

if TYPE_CHECKING:
    from cnoid_control.hardware.mujoco.hardware import MujocoHardware

__all__ = ['MUJOCO', 'MujocoHardware', 'MujocoParameters', 'ObjectParameters', 'SceneParameters']


def _create(
    body: Body, parameters: MujocoParameters, time_step: float, devices: Mapping[str, str]
) -> Hardware:
    from cnoid_control.hardware.mujoco.hardware import MujocoHardware

    return MujocoHardware(body, parameters, time_step)


MUJOCO = HardwareKind(
    'physics in this process',
    MujocoParameters,
    _create,
    lambda device: bool(device.measured_fields),
)

# MuJoCo itself is imported only where it is used.
__getattr__ = lazy_names(__name__, {'MujocoHardware': 'hardware'})
