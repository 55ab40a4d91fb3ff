"""Kinds of hardware are found by entry point; what is wrong with one is named."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from cnoid_control.entry_points import HARDWARE
from cnoid_control.hardware import registry
from cnoid_control.hardware.exceptions import HardwareError
from cnoid_control.hardware.kinematic import KinematicHardware
from cnoid_control.hardware.registry import (
    HardwareKind,
    create_hardware,
    hardware_kind,
    hardware_names,
    observable_devices,
)
from cnoid_control.parameters import ParameterError
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.defaults import make_robot


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch):
    """Return a function that installs an entry point `mine`."""

    def put(value: str) -> None:
        points = {'mine': EntryPoint('mine', value, HARDWARE)}
        monkeypatch.setattr(registry, '_entry_points', lambda: points)

    return put


def test_the_shipped_kinds_are_installed() -> None:
    """Each of them is a kind with a line of description and a dataclass of options."""
    assert hardware_names() == ['kinematic', 'mujoco', 'replay', 'ros2_control']
    for name in hardware_names():
        kind = hardware_kind(name)
        assert isinstance(kind, HardwareKind)
        assert kind.description
        assert hasattr(kind.parameters, '__dataclass_fields__')
        assert kind.is_simulated == (name != 'ros2_control')


def test_hardware_is_made_by_its_kind() -> None:
    """The name decides the class, and which devices a log asks for."""
    config = load_config('sr1_pd')
    body = make_robot(config.parameters.robot, config.folder)
    parameters = hardware_kind('kinematic').parameters()
    hardware = create_hardware('kinematic', body, parameters, 0.001)
    assert isinstance(hardware, KinematicHardware)
    assert 'WaistIMU' in observable_devices('kinematic', body)
    assert 'LeftAnkleForceSensor' not in observable_devices('kinematic', body)
    assert 'LeftAnkleForceSensor' in observable_devices('mujoco', body)


def test_an_unknown_kind_is_refused() -> None:
    """The message lists those that exist."""
    with pytest.raises(HardwareError, match="unknown hardware 'gazebo'; choose from: kinematic"):
        hardware_kind('gazebo')


@pytest.mark.parametrize(
    ('value', 'reason'),
    [
        ('no_such_module:KIND', "hardware 'mine' cannot be loaded: ModuleNotFoundError"),
        ('cnoid_control.hardware.registry:DEFAULT', 'is not a HardwareKind'),
    ],
)
def test_a_broken_entry_point_is_named(install, value: str, reason: str) -> None:
    """Neither a module that is missing nor something else than a kind gets through."""
    install(value)
    with pytest.raises(HardwareError, match=reason):
        hardware_kind('mine')


def test_a_topic_for_a_device_that_is_not_there_is_refused() -> None:
    """On every hardware; the message names it and those that exist."""
    config = load_config('sr1_pd')
    body = make_robot(config.parameters.robot, config.folder)
    parameters = hardware_kind('kinematic').parameters()
    with pytest.raises(ParameterError, match=r'devices\.WaistIMUU: unknown option; .*WaistIMU'):
        create_hardware('kinematic', body, parameters, 0.001, {'WaistIMUU': '/imu'})
    create_hardware('kinematic', body, parameters, 0.001, {'LeftCamera': '/left/image'})
