"""One step from a command to its effect, or none in no-delay mode, seen by a controller."""

from __future__ import annotations

import io

import numpy as np
import pytest

from cnoid_control import SimpleController, StateFlag
from cnoid_control.body import Body, JointType
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.hardware.registry import create_hardware, hardware_kind
from cnoid_control.parameters import parse_parameters
from cnoid_control.runtime.build import wire_loop
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.managed_controller import ManagedController

pytest.importorskip('mujoco', reason='needs MuJoCo')

DT = 0.001


def wheel() -> Body:
    """A wheel of inertia 2 kg m^2 on an upright axle: gravity does nothing to it."""
    links = [
        LinkDescription('base', joint_type=JointType.FIXED),
        LinkDescription(
            'wheel',
            'base',
            joint_type=JointType.REVOLUTE,
            joint_id=0,
            inertia=2.0 * np.eye(3),
            q_lower=-1e3,
            q_upper=1e3,
        ),
    ]
    return Body(BodyDescription('wheel', links))


class Step(SimpleController):
    """A step of command at tick 5; notes what it reads."""

    def __init__(self, mode: StateFlag, no_delay: bool) -> None:
        self.mode, self.no_delay = mode, no_delay
        self.q: list[float] = []
        self.dq: list[float] = []

    def initialize(self, io) -> bool:
        self.joint = io.body.joint(0)
        io.enable_output(self.joint, self.mode)
        io.enable_input(self.joint, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
        io.no_delay_mode = self.no_delay
        return True

    def control(self) -> bool:
        self.q.append(self.joint.q)
        self.dq.append(self.joint.dq)
        if len(self.q) == 6:
            self.joint.u = 10.0
            self.joint.q_target = 0.1
        return len(self.q) < 12


def run(kind: str, controller: Step) -> None:
    """Run it on a wheel."""
    options = {'gravity': 0.0, 'floor': False} if kind == 'mujoco' else {}
    parameters = parse_parameters(hardware_kind(kind).parameters, options)
    hardware = create_hardware(kind, wheel(), parameters, DT)
    host = ControllerHost([ManagedController('c', controller)], hardware.body, DT, io.StringIO())
    assert wire_loop(hardware, host).run().exit == 'finished'


@pytest.mark.parametrize(('no_delay', 'first'), [(False, 7), (True, 6)])
def test_torque_acts_one_step_later(no_delay, first):
    """Computed in tick 5: the wheel turns at tick 7 by default, at tick 6 without delay."""
    controller = Step(StateFlag.JOINT_TORQUE, no_delay)
    run('mujoco', controller)
    assert controller.dq[:first] == [0.0] * first
    # After k steps with torque u the speed is k u dt / I.
    expected = 10.0 / 2.0 * DT * np.arange(1, 13 - first)
    np.testing.assert_allclose(controller.dq[first:], expected, rtol=1e-9)


@pytest.mark.parametrize(('no_delay', 'first'), [(False, 7), (True, 6)])
def test_target_is_reached_one_step_later(no_delay, first):
    """The ideal robot has the same delay."""
    controller = Step(StateFlag.JOINT_DISPLACEMENT, no_delay)
    run('kinematic', controller)
    assert controller.q[:first] == [0.0] * first
    np.testing.assert_allclose(controller.q[first:], 0.1, rtol=1e-12)


def test_initial_command_acts_in_the_first_step():
    """What initialize() wrote acts from t = 0 on, before any control()."""

    class Pushing(Step):
        def initialize(self, io) -> bool:
            super().initialize(io)
            self.joint.u = 10.0
            return True

    controller = Pushing(StateFlag.JOINT_TORQUE, no_delay=False)
    run('mujoco', controller)
    np.testing.assert_allclose(controller.dq[:3], 10.0 / 2.0 * DT * np.arange(3), rtol=1e-9)
