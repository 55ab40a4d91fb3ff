"""Device states cross between the robot and a controller when somebody says they changed."""

from __future__ import annotations

import io

import numpy as np
import pytest

from cnoid_control import SimpleController
from cnoid_control.body import Body, Device, JointType
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.body.devices import ForceSensor, PointLight
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.io_transfer import DeviceTransfer
from cnoid_control.runtime.managed_controller import ManagedController


def body_with_devices() -> Body:
    """One link with a force sensor and a light."""
    root = LinkDescription('root', joint_type=JointType.FREE)
    devices: list[tuple[str, Device]] = [
        ('root', ForceSensor('force')),
        ('root', PointLight('light')),
    ]
    return Body(BodyDescription('lamp', [root], devices))


class Watching(SimpleController):
    """Enables what it is told to and notes what its devices emit."""

    def __init__(self, *enabled: str) -> None:
        self.enabled = enabled
        self.emitted: list[str] = []

    def initialize(self, io):
        self.body = io.body
        self.force, self.light = io.body.devices
        for device in io.body.devices:
            if device.name in self.enabled:
                io.enable_input(device)
            device.state_changed.connect(lambda changed: self.emitted.append(changed.name))
        return True

    def control(self):
        return True


def host_of(body: Body, *managed: ManagedController) -> ControllerHost:
    """Host that is ready for its first tick."""
    host = ControllerHost(managed, body, 0.01, io.StringIO())
    host.configure()
    host.initialize()
    host.start()
    return host


def test_sensor_state_crosses_when_it_was_changed():
    """Without a notification the controller keeps the last state."""
    body = body_with_devices()
    watching = Watching('force')
    host = host_of(body, ManagedController('a', watching))
    sensor = body.devices[0]
    sensor.F[:] = 1.0
    host.control(0, 0.0)
    np.testing.assert_array_equal(watching.force.F, np.zeros(6))
    sensor.notify_state_change()
    host.control(1, 0.0)
    np.testing.assert_array_equal(watching.force.F, np.ones(6))
    sensor.F[:] = 2.0
    np.testing.assert_array_equal(watching.force.F, np.ones(6))
    assert watching.emitted == ['force']


def test_sensor_that_is_not_enabled_stays_as_it_was():
    """Its state is the cleared one for ever."""
    body = body_with_devices()
    watching = Watching()
    host = host_of(body, ManagedController('a', watching))
    body.devices[0].F[:] = 1.0
    body.devices[0].notify_state_change()
    host.control(0, 0.0)
    np.testing.assert_array_equal(watching.force.F, np.zeros(6))


@pytest.mark.parametrize('enabled', [(), ('light',)])
def test_light_is_switched_only_after_notification(enabled):
    """Output of a device needs no enabling, but to be said; it is sent once and not echoed."""
    body = body_with_devices()
    watching = Watching(*enabled)
    host = host_of(body, ManagedController('a', watching))
    emitted = []
    body.devices[1].state_changed.connect(lambda device: emitted.append(device.on))
    watching.light.on = False
    host.control(0, 0.0)
    assert body.devices[1].on
    watching.light.notify_state_change()
    for tick in range(3):
        host.control(tick, 0.0)
    assert not body.devices[1].on
    assert emitted == [False]
    assert watching.emitted == ['light']


def test_change_by_one_controller_reaches_the_other():
    """A light that one controller switches is seen by another one that reads it."""
    body = body_with_devices()
    switching, watching = Watching(), Watching('light')
    host = host_of(body, ManagedController('a', switching), ManagedController('b', watching))
    switching.light.on = False
    switching.light.notify_state_change()
    host.control(0, 0.0)
    host.control(1, 0.0)
    assert not watching.light.on
    assert watching.emitted == ['light']


def test_family_shares_its_devices():
    """A sub-controller's sensor is not sent back by its parent."""
    body = body_with_devices()
    parent, child = Watching(), Watching('force')
    host = host_of(body, ManagedController('a', parent, children=[ManagedController('b', child)]))
    emitted = []
    body.devices[0].state_changed.connect(lambda device: emitted.append(device.name))
    body.devices[0].notify_state_change()
    for tick in range(3):
        host.control(tick, 0.0)
    assert emitted == ['force']
    assert child.force is parent.force


def test_nothing_crosses_after_stop():
    """A stopped host listens no more."""
    body = body_with_devices()
    watching = Watching('force')
    host = host_of(body, ManagedController('a', watching))
    host.stop()
    body.devices[0].notify_state_change()
    watching.light.notify_state_change()
    host.control(0, 0.0)
    assert watching.emitted == ['light']


def test_nothing_crosses_after_the_stop():
    """A device that the controller has kept does not reach the robot's any more."""
    body = body_with_devices()
    watching = Watching('force')
    managed = ManagedController('c', watching)
    host = host_of(body, managed)
    transfer = managed.devices
    host.stop()
    watching.light.on = not watching.light.on
    watching.light.notify_state_change()
    body.devices[0].notify_state_change()
    if transfer is not None:
        transfer.input()
        transfer.output()
    assert body.devices[1].on != watching.light.on
    assert watching.emitted == ['light']


class SwitchesOff(Watching):
    """Switches its light off in initialize() already."""

    def initialize(self, io):
        super().initialize(io)
        self.light.on = False
        self.light.notify_state_change()
        return True


def test_a_light_switched_in_initialize_goes_out_with_the_initial_commands():
    """Before the first tick, and once."""
    body = body_with_devices()
    emitted = []
    body.devices[1].state_changed.connect(lambda device: emitted.append(device.on))
    host = ControllerHost([ManagedController('a', SwitchesOff())], body, 0.01, io.StringIO())
    host.configure()
    host.initialize()
    assert emitted == [False]
    host.start()
    host.control(0, 0.0)
    assert emitted == [False]


def test_an_enabled_output_is_part_of_the_request():
    """The hardware is told which devices a controller is going to command."""

    class Enabling(Watching):
        def initialize(self, io):
            super().initialize(io)
            io.enable_output(self.light)
            return True

    body = body_with_devices()
    host = host_of(body, ManagedController('a', Enabling()))
    assert host.request().device_outputs == {'light'}


def test_a_state_crosses_once_per_change():
    """Not again with every tick."""
    body = body_with_devices()
    watching = Watching('force')
    host = host_of(body, ManagedController('c', watching))
    body.devices[0].notify_state_change()
    for tick in range(3):
        host.control(tick, 0.0)
    assert watching.emitted == ['force']


def test_a_device_that_cannot_be_like_that_is_not_handed_over() -> None:
    """Neither a simulation nor a driver gets what it cannot use."""
    robot = body_with_devices()
    own = robot.clone()
    transfer = DeviceTransfer(own, robot)
    light = own.devices[1]
    assert isinstance(light, PointLight)
    light.intensity = float('nan')
    light.notify_state_change()
    with pytest.raises(ValueError, match="intensity of 'light' is nan, not within 0 and 1e\\+06"):
        transfer.output()
    assert robot.devices[1].intensity == 1.0
