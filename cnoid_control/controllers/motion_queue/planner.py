"""Time-optimal ramps and lines."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

import numpy as np
import ruckig

from cnoid_control.controllers.motion_queue.exceptions import MotionRefused, goal_unreachable
from cnoid_control.controllers.motion_queue.limits import SLACK, MotionLimits, MotionState
from cnoid_control.controllers.motion_queue.profiles import (
    LineProfile,
    RampProfile,
    SegmentProfile,
)

# Positions that differ by less count as equal; also the slack of the limit check.
TOLERANCE = 1e-9

_SOLVED = (ruckig.Result.Working, ruckig.Result.Finished)


def plan_ramp(
    start: MotionState,
    goal: np.ndarray,
    goal_velocity: np.ndarray,
    limits: MotionLimits,
    minimum_duration: float = 0.0,
) -> RampProfile:
    """Fastest motion to a goal, all joints arriving together.

    Args:
        start: state to start from; a velocity beyond the bounds is braked first.
        goal: positions to reach, shape (n,).
        goal_velocity: velocities to reach them with, shape (n,).
        limits: bounds.
        minimum_duration: take at least so long [s].

    Raises:
        MotionRefused: a joint has to move whose velocity or acceleration bound is zero,
            or there is no such motion.
    """
    if not limits.can_all_move:
        _check_moving(start, limits, np.abs(goal - start.position) + np.abs(goal_velocity))
    planner = _planner(limits.size, threading.get_ident())
    request = planner.fill(planner.ramp, start, limits)
    request.target_position = goal.tolist()
    arrives_at_rest = not np.count_nonzero(goal_velocity)
    request.target_velocity = planner.zeros if arrives_at_rest else goal_velocity.tolist()
    request.minimum_duration = minimum_duration if minimum_duration > 0.0 else None
    trajectory = planner.solve(request, limits)
    if limits.has_range and not _is_inside(trajectory, limits):
        outside = _outside(trajectory, start, limits)
        if outside.any():
            trajectory = _unsynchronised(planner, request, limits, outside, goal_velocity)
            outside = _outside(trajectory, start, limits)
        if outside.any():
            raise goal_unreachable(
                [limits.names[i] for i in np.flatnonzero(outside)],
                'it would pass a position limit',
            )
    return RampProfile(trajectory, ends_at_rest=arrives_at_rest)


def plan_velocity(start: MotionState, velocity: np.ndarray, limits: MotionLimits) -> RampProfile:
    """Fastest change of all joints to given velocities, on a straight line where possible.

    Where waiting for each other leads beyond a position limit, each joint does it by itself.

    Raises:
        MotionRefused: a joint has to move whose velocity or acceleration bound is zero.
    """
    if not limits.can_all_move:
        _check_moving(start, limits, np.abs(velocity))
    planner = _planner(limits.size, threading.get_ident())
    request = planner.fill(planner.change, start, limits)
    request.target_velocity = velocity.tolist()
    trajectory = planner.solve(request, limits)
    if limits.has_range:
        lowest, highest = _extremes(trajectory)
        if (lowest < limits.lower).any() or (highest > limits.upper).any():
            request.synchronization = ruckig.Synchronization.No
            trajectory = planner.solve(request, limits)
    return RampProfile(trajectory, ends_at_rest=not np.count_nonzero(velocity))


def plan_line(start: MotionState, goal: np.ndarray, limits: MotionLimits) -> list[SegmentProfile]:
    """Fastest motion along a straight line in joint space, ending at rest.

    A velocity that does not point along the line is braked first; the line then starts where the
    joints come to rest.

    Raises:
        MotionRefused: a joint has to move whose velocity or acceleration bound is zero,
            or braking leads across a position limit.
    """
    pieces: list[SegmentProfile] = []
    line = goal - start.position
    length = float(line @ line)
    along = _along(start, line, length)
    if along is None:
        stop = plan_velocity(start, limits.rest, limits)
        pieces.append(stop)
        rest = stop.at(stop.duration).position
        line = goal - rest
        length = float(line @ line)
        start, along = MotionState.at_rest(rest), (0.0, 0.0)
    if length <= TOLERANCE**2:
        return pieces
    moving = np.abs(line) > TOLERANCE
    for i in np.flatnonzero(moving & ~limits.can_move):
        _refuse_to_move(limits, int(i), float(line[i]))
    share = np.abs(line[moving])
    planner = _planner(1, threading.get_ident())
    request = ruckig.InputParameter(1)
    request.current_position, request.target_position = [0.0], [1.0]
    request.current_velocity, request.current_acceleration = [along[0]], [along[1]]
    request.max_velocity = [float(np.min(limits.velocity[moving] / share))]
    request.max_acceleration = [float(np.min(limits.acceleration[moving] / share))]
    request.max_jerk = [float(np.min(limits.jerk[moving] / share))]
    pieces.append(LineProfile(start.position, line, planner.solve(request, limits)))
    return pieces


def _along(start: MotionState, line: np.ndarray, length: float) -> tuple[float, float] | None:
    """Velocity and acceleration as multiples of the line; None where they point elsewhere."""
    if length <= TOLERANCE**2:
        at_rest = not start.velocity.any() and not start.acceleration.any()
        return (0.0, 0.0) if at_rest else None
    rates = []
    for vector in (start.velocity, start.acceleration):
        rate = float(vector @ line) / length
        if np.abs(vector - rate * line).max() > TOLERANCE:
            return None
        rates.append(rate)
    return rates[0], rates[1]


class _Planner:
    """Ruckig for a number of joints, with what would take longer to make than to plan with.

    Attributes:
        ramp: motions to positions are asked for with this.
        change: changes of velocity are asked for with this.
        zeros: a zero for each joint.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._ruckig = ruckig.Ruckig(size)
        self.zeros = [0.0] * size
        self.ramp = ruckig.InputParameter(size)
        self.change = ruckig.InputParameter(size)
        self.change.control_interface = ruckig.ControlInterface.Velocity
        self._limits: MotionLimits | None = None

    def fill(self, request: Any, start: MotionState, limits: MotionLimits) -> Any:
        """Request from a state and within bounds, with nothing left of the one before it."""
        if limits is not self._limits:
            self._take(limits)
        # Lists: ruckig takes them over thirty times faster than arrays.
        request.current_position = start.position.tolist()
        request.current_velocity = _without_dust(start.velocity)
        if limits.is_jerk_limited:
            request.current_acceleration = _without_dust(start.acceleration)
        # Phase: joints stay on a straight line where the states allow it, at no cost in time.
        request.synchronization = ruckig.Synchronization.Phase
        request.per_dof_synchronization = None
        return request

    def _take(self, limits: MotionLimits) -> None:
        """Have both requests keep other bounds; those of ruckig are positive always."""
        for request in (self.ramp, self.change):
            request.max_velocity, request.max_acceleration, request.max_jerk = limits.positive
            # What does not count where the acceleration may step.
            request.current_acceleration = self.zeros
        self._limits = limits

    def solve(self, request: Any, limits: MotionLimits) -> Any:
        """Trajectory for a request.

        Raises:
            MotionRefused: there is none.
        """
        trajectory = ruckig.Trajectory(self._size)
        try:
            result = self._ruckig.calculate(request, trajectory)
        except ruckig.RuckigError as error:
            raise goal_unreachable(limits.names, str(error).strip()) from error
        if result not in _SOLVED:
            raise goal_unreachable(limits.names, f'ruckig found none ({result})')
        return trajectory


