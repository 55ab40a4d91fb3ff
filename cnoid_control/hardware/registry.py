"""The kinds of hardware by name; each is imported only when it is used."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cnoid_control.body import Body
from cnoid_control.hardware.exceptions import UnknownHardware
from cnoid_control.hardware.hardware import Hardware


@dataclass(frozen=True)
class HardwareKind:
    """Where a kind of hardware is found.

    Attributes:
        description: one line on what it is.
        hardware: `module:Class`; called with body, parameters and time step.
        parameters: `module:Class` of the dataclass of its options; the module is light to import.
        observable: classes of devices that it can measure for a mere onlooker at little cost.
        simulated: whether its time is its own; else it goes with the clock on the wall.
    """

    description: str
    hardware: str
    parameters: str
    observable: tuple[str, ...] = ()
    simulated: bool = True


KINDS = {
    'mujoco': HardwareKind(
        'physics in this process',
        'cnoid_control.hardware.mujoco.hardware:MujocoHardware',
        'cnoid_control.hardware.mujoco.parameters:MujocoParameters',
        ('ForceSensor', 'RateGyroSensor', 'AccelerationSensor', 'Imu'),
    ),
    'kinematic': HardwareKind(
        'an ideal robot that reaches its targets at once',
        'cnoid_control.hardware.kinematic:KinematicHardware',
        'cnoid_control.hardware.kinematic:KinematicParameters',
        ('RateGyroSensor', 'AccelerationSensor', 'Imu'),
    ),
    'ros2_control': HardwareKind(
        'a robot behind ros2_control, through ROS 2 topics',
        'cnoid_control.ros.robot.standalone:StandaloneHardware',
        'cnoid_control.ros.robot.parameters:Ros2ControlParameters',
        simulated=False,
    ),
    'replay': HardwareKind(
        'a recorded run, which goes as it went',
        'cnoid_control.hardware.replay:ReplayHardware',
        'cnoid_control.hardware.replay:ReplayParameters',
    ),
}


def hardware_names() -> list[str]:
    """Names of the kinds."""
    return list(KINDS)


def hardware_parameters(name: str) -> type:
    """Dataclass of the options of a kind.

    Raises:
        UnknownHardware: there is no such kind.
    """
    return _load(_kind(name).parameters)


def create_hardware(
    name: str,
    body: Body,
    parameters: Any,
    time_step: float,
    devices: Mapping[str, str] | None = None,
) -> Hardware:
    """Make the hardware on which controllers will run.

    Args:
        name: the kind.
        body: the robot, where and as it starts.
        parameters: options, an instance of `hardware_parameters(name)`.
        time_step: period of a tick [s].
        devices: ROS topics of the devices by name, for a robot behind topics.

    Raises:
        UnknownHardware: there is no such kind.
        HardwareError: it cannot be made with these options.
    """
    kind = _kind(name)
    if kind.simulated:
        return _load(kind.hardware)(body, parameters, time_step)
    return _load(kind.hardware)(body, parameters, time_step, dict(devices or {}))


def observable_devices(name: str, body: Body) -> list[str]:
    """Names of the devices that a kind of hardware can measure for a mere onlooker.

    Raises:
        UnknownHardware: there is no such kind.
    """
    classes = _kind(name).observable
    return [device.name for device in body.devices if type(device).__name__ in classes]


def _kind(name: str) -> HardwareKind:
    if name not in KINDS:
        raise UnknownHardware(name, KINDS)
    return KINDS[name]


def _load(path: str) -> Any:
    module, name = path.split(':')
    return getattr(importlib.import_module(module), name)
