"""A robot for tests of the loop: it stays where it is and notes what it is told."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from cnoid_control import SimpleController, StateFlag
from cnoid_control.body import Body, JointType
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.hardware.hardware import Hardware, IORequest
from cnoid_control.runtime.build import wire_loop
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.loop import ControlLoop
from cnoid_control.runtime.managed_controller import ManagedController


def two_joint_body() -> Body:
    """Fixed base with two revolute joints."""
    base = LinkDescription('base', joint_type=JointType.FIXED)
    links = [base]
    for i, parent in enumerate(('base', 'arm0')):
        links.append(
            LinkDescription(
                f'arm{i}',
                parent=parent,
                joint_name=f'joint{i}',
                joint_type=JointType.REVOLUTE,
                joint_id=i,
                translation=np.array([0.0, 0.0, 0.3]),
            )
        )
    return Body(BodyDescription('arm', links))


class FakeHardware(Hardware):
    """Gives the states that a test has prepared and keeps the commands."""

    name = 'fake'

    def __init__(self, body: Body, states: int = 1000, time_step: float = 0.01) -> None:
        """Prepare so many states; q counts the ticks, dq is -q."""
        self.body = body
        self.time_step = time_step
        self.time = 0.0
        self.states = states
        self.request: IORequest | None = None
        self.written: list[dict[str, np.ndarray]] = []
        self.calls: list[str] = []
        self.tick = 0

    def open(self, request: IORequest) -> None:
        """Note the request."""
        self.calls.append('open')
        self.request = request

    def read(self) -> bool:
        """Move on by one tick."""
        if self.tick == self.states:
            return False
        self.time = self.tick * self.time_step
        self.body.q[:] = self.tick + np.arange(self.body.num_joints) * 0.1
        self.body.dq[:] = -self.body.q
        self.tick += 1
        return True

    def write(self) -> None:
        """Note the commands."""
        names = ('q_target', 'dq_target', 'u')
        self.written.append({name: getattr(self.body, name).copy() for name in names})

    def close(self) -> None:
        """Note it."""
        self.calls.append('close')


def fake_loop(
    *controllers: SimpleController,
    states: int = 10**9,
    time_step: float = 0.01,
    hardware: Hardware | None = None,
    **options: Any,
) -> ControlLoop:
    """Loop on a fake robot, as `make_loop` wires it; controllers are named a, b, ..."""
    hardware = hardware or FakeHardware(two_joint_body(), states, time_step)
    managed = [ManagedController('abc'[i], one) for i, one in enumerate(controllers)]
    host = ControllerHost(managed, hardware.body, hardware.time_step, io.StringIO())
    return wire_loop(hardware, host, **options)


class Scripted(SimpleController):
    """Commands 1; calls a function of the test at one tick."""

    def __init__(self, tick: int = -1, act=None) -> None:
        self.tick, self.act = tick, act
        self.ticks = 0

    def initialize(self, io) -> bool:
        """Command torques."""
        self.body = io.body
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_TORQUE
            io.enable_io(joint)
        return True

    def control(self) -> bool:
        """Command 1, or act."""
        self.body.u[:] = 1.0
        self.ticks += 1
        return self.act(self) if self.ticks == self.tick else True
