"""Requests to the motion queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Protocol

import numpy as np

from cnoid_control.controllers.motion_queue.exceptions import goal_unreachable
from cnoid_control.controllers.motion_queue.goals import GoalCheck
from cnoid_control.controllers.motion_queue.limits import SLACK, MotionLimits, MotionState
from cnoid_control.controllers.motion_queue.planner import plan_line, plan_ramp, plan_velocity
from cnoid_control.controllers.motion_queue.profiles import CubicProfile, SegmentProfile


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

    def plan(
        self, start: MotionState, limits: MotionLimits, feed: float
    ) -> Sequence[SegmentProfile]:
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

    def _ramp(self, start: MotionState, limits: MotionLimits, feed: float) -> SegmentProfile:
        if feed == 1.0:
            return plan_ramp(start, self.goal, self.goal_velocity, limits, self.duration)
        velocity, bounds = self.goal_velocity * feed, limits.at_feed_rate(feed)
        return plan_ramp(start, self.goal, velocity, bounds, self.duration / feed)

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

    def plan(
        self, start: MotionState, limits: MotionLimits, feed: float
    ) -> Sequence[SegmentProfile]:
        """Ramps of all joints."""
        return [self._ramp(start, limits, feed)]


class LinearMilestone(_ToGoal):
    """Time-optimal along a straight line in joint space, ending at rest."""

    def plan(
        self, start: MotionState, limits: MotionLimits, feed: float
    ) -> Sequence[SegmentProfile]:
        """Ramp on the path parameter, after a stop where the start is moving elsewhere."""
        return plan_line(start, self.goal, limits.at_feed_rate(feed))


class Linear(_ToGoal):
    """Constant velocity for a given time; the velocity steps at both ends."""

    ending = Ending.HOLD

    def plan(
        self, start: MotionState, limits: MotionLimits, feed: float
    ) -> Sequence[SegmentProfile]:
        """One straight piece, slower than asked where the velocity bound demands it."""
        velocity = (self.goal - start.position) / self.duration
        with np.errstate(divide='ignore', invalid='ignore'):
            excess = np.abs(velocity) / limits.velocity
        stretch = max(1.0, float(np.nanmax(excess, initial=0.0)))
        if not np.isfinite(stretch):
            stuck = [limits.names[i] for i in np.flatnonzero(np.isinf(excess))]
            raise goal_unreachable(stuck, 'the velocity limit is 0')
        rate = feed / stretch
        return [CubicProfile.linear(start.position, velocity * rate, self.duration / rate)]


class Cubic(_ToGoal):
    """Hermite cubic for a given time: position and velocity are continuous."""

    def plan(
        self, start: MotionState, limits: MotionLimits, feed: float
    ) -> Sequence[SegmentProfile]:
        """One cubic, slower than asked where the velocity bound demands it."""
        return [self._within(start, limits, feed, np.full(limits.size, np.inf))]

    def _within(
        self, start: MotionState, limits: MotionLimits, feed: float, acceleration: np.ndarray
    ) -> CubicProfile:
        duration = self.duration / feed
        goal_velocity = self.goal_velocity * feed
        top_speed = np.maximum(limits.velocity, np.abs(start.velocity)) + 1e-9
        for _ in range(80):
            piece = CubicProfile.hermite(start, self.goal, goal_velocity, duration)
            lowest, highest, speed, sharpness = piece.extremes()
            if (speed <= top_speed).all() and (sharpness <= acceleration + 1e-9).all():
                outside = (lowest < limits.lower - SLACK) | (highest > limits.upper + SLACK)
                if not outside.any():
                    return piece
                break
            duration *= 1.1
        else:
            outside = (speed > top_speed) | (sharpness > acceleration + 1e-9)
        names = [limits.names[i] for i in np.flatnonzero(outside)]
        raise goal_unreachable(names, f'no cubic of {self.duration:g} s or more leads there')


class SmoothCubic(Cubic):
    """Cubic that keeps the acceleration bound too; a ramp where there is a jerk bound."""

    def plan(
        self, start: MotionState, limits: MotionLimits, feed: float
    ) -> Sequence[SegmentProfile]:
        """One cubic, or ramps that take as long."""
        if limits.is_jerk_limited:
            return [self._ramp(start, limits, feed)]
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

    def plan(
        self, start: MotionState, limits: MotionLimits, feed: float
    ) -> Sequence[SegmentProfile]:
        """One straight piece."""
        velocity = self.velocity * feed
        return [CubicProfile.linear(start.position, velocity, self.duration / feed)]

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

    def plan(
        self, start: MotionState, limits: MotionLimits, feed: float
    ) -> Sequence[SegmentProfile]:
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
        return [ramp, CubicProfile.linear(end, velocity, left)]


@dataclass
class Segment:
    """The motion that serves one request, or a stop that the queue has put in.

    Attributes:
        request: what was asked for; None for such a stop.
        pieces: the motion.
        duration: its time [s].
    """

    request: Request | None
    pieces: Sequence[SegmentProfile]
    duration: float = field(init=False)

    def __post_init__(self) -> None:
        """Sum the times up."""
        self.duration = sum([piece.duration for piece in self.pieces])

    def at(self, time: float) -> MotionState:
        """Commanded state at a time after its begin [s]."""
        for piece in self.pieces[:-1]:
            if time < piece.duration:
                return piece.at(time)
            time -= piece.duration
        return self.pieces[-1].at(time)

    @property
    def end(self) -> MotionState:
        """Commanded state at its end."""
        return self.at(self.duration)


Vector = Sequence[float] | np.ndarray
Joints = Sequence[str] | Sequence[int] | None


@dataclass
class RequestMaker:
    """Makes requests of the arguments of a queue's methods; what is wrong with them is raised.

    Attributes:
        check: checks the values.
        others: finds the positions of joints that a goal does not name [rad] or [m], shape (n,).
        smooth: whether linear, cubic and velocity motions keep the acceleration and jerk bounds.
        report: called with a line for everything that ends early.
    """

    check: GoalCheck
    others: Callable[[], np.ndarray]
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
        velocity = self.check.velocity('velocity', self._fill(dq, self._rest, joints))
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
        goal = self.check.position(name, self._fill(q, self.others, joints))
        if dq is None:
            return goal, self.check.limits.rest
        velocity = self._fill(dq, self._rest, joints)
        return goal, self.check.goal_velocity(f'velocity at the {name}', velocity, goal)

    def _rest(self) -> np.ndarray:
        return self.check.limits.rest

    def _fill(
        self, values: Vector, others: Callable[[], np.ndarray], joints: Joints
    ) -> np.ndarray:
        if joints is None:
            return np.asarray(values, dtype=float)
        return self.check.spread(values, others(), joints)
