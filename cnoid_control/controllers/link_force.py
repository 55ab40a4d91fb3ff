"""A robot is carried through the air by a force on its root."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from cnoid_control.controllers.circle import Circle, CircleParameters
from cnoid_control.parameters import parameter
from cnoid_control.plugin import ControllerIO, SimpleController, StateFlag


@dataclass
class LinkForceParameters(CircleParameters):
    """Options of LinkForceController."""

    frequency: float = parameter(
        10.0, 'how stiffly the place is held: natural frequency', unit='rad/s', minimum=0.0
    )
    gravity: float = parameter(9.80665, 'gravity that is carried', unit='m/s^2')


class LinkForceController(SimpleController):
    """Pulls the root along a circle as if by damped springs, and carries its weight."""

    Parameters = LinkForceParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Command a wrench on the root, read its pose and motion."""
        self.io, self.body, self.root = io, io.body, io.body.root_link
        io.enable_output(self.root, StateFlag.LINK_EXT_WRENCH)
        io.enable_input(self.root, StateFlag.LINK_POSITION | StateFlag.LINK_TWIST)
        self.circle = Circle(self.root.p, io.parameters)
        self.upright = np.array(self.root.R)
        self.mass = self.body.mass
        self.inertia = float(np.trace(self.root.I)) / 3.0
        return True

    def control(self) -> bool:
        """One tick of pulling."""
        root, options = self.root, self.io.parameters
        stiffness, damping = options.frequency**2, 2.0 * options.frequency
        time = self.io.current_time
        away = self.circle.position(time) - root.p
        slow = self.circle.velocity(time) - root.v
        tilt = root.R @ pin.log3(root.R.T @ self.upright)
        force = self.mass * (stiffness * away + damping * slow)
        force[2] += self.mass * options.gravity
        torque = self.inertia * (stiffness * tilt - damping * root.w)
        root.F_ext = np.zeros(6)
        root.add_external_force_at_local_position(force, root.c)
        root.F_ext[3:] += torque
        return True

    def report(self) -> dict[str, float]:
        """How far the robot is from the circle."""
        goal = self.circle.position(self.io.current_time)
        return {'distance_from_circle': float(np.linalg.norm(goal - self.root.p))}
