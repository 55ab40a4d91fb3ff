"""Devices that a controller changes in a simulator."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs MuJoCo')

from cnoid_control.body import Body, JointType, RangeSensor
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.body.devices import GenericDevice, PointLight
from cnoid_control.hardware.exceptions import HardwareError
from cnoid_control.hardware.hardware import Hardware, IORequest
from cnoid_control.hardware.kinematic import KinematicHardware, KinematicParameters
from cnoid_control.hardware.mujoco import MujocoHardware, MujocoParameters


def robot() -> Body:
    """A root with a lamp, a scanner and a device of a kind that nothing simulates."""
    devices = [PointLight('lamp'), RangeSensor('scanner', yaw_step=0.5), GenericDevice('valve')]
    links = [LinkDescription('root', joint_type=JointType.FIXED)]
    return Body(BodyDescription('robot', links, [('root', device) for device in devices]))


@pytest.fixture(params=['mujoco', 'kinematic'])
def hardware(request) -> Hardware:
    """Return the robot in each simulator."""
    if request.param == 'mujoco':
        return MujocoHardware(robot(), MujocoParameters(), 0.01)
    return KinematicHardware(robot(), KinematicParameters(), 0.01)


def test_outputs_that_nothing_obeys_are_refused_by_name(hardware):
    """A lamp can be commanded, a device of an unknown kind and a missing one cannot."""
    hardware.open(IORequest(device_outputs={'lamp'}))
    with pytest.raises(HardwareError, match='valve'):
        hardware.open(IORequest(device_outputs={'valve'}))
    with pytest.raises(HardwareError, match=r"unknown device 'horn'; .*lamp"):
        hardware.open(IORequest(device_outputs={'horn'}))


def test_a_scanner_takes_another_grid_while_running(hardware):
    """The optics that a controller changes are those of the next look."""
    scanner = hardware.body.find_device(RangeSensor, 'scanner')
    scanner.frame_rate = 0.0
    hardware.open(IORequest(devices={'scanner'}))
    hardware.read()
    assert scanner.range_data.shape == (np.floor(scanner.yaw_range / 0.5) + 1,)
    scanner.yaw_step = 0.1
    scanner.notify_state_change()
    hardware.read()
    assert scanner.range_data.shape == (scanner.num_yaw_samples,)
    assert scanner.num_yaw_samples > 20
