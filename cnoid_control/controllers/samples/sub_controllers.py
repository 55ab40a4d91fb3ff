"""Sub-controllers: two controllers under one parent."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cnoid_control.body import StateFlag
from cnoid_control.body.exceptions import UnknownJoint
from cnoid_control.parameters import parameter
from cnoid_control.plugin import ControllerIO, SimpleController


@dataclass
class PartParameters:
    """Options of PartController."""

    joints: list[str] = parameter([], 'joints to move; all where empty')
    mode: str = parameter('torque', 'how they are commanded', choices=('torque', 'position'))
    kp: float = parameter(100.0, 'position gain in torque mode', unit='N m/rad', minimum=0.0)
    kd: float = parameter(10.0, 'velocity gain in torque mode', unit='N m s/rad', minimum=0.0)


class PartController(SimpleController):
    """Follows the reference that SubControllersController shares, with its own joints only."""

    Parameters = PartParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Find the parent's reference and enable the joints."""
        self.body, self.parameters = io.body, io.parameters
        reference = io.find_shared_object(SHARED)
        if reference is None:
            print(f'{io.controller_name} must be a sub-controller of sub_controllers', file=io.os)
            return False
        self.reference: Reference = reference
        named = self.parameters.joints or [name for name in io.body.joint_names if name]
        try:
            self.ids = io.body.joint_ids(named)
        except UnknownJoint as error:
            print(error, file=io.os)
            return False
        torque = self.parameters.mode == 'torque'
        for joint in map(io.body.joint, named):
            io.enable_output(
                joint, StateFlag.JOINT_TORQUE if torque else StateFlag.JOINT_DISPLACEMENT
            )
            io.enable_input(joint, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
            self.reference.followers.add(joint.joint_name)
        return True

    def control(self) -> bool:
        """Command this part of the robot."""
        body, ids = self.body, self.ids
        goal = self.reference.q[ids]
        body.q_target[ids] = goal
        if self.parameters.mode == 'torque':
            error = goal - body.q[ids]
            body.u[ids] = self.parameters.kp * error - self.parameters.kd * body.dq[ids]
        return True


SHARED = 'reference'


@dataclass
class SubControllersParameters:
    """Options of SubControllersController."""

    amplitude: float = parameter(0.3, 'how far joints swing', unit='rad or m')
    period: float = parameter(3.0, 'time of a swing to and fro', unit='s', minimum=1e-3)


@dataclass
class Reference:
    """What the parent and its sub-controllers share: where the joints are to be.

    Attributes:
        q: reference displacements [rad] or [m], shape (num_joints,).
        followers: names of the joints that a sub-controller has taken.
    """

    q: np.ndarray
    followers: set[str]


class SubControllersController(SimpleController):
    """Makes the reference motion; its sub-controllers follow it, each with some of the joints.

    A parent is called before its sub-controllers in every tick, so they follow this tick's
    reference. It commands nothing itself.
    """

    Parameters = SubControllersParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Make the shared reference."""
        self.io = io
        self.q_initial = io.body.q.copy()
        self.reference = io.get_or_create_shared_object(
            SHARED, lambda: Reference(io.body.q.copy(), set())
        )
        return True

    def control(self) -> bool:
        """Swing the reference to one side and back."""
        phase = 2.0 * math.pi * self.io.current_time / self.io.parameters.period
        self.reference.q[:] = self.q_initial + self.io.parameters.amplitude * (
            0.5 - 0.5 * math.cos(phase)
        )
        return True

    def report(self) -> dict[str, int]:
        """How many joints are led."""
        return {'joints_led': len(self.reference.followers)}
