"""Sub-controllers: two controllers under one parent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from cnoid_control.body import StateFlag
from cnoid_control.body.exceptions import UnknownJoint
from cnoid_control.parameters import ParameterError, parameter
from cnoid_control.plugin import ControllerIO, SimpleController


@dataclass
class PartParameters:
    """Options of PartController."""

    joints: list[str] = parameter([], 'joints to move; all where empty', read_only=True)
    mode: str = parameter(
        'torque', 'how they are commanded', choices=('torque', 'position'), read_only=True
    )
    kp: float = parameter(100.0, 'position gain in torque mode', unit='N m/rad', minimum=0.0)
    kd: float = parameter(10.0, 'velocity gain in torque mode', unit='N m s/rad', minimum=0.0)


class PartController(SimpleController):
    """Follows the reference that SubControllersController shares, with its own joints only."""

    Parameters = PartParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Find the parent's reference and enable the joints."""
        self.io, self.body = io, io.body
        reference = io.find_shared_object(SHARED)
        if reference is None:
            print(f'{io.controller_name} must be a sub-controller of sub_controllers', file=io.os)
            return False
        self.reference: Reference = reference
        named = io.parameters.joints or [name for name in io.body.joint_names if name]
        try:
            self.ids = io.body.joint_ids(named)
        except UnknownJoint as error:
            print(error, file=io.os)
            return False
        torque = io.parameters.mode == 'torque'
        for joint in map(io.body.joint, named):
            io.enable_output(
                joint, StateFlag.JOINT_TORQUE if torque else StateFlag.JOINT_DISPLACEMENT
            )
            io.enable_input(joint, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
            self.reference.followers.add(joint.joint_name)
        return True

    def update_parameters(self, old: PartParameters, new: PartParameters) -> None:
        """Follow the gains: control() reads them in every tick.

        Raises:
            ParameterError: the joints are commanded by position, without gains.
        """
        if new.mode == 'position':
            key = 'kp' if old.kp != new.kp else 'kd'
            raise ParameterError(key, 'joints that are commanded by position have no gains')

    def control(self) -> bool:
        """Command this part of the robot."""
        body, ids, options = self.body, self.ids, self.io.parameters
        goal = self.reference.q[ids]
        body.q_target[ids] = goal
        if options.mode == 'torque':
            body.u[ids] = options.kp * (goal - body.q[ids]) - options.kd * body.dq[ids]
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
        self.phase = 0.0
        self.reference = io.get_or_create_shared_object(
            SHARED, lambda: Reference(io.body.q.copy(), set())
        )
        return True

    def update_parameters(self, old: Any, new: Any) -> None:
        """Follow all options: control() reads them in every tick."""

    def control(self) -> bool:
        """Swing the reference to one side and back."""
        options = self.io.parameters
        swing = 0.5 - 0.5 * math.cos(self.phase)
        self.reference.q[:] = self.q_initial + options.amplitude * swing
        # Summed up, so that another period changes the speed only.
        self.phase += 2.0 * math.pi * self.io.time_step / options.period
        return True

    def report(self) -> dict[str, int]:
        """How many joints are led."""
        return {'joints_led': len(self.reference.followers)}
