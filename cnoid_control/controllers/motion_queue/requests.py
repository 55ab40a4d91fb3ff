"""What can be asked of a motion queue; each kind knows how to plan itself from a state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

import numpy as np

from cnoid_control.controllers.motion_queue.exceptions import GoalUnreachable
from cnoid_control.controllers.motion_queue.motion_limits import MotionLimits
from cnoid_control.controllers.motion_queue.motion_state import MotionState
from cnoid_control.controllers.motion_queue.pieces import CubicPiece, Piece
from cnoid_control.controllers.motion_queue.ramps import plan_line, plan_ramp, plan_velocity


class Ending(Enum):
    """What happens to a velocity that is left when the queue runs out."""

    HOLD = 'hold'
    RETURN = 'return'
    STOP = 'stop'


class Request(Protocol):
    """A motion that was asked for."""

    @property
    def duration(self) -> float:
        """Time that it shall take at full feed rate [s]; 0 for as fast as possible."""

    @property
    def ending(self) -> Ending:
        """What follows where nothing else is queued behind it."""

    def plan(self, start: MotionState, limits: MotionLimits, feed: float) -> Sequence[Piece]:
        """Motion from a state at a feed rate in ]0, 1], within the bounds."""

    def with_joints_at(self, joints: np.ndarray, position: np.ndarray) -> Request:
        """Same motion, but for joints (by index) that stay at the given positions."""

    def rest(self, duration: float) -> Request:
        """What is still to do when `duration` [s] of it, at full feed rate, are left."""


@dataclass(frozen=True)
class _ToGoal:
    """Base of the motions to a position.

    Attributes:
        goal: positions [rad] or [m], shape (n,).
        goal_velocity: velocities there, shape (n,).
        duration: time that it shall take [s]; 0 for as fast as possible.
    """

    goal: np.ndarray
    goal_velocity: np.ndarray
    duration: float = 0.0
    ending = Ending.RETURN

    def with_joints_at(self, joints: np.ndarray, position: np.ndarray) -> Request:
        """Same motion, but for joints (by index) that stay at the given positions."""
        goal, velocity = self.goal.copy(), self.goal_velocity.copy()
        goal[joints], velocity[joints] = position, 0.0
        return replace(self, goal=goal, goal_velocity=velocity)  # type: ignore[return-value]

    def rest(self, duration: float) -> Request:
        """What is still to do when `duration` [s] of it, at full feed rate, are left."""
        left = duration if self.duration > 0.0 else 0.0
        return replace(self, duration=left)  # type: ignore[return-value]


class Milestone(_ToGoal):
    """Time-optimal and synchronised, from and to any velocity; not faster than its duration."""

    def plan(self, start: MotionState, limits: MotionLimits, feed: float) -> Sequence[Piece]:
        """Ramps of all joints."""
        wait = self.duration / feed
        bounds = limits.at_feed_rate(feed)
        return [plan_ramp(start, self.goal, self.goal_velocity * feed, bounds, wait)]


class LinearMilestone(_ToGoal):
    """Time-optimal along a straight line in joint space, ending at rest."""

    def plan(self, start: MotionState, limits: MotionLimits, feed: float) -> Sequence[Piece]:
        """Ramp on the path parameter, after a stop where the start is moving elsewhere."""
        return plan_line(start, self.goal, limits.at_feed_rate(feed))


class Linear(_ToGoal):
    """Constant velocity for a given time; the velocity steps at both ends."""

    ending = Ending.HOLD

    def plan(self, start: MotionState, limits: MotionLimits, feed: float) -> Sequence[Piece]:
        """One straight piece, slower than asked where the velocity bound demands it."""
        velocity = (self.goal - start.position) / self.duration
        with np.errstate(divide='ignore', invalid='ignore'):
            excess = np.abs(velocity) / limits.velocity
        stretch = max(1.0, float(np.nanmax(excess, initial=0.0)))
        if not np.isfinite(stretch):
            stuck = [limits.names[i] for i in np.flatnonzero(np.isinf(excess))]
            raise GoalUnreachable(stuck, 'the velocity limit is 0')
        rate = feed / stretch
        return [CubicPiece.linear(start.position, velocity * rate, self.duration / rate)]


class Cubic(_ToGoal):
    """Hermite cubic for a given time: position and velocity are continuous."""

    def plan(self, start: MotionState, limits: MotionLimits, feed: float) -> Sequence[Piece]:
        """One cubic, slower than asked where the velocity bound demands it."""
        return [self._within(start, limits, feed, np.full(limits.size, np.inf))]

    def _within(
        self, start: MotionState, limits: MotionLimits, feed: float, acceleration: np.ndarray
    ) -> CubicPiece:
        duration = self.duration / feed
        goal_velocity = self.goal_velocity * feed
        top_speed = np.maximum(limits.velocity, np.abs(start.velocity)) + 1e-9
        for _ in range(80):
            piece = CubicPiece.hermite(start, self.goal, goal_velocity, duration)
            lowest, highest, speed, sharpness = piece.extremes()
            if (speed <= top_speed).all() and (sharpness <= acceleration + 1e-9).all():
                outside = (lowest < limits.lower - 1e-7) | (highest > limits.upper + 1e-7)
                if not outside.any():
                    return piece
                break
            duration *= 1.1
        else:
            outside = (speed > top_speed) | (sharpness > acceleration + 1e-9)
        names = [limits.names[i] for i in np.flatnonzero(outside)]
        raise GoalUnreachable(names, f'no cubic of {self.duration:g} s or more leads there')


class SmoothCubic(Cubic):
    """Cubic that keeps the acceleration bound too; a ramp where there is a jerk bound."""

    def plan(self, start: MotionState, limits: MotionLimits, feed: float) -> Sequence[Piece]:
        """One cubic, or ramps that take as long."""
        if limits.is_jerk_limited:
            bounds, wait = limits.at_feed_rate(feed), self.duration / feed
            return [plan_ramp(start, self.goal, self.goal_velocity * feed, bounds, wait)]
        return [self._within(start, limits, feed, limits.acceleration)]


@dataclass(frozen=True)
class Velocity:
    """Constant velocity for a given time, from the commanded position on.

    Attributes:
        velocity: [rad/s] or [m/s], shape (n,).
        duration: [s].
    """

    velocity: np.ndarray
    duration: float
    ending = Ending.HOLD

    def plan(self, start: MotionState, limits: MotionLimits, feed: float) -> Sequence[Piece]:
        """One straight piece."""
        velocity = self.velocity * feed
        return [CubicPiece.linear(start.position, velocity, self.duration / feed)]

    def with_joints_at(self, joints: np.ndarray, position: np.ndarray) -> Request:
        """Same motion with these joints at rest."""
        velocity = self.velocity.copy()
        velocity[joints] = 0.0
        return replace(self, velocity=velocity)

    def rest(self, duration: float) -> Request:
        """Same velocity for the time that is left."""
        return replace(self, duration=duration)


class SmoothVelocity(Velocity):
    """Velocity that is reached, and left again, within the acceleration and jerk bounds."""

    ending = Ending.STOP

    def plan(self, start: MotionState, limits: MotionLimits, feed: float) -> Sequence[Piece]:
        """Ramp to the velocity, then as much of the straight piece as fits into the time."""
        velocity = self.velocity * feed
        ramp = plan_velocity(start, velocity, limits)
        left = self.duration / feed - ramp.duration
        if left < 0.0:
            # Reaching the velocity takes longer than the motion may: go as far up as fits.
            share = self.duration / feed / ramp.duration
            velocity = start.velocity + share * (velocity - start.velocity)
            return [plan_velocity(start, velocity, limits)]
        end = ramp.at(ramp.duration).position
        return [ramp, CubicPiece.linear(end, velocity, left)]
