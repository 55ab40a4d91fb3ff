"""A controller that leads others: each of them moves a part of the robot."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cnoid_control.parameters import parameter
from cnoid_control.plugin import ControllerIO, SimpleController

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
