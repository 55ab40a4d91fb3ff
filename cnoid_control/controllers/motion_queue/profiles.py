"""Profiles of the segments of a planned motion."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from cnoid_control.controllers.motion_queue.limits import MotionState


class SegmentProfile(Protocol):
    """A stretch of motion of all joints.

    Attributes:
        duration: [s].
        ends_at_rest: whether it was planned to end without velocity and acceleration.
    """

    duration: float
    ends_at_rest: bool

    def at(self, time: float) -> MotionState:
        """State at a time from the start of the piece [s], in [0, duration]."""


class RampProfile:
    """Motion of each joint along its own ramp, as ruckig found it."""

    def __init__(self, trajectory: Any, *, ends_at_rest: bool) -> None:
        """Take over a ruckig trajectory."""
        self.trajectory = trajectory
        self.duration = float(trajectory.duration)
        self.ends_at_rest = ends_at_rest

    def at(self, time: float) -> MotionState:
        """State at a time from the start of the piece [s]."""
        return MotionState.of_lists(*self.trajectory.at_time(min(time, self.duration)))


class LineProfile:
    """Straight line in joint space, start + direction * s, where s(t) is a ruckig ramp."""

    ends_at_rest = True

    def __init__(self, start: np.ndarray, direction: np.ndarray, trajectory: Any) -> None:
        """Run along `direction` from `start` as the one-joint trajectory says."""
        self.start = start
        self.direction = direction
        self.trajectory = trajectory
        self.duration = float(trajectory.duration)

    def at(self, time: float) -> MotionState:
        """State at a time from the start of the piece [s]."""
        (s,), (ds,), (dds,) = self.trajectory.at_time(min(time, self.duration))
        line = self.direction
        return MotionState(self.start + line * s, line * ds, line * dds)


class CubicProfile:
    """Cubic polynomial of each joint; a straight run at constant velocity is one as well."""

    ends_at_rest = False

    def __init__(self, coefficients: np.ndarray, duration: float) -> None:
        """Take the coefficients of 1, t, t^2 and t^3, shape (4, n)."""
        self.coefficients = coefficients
        self.duration = duration

    @classmethod
    def linear(cls, start: np.ndarray, velocity: np.ndarray, duration: float) -> CubicProfile:
        """Constant velocity."""
        zero = np.zeros(start.size)
        return cls(np.array([start, velocity, zero, zero]), duration)

    @classmethod
    def hermite(
        cls, start: MotionState, goal: np.ndarray, goal_velocity: np.ndarray, duration: float
    ) -> CubicProfile:
        """Cubic with the position and the velocity given at both ends."""
        x0, v0 = start.position, start.velocity
        mean = (goal - x0) / duration
        c2 = (3.0 * mean - 2.0 * v0 - goal_velocity) / duration
        c3 = (v0 + goal_velocity - 2.0 * mean) / duration**2
        return cls(np.array([x0, v0, c2, c3]), duration)

    def at(self, time: float) -> MotionState:
        """State at a time from the start of the piece [s]."""
        c0, c1, c2, c3 = self.coefficients
        t = min(time, self.duration)
        return MotionState(
            c0 + t * (c1 + t * (c2 + t * c3)),
            c1 + t * (2.0 * c2 + 3.0 * t * c3),
            2.0 * c2 + 6.0 * t * c3,
        )

    def extremes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Lowest and highest position, and largest speed and acceleration of each joint."""
        _, c1, c2, c3 = self.coefficients
        times = [np.zeros(c1.size), np.full(c1.size, self.duration)]
        with np.errstate(divide='ignore', invalid='ignore'):
            turn = -c2 / (3.0 * c3)
            root = np.sqrt(c2**2 - 3.0 * c3 * c1)
            times += [turn, (-c2 + root) / (3.0 * c3), (-c2 - root) / (3.0 * c3)]
            times.append(-c1 / (2.0 * c2))
        at = np.array([np.where((t >= 0.0) & (t <= self.duration), t, 0.0) for t in times])
        c0 = self.coefficients[0]
        positions = c0 + at * (c1 + at * (c2 + at * c3))
        velocities = np.abs(c1 + at * (2.0 * c2 + 3.0 * at * c3))
        accelerations = np.abs(2.0 * c2 + 6.0 * at * c3)
        return (
            positions.min(axis=0),
            positions.max(axis=0),
            velocities.max(axis=0),
            accelerations.max(axis=0),
        )
