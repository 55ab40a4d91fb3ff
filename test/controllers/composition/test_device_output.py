"""Devices that a part of a composition switches."""

from __future__ import annotations

import io

import pytest

from cnoid_control import SimpleController
from cnoid_control.body import Body, JointType
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.body.devices import PointLight
from cnoid_control.controllers.composition.multi import ConfiguredMultiController
from cnoid_control.controllers.composition.sequence import SequenceController
from cnoid_control.controllers.composition.state_machine import ConfiguredStateMachine
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.managed_controller import ManagedController

HERE = 'controllers.composition.test_device_output'
DT = 0.01


class Dark(SimpleController):
    """Switches the lamp off when it is entered, and on again in its third tick."""

    def initialize(self, io):
        self.lamp = io.body.find_device(PointLight, 'lamp')
        io.enable_output(self.lamp)
        self.lamp.on = False
        self.lamp.notify_state_change()
        self.ticks = 0
        return True

    def control(self):
        self.ticks += 1
        if self.ticks == 3:
            self.lamp.on = True
            self.lamp.intensity = 0.25
            self.lamp.notify_state_change()
        return True


class Idle(SimpleController):
    """Does nothing."""

    def control(self):
        return True


def robot() -> Body:
    """One joint and a lamp."""
    links = [
        LinkDescription('root'),
        LinkDescription('arm', 'root', joint_type=JointType.REVOLUTE, joint_id=0),
    ]
    return Body(BodyDescription('lamp', links, [('arm', PointLight('lamp'))]))


COMPOSITIONS = {
    'multi': (ConfiguredMultiController, {'stages': {'dark': {'controller': f'{HERE}:Dark'}}}, 0),
    'sequence': (
        SequenceController,
        {
            'stages': {
                'idle': {'controller': f'{HERE}:Idle', 'until': 0.04},
                'dark': {'controller': f'{HERE}:Dark', 'until': 1.0},
            }
        },
        4,
    ),
    'state_machine': (
        ConfiguredStateMachine,
        {
            'start': 'idle',
            'states': {
                'idle': {'controller': f'{HERE}:Idle', 'next': {'dark': {'after': 0.04}}},
                'dark': {'controller': f'{HERE}:Dark'},
            },
        },
        4,
    ),
}


@pytest.mark.parametrize('strict', [False, True])
@pytest.mark.parametrize('name', COMPOSITIONS)
def test_a_part_switches_the_lamp(name, strict):
    """When it is entered and later on; a part that is not active yet switches nothing."""
    kind, options, entered = COMPOSITIONS[name]
    body = robot()
    lamp = body.devices[0]
    managed = ManagedController(name, kind(), options)
    host = ControllerHost([managed], body, DT, io.StringIO(), strict)
    host.configure()
    host.initialize()
    host.start()
    assert host.request().device_outputs == {'lamp'}
    seen = []
    for tick in range(12):
        host.control(tick, tick * DT)
        seen.append(lamp.on)
    off = seen.index(False)
    # The tick that ends a part may enter the next one.
    assert abs(off - entered) <= 1
    assert seen[:off] == [True] * off
    assert seen[off : off + 2] == [False, False]
    assert seen[-1] is True
    assert lamp.intensity == 0.25