@lru_cache(maxsize=16)
def _planner(size: int, thread: int) -> _Planner:
    """Planner for so many joints, one per thread: they have a state of their own."""
    return _Planner(size)


def _check_moving(start: MotionState, limits: MotionLimits, change: np.ndarray) -> None:
    """Refuse to move a joint that has a bound of zero; one that stays needs no bounds."""
    moving = (change > TOLERANCE) | (np.abs(start.velocity) > TOLERANCE)
    for i in np.flatnonzero(moving & ~limits.can_move):
        _refuse_to_move(limits, int(i), float(change[i]))


def _without_dust(vector: np.ndarray) -> list[float]:
    """Elements without the rounding errors that a finished ramp leaves instead of zeros."""
    low, high = -TOLERANCE, TOLERANCE
    return [0.0 if low < element < high else element for element in vector.tolist()]


def _refuse_to_move(limits: MotionLimits, joint: int, change: float) -> None:
    for name in ('velocity', 'acceleration', 'jerk'):
        if getattr(limits, name)[joint] <= 0.0:
            raise MotionRefused(
                f'joint {limits.names[joint]!r} must move by {change:g} but its {name} limit is 0'
            )


def _extremes(trajectory: Any) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest position of each joint on the way."""
    extrema = trajectory.position_extrema
    return np.array([bound.min for bound in extrema]), np.array([bound.max for bound in extrema])


def _is_inside(trajectory: Any, limits: MotionLimits) -> bool:
    """Whether no joint passes a position limit."""
    lowest, highest = limits.range_with_slack
    # In a loop, as conversions to arrays take longer.
    for bound, lower, upper in zip(trajectory.position_extrema, lowest, highest, strict=True):
        if bound.min < lower or bound.max > upper:
            return False
    return True


def _outside(trajectory: Any, start: MotionState, limits: MotionLimits) -> np.ndarray:
    """Joints that pass a position limit although they could stay inside."""
    lowest, highest = _extremes(trajectory)
    outside = (lowest < limits.lower - SLACK) | (highest > limits.upper + SLACK)
    if not outside.any():
        return outside
    # What braking at once cannot avoid any more is no fault of the goal.
    stop = plan_velocity(start, limits.rest, limits)
    down, up = _extremes(stop.trajectory)
    reach_down = np.minimum(limits.lower, down) - SLACK
    reach_up = np.maximum(limits.upper, up) + SLACK
    return (lowest < reach_down) | (highest > reach_up)


def _unsynchronised(
    planner: _Planner,
    request: Any,
    limits: MotionLimits,
    outside: np.ndarray,
    goal_velocity: np.ndarray,
) -> Any:
    """Motion in which joints that waiting for the others leads outside arrive earlier."""
    if np.abs(goal_velocity[outside]).max() > 0.0:
        raise goal_unreachable(
            [limits.names[i] for i in np.flatnonzero(outside)], 'it would pass a position limit'
        )
    request.per_dof_synchronization = [
        ruckig.Synchronization.No if left_out else ruckig.Synchronization.Time
        for left_out in outside
    ]
    return planner.solve(request, limits)
