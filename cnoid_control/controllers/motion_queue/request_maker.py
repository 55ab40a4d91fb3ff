"""What is asked of a motion queue, checked and made a request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cnoid_control.controllers.motion_queue.goal_check import GoalCheck
from cnoid_control.controllers.motion_queue.motion_state import MotionState
from cnoid_control.controllers.motion_queue.requests import (
    Cubic,
    Linear,
    LinearMilestone,
    Milestone,
    Request,
    SmoothCubic,
    SmoothVelocity,
    Velocity,
)

Vector = Sequence[float] | np.ndarray
Joints = Sequence[str] | Sequence[int] | None


@dataclass(frozen=True)
class RequestMaker:
    """Makes requests of the arguments of a queue's methods; what is wrong with them is raised.

    Attributes:
        check: checks the values.
        others: positions of joints that a goal does not name [rad] or [m], shape (n,).
        smooth: whether linear, cubic and velocity motions keep the acceleration and jerk bounds.
        report: called with a line for everything that ends early.
    """

    check: GoalCheck
    others: np.ndarray
    smooth: bool
    report: Callable[[str], None]

    def milestone(self, q: Vector, dq: Vector | None, joints: Joints) -> Request:
        """To q as fast as possible, with velocities dq (0 if not given)."""
        return Milestone(*self._goal('milestone', q, dq, joints))

    def linear_milestone(self, q: Vector, joints: Joints) -> Request:
        """Straight to q as fast as possible."""
        return LinearMilestone(*self._goal('linear milestone', q, None, joints))

    def linear(self, q: Vector, dt: float, joints: Joints) -> Request:
        """Linearly to q within dt [s]."""
        goal, velocity = self._goal('goal', q, None, joints)
        dt = self.check.duration('linear motion', dt)
        return Milestone(goal, velocity, dt) if self.smooth else Linear(goal, velocity, dt)

    def cubic(self, q: Vector, dq: Vector, dt: float, joints: Joints) -> Request:
        """Along a cubic to q and dq within dt [s]."""
        goal, velocity = self._goal('goal', q, dq, joints)
        dt = self.check.duration('cubic motion', dt)
        return SmoothCubic(goal, velocity, dt) if self.smooth else Cubic(goal, velocity, dt)

    def velocity(
        self, dq: Vector, dt: float, joints: Joints, start: MotionState
    ) -> Request | None:
        """With a velocity from a state on, as long as the limits allow; None for no time."""
        filled = self._fill(dq, np.zeros(self.check.limits.size), joints)
        velocity = self.check.velocity('velocity', filled)
        dt = self.check.duration('velocity motion', dt, zero=True)
        allowed = self.check.time_to_limits(start, velocity, self.smooth)
        if allowed < dt:
            self.report(f'velocity motion ends after {allowed:g} s instead of {dt:g} s: limits')
            dt = allowed
        if dt == 0.0:
            return None
        return SmoothVelocity(velocity, dt) if self.smooth else Velocity(velocity, dt)

    def wait(self, dt: float) -> Request:
        """Standing still for dt [s]."""
        duration = self.check.duration('wait', dt)
        return SmoothVelocity(np.zeros(self.check.limits.size), duration)

    def _goal(
        self, name: str, q: Vector, dq: Vector | None, joints: Joints
    ) -> tuple[np.ndarray, np.ndarray]:
        zeros = np.zeros(self.check.limits.size)
        goal = self.check.position(name, self._fill(q, self.others, joints))
        velocity = zeros if dq is None else self._fill(dq, zeros, joints)
        return goal, self.check.goal_velocity(f'velocity at the {name}', velocity, goal)

    def _fill(self, values: Vector, others: np.ndarray, joints: Joints) -> np.ndarray:
        if joints is None:
            return np.asarray(values, dtype=float)
        return self.check.spread(values, others, joints)
