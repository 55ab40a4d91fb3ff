"""LinkForce and LinkPosition: a whole robot moved along a circle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from cnoid_control.parameters import parameter
from cnoid_control.plugin import ControllerIO, SimpleController, StateFlag
from cnoid_control.plugin.mailbox import Twist


@dataclass
class CircleParameters:
    """A circle that is run through from rest, and round and round."""

    radius: float = parameter(0.3, 'radius of the circle', unit='m', minimum=0.0, read_only=True)
    period: float = parameter(4.0, 'time of a round', unit='s', minimum=1e-3, read_only=True)


class Circle:
    """Level circle through a place, with its speed rising over the first period.

    Attributes:
        start: where it begins [m], shape (3,); the centre is one radius away in -x.
    """

    def __init__(self, start: np.ndarray, parameters: CircleParameters) -> None:
        """Begin the circle at a place."""
        self.start = start.copy()
        self._radius, self._period = parameters.radius, parameters.period

    def angle(self, time: float) -> float:
        """Angle along the circle at a time since the start [rad]."""
        rounds = time / self._period
        # The first period brings it up to speed in half a round.
        risen = min(rounds, 1.0)
        return 2.0 * math.pi * (0.5 * risen**2 + max(rounds - 1.0, 0.0))

    def position(self, time: float) -> np.ndarray:
        """Place at a time since the start [m], shape (3,)."""
        angle = self.angle(time)
        turned = np.array([math.cos(angle) - 1.0, math.sin(angle), 0.0])
        return self.start + self._radius * turned

    def velocity(self, time: float) -> np.ndarray:
        """Velocity at a time since the start [m/s], shape (3,)."""
        angle = self.angle(time)
        rate = 2.0 * math.pi / self._period * min(time / self._period, 1.0)
        return self._radius * rate * np.array([-math.sin(angle), math.cos(angle), 0.0])


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

    def update_parameters(self, old: Any, new: Any) -> None:
        """Follow stiffness and gravity: control() reads them in every tick."""

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


# Time for which a received velocity is in force [s].
TIME_TO_LIVE = 0.5


class LinkPositionController(SimpleController):
    """Moves the root on a circle, facing along it; a received twist takes over.

    Twists come through the mailbox `cmd_vel`, in the root's own axes; each is in force for half
    a second, then the root stays where it is.
    """

    Parameters = CircleParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Command the pose of the root."""
        self.io, self.root = io, io.body.root_link
        io.enable_output(self.root, StateFlag.LINK_POSITION)
        self.circle: Circle | None = Circle(self.root.p, io.parameters)
        self.pose = pin.SE3(np.array(self.root.R), self.root.p.copy())
        self.twists = io.mailbox('cmd_vel', Twist)
        self.twist = Twist()
        self.twist_ends = 0.0
        return True

    def control(self) -> bool:
        """Put the root where it is to be in this tick."""
        twist = self.twists.take_latest()
        if twist is not None:
            self.circle = None
            self.twist = twist
            self.twist_ends = self.io.current_time + TIME_TO_LIVE
        if self.circle is not None:
            time = self.io.current_time
            turn = pin.exp3(np.array([0.0, 0.0, self.circle.angle(time)]))
            self.root.p, self.root.R = self.circle.position(time), turn @ self.pose.rotation
        elif self.io.current_time < self.twist_ends:
            now = pin.SE3(np.array(self.root.R), self.root.p.copy())
            step = self.io.time_step
            moved = now * pin.SE3(pin.exp3(self.twist.angular * step), self.twist.linear * step)
            self.root.p, self.root.R = moved.translation, moved.rotation
        return True
