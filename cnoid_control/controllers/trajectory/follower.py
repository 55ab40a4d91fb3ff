"""Trajectory following with tolerances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cnoid_control.controllers.trajectory.exceptions import (
    InvalidTrajectory,
)
from cnoid_control.controllers.trajectory.motion import MotionLimits, TrajectoryMotion
from cnoid_control.exceptions import choices
from cnoid_control.plugin.trajectory_goal import (
    FollowTrajectory,
    GoalState,
    JointTolerance,
    TrajectoryResult,
)

# Slower than this at the last point counts as standing [rad/s] or [m/s].
REST_VELOCITY = 1e-6


def check_trajectory(
    goal: FollowTrajectory, joints: Sequence[str], allow_partial: bool, allow_moving_end: bool
) -> None:
    """Refuse a trajectory that cannot be followed.

    Args:
        goal: the trajectory and its tolerances.
        joints: joints of the controller.
        allow_partial: whether it may be for some of the joints only.
        allow_moving_end: whether the last point may have a velocity.

    Raises:
        InvalidTrajectory: it cannot be followed; the message says why.
    """
    trajectory = goal.trajectory
    _check_joints(list(trajectory.names), goal, list(joints), allow_partial)
    times = trajectory.times
    points, width = len(times), len(trajectory.names)
    if points == 0:
        raise InvalidTrajectory('the trajectory has no points')
    for name in ('positions', 'velocities', 'accelerations', 'efforts'):
        array = getattr(trajectory, name)
        if array.size == 0 and name != 'positions':
            continue
        if array.shape != (points, width):
            raise InvalidTrajectory(
                f'{name}: {points} points of {width} joints expected, got shape {array.shape}'
            )
        if not np.isfinite(array).all():
            point, joint = np.argwhere(~np.isfinite(array))[0]
            raise InvalidTrajectory(
                f'{name}: point {point} of joint {trajectory.names[joint]!r} is '
                f'{array[point, joint]}'
            )
    if not np.isfinite(times).all() or times[0] < 0 or (np.diff(times) <= 0).any():
        raise InvalidTrajectory(
            f'times must be finite, not negative and increasing, got {times.tolist()}'
        )
    if not np.isfinite(goal.start_in):
        raise InvalidTrajectory(f'the start must be a finite time, got {goal.start_in}')
    if goal.start_in + times[-1] < 0:
        ago = -(goal.start_in + float(times[-1]))
        raise InvalidTrajectory(
            f'the trajectory ended {ago:.3f} s ago', TrajectoryResult.OLD_HEADER_TIMESTAMP
        )
    if trajectory.velocities.size and not allow_moving_end:
        last = np.abs(trajectory.velocities[-1])
        if (last > REST_VELOCITY).any():
            joint = int(np.argmax(last))
            raise InvalidTrajectory(
                f'joint {trajectory.names[joint]!r} still moves at the last point '
                f'({trajectory.velocities[-1, joint]}); it must be at rest'
            )


def _check_joints(
    names: list[str], goal: FollowTrajectory, joints: list[str], allow_partial: bool
) -> None:
    if not names:
        raise InvalidTrajectory('the trajectory names no joints')
    asked = [*names, *goal.path_tolerance, *goal.goal_tolerance]
    unknown = [name for name in asked if name not in joints]
    if unknown:
        raise _invalid_joints('unknown joints', unknown, joints)
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise _invalid_joints('joints named more than once', twice, joints)
    missing = [name for name in joints if name not in names]
    if missing and not allow_partial:
        raise _invalid_joints(
            'joints left out, and partial goals are not allowed', missing, joints
        )


def _invalid_joints(problem: str, names: Iterable[str], known: Iterable[str]) -> InvalidTrajectory:
    """The error about joints that are not there, or not all that are."""
    return InvalidTrajectory(
        f'{problem}: {", ".join(names)}; {choices(known)}', TrajectoryResult.INVALID_JOINTS
    )


@dataclass
class ToleranceDefaults:
    """What is allowed where a goal does not say; 0 or less allows anything.

    Attributes:
        path: position error on the way [rad] or [m], shape (joints,).
        goal: position error at the end [rad] or [m], shape (joints,).
        stopped_velocity: velocity error at the end [rad/s] or [m/s].
        goal_time: time after the end by which the goal must be reached [s].
    """

    path: np.ndarray
    goal: np.ndarray
    stopped_velocity: float = 0.01
    goal_time: float = 0.0


class TrajectoryFollower:
    """Keeps a reference and the goal that it serves.

    Attributes:
        joints: names of the joints.
        motion: the reference.
        goal: the goal that is followed; None for none.
    """

    def __init__(
        self,
        joints: Sequence[str],
        q: np.ndarray,
        defaults: ToleranceDefaults,
        limits: MotionLimits,
    ) -> None:
        """Hold the joints at `q`, shape (joints,)."""
        self.joints = tuple(joints)
        self.motion = TrajectoryMotion(q, limits)
        self.defaults = defaults
        self.goal: FollowTrajectory | None = None
        self._columns = {name: i for i, name in enumerate(self.joints)}
        self._path = self._goal = np.zeros((2, 0))
        self._goal_time = 0.0

    def accept(self, goal: FollowTrajectory, now: float) -> None:
        """Follow a goal, checked already, from the present reference on; ends the one before."""
        self.end(
            GoalState.CANCELED,
            TrajectoryResult.INVALID_GOAL,
            'Current goal cancelled due to new incoming action.',
        )
        columns = np.array([self._columns[name] for name in goal.trajectory.names])
        self.motion.follow(goal.trajectory, columns, now, goal.start_in)
        self.goal = goal
        concerned = np.zeros(len(self.joints), dtype=bool)
        concerned[columns] = True
        stopped = np.full(len(self.joints), self.defaults.stopped_velocity)
        self._path = self._tolerance(goal.path_tolerance, self.defaults.path, 0.0, concerned)
        self._goal = self._tolerance(goal.goal_tolerance, self.defaults.goal, stopped, concerned)
        self._goal_time = goal.goal_time or self.defaults.goal_time

    def _tolerance(
        self,
        given: Mapping[str, JointTolerance],
        position: np.ndarray,
        velocity: np.ndarray | float,
        concerned: np.ndarray,
    ) -> np.ndarray:
        """Allowed position and velocity errors, infinite for any, shape (2, joints)."""
        allowed = np.vstack([position, np.broadcast_to(velocity, position.shape)]).astype(float)
        for name, tolerance in given.items():
            column = self._columns[name]
            for row, value in enumerate((tolerance.position, tolerance.velocity)):
                if value != 0.0:
                    allowed[row, column] = value
        allowed[allowed <= 0.0] = np.inf
        allowed[:, ~concerned] = np.inf
        return allowed

    def end(self, state: GoalState, code: TrajectoryResult, text: str) -> None:
        """End the goal that is followed, if any; the reference goes on as it is."""
        if self.goal is not None:
            self.goal.handle.finish(state, code, text)
            self.goal = None

    def update(self, now: float, q: np.ndarray, dq: np.ndarray) -> None:
        """Move the reference to `now` and judge the goal.

        Args:
            now: the present time [s].
            q: measured positions, shape (joints,).
            dq: measured velocities, shape (joints,).
        """
        motion, goal = self.motion, self.goal
        if goal is not None and goal.handle.cancel_requested and motion.end_time > -np.inf:
            motion.brake(now)
        motion.update(now)
        if goal is None:
            return
        if motion.end_time == -np.inf:
            if motion.rests:
                self.end(GoalState.CANCELED, TrajectoryResult.SUCCESSFUL, 'Goal cancelled.')
            return
        errors = np.abs([motion.q - q, motion.dq - dq])
        if now < motion.end_time:
            self._judge_path(now, errors)
        else:
            self._judge_end(now, errors)

    def _judge_path(self, now: float, errors: np.ndarray) -> None:
        if (errors > self._path).any():
            self.end(
                GoalState.ABORTED,
                TrajectoryResult.PATH_TOLERANCE_VIOLATED,
                f'Aborted due to path tolerance violation: {self._worst(errors, self._path)}',
            )
            self.motion.brake(now)

    def _judge_end(self, now: float, errors: np.ndarray) -> None:
        late = now - self.motion.end_time
        if (errors <= self._goal).all():
            self.motion.finish()
            self.end(
                GoalState.SUCCEEDED, TrajectoryResult.SUCCESSFUL, 'Goal successfully reached!'
            )
        elif 0.0 < self._goal_time < late:
            self.motion.finish()
            self.end(
                GoalState.ABORTED,
                TrajectoryResult.GOAL_TOLERANCE_VIOLATED,
                f'Aborted due to goal_time_tolerance exceeding by {late - self._goal_time:.6f} '
                f'seconds: {self._worst(errors, self._goal)}',
            )

    def _worst(self, errors: np.ndarray, allowed: np.ndarray) -> str:
        row, column = np.unravel_index(int(np.argmax(errors / allowed)), errors.shape)
        what = ('position', 'velocity')[row]
        return (
            f'{what} error of joint {self.joints[column]!r} is {errors[row, column]:.6g}, '
            f'allowed is {allowed[row, column]:.6g}'
        )
