"""Whether a trajectory can be followed at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cnoid_control.controllers.trajectory.exceptions import (
    InvalidTrajectory,
    InvalidTrajectoryJoints,
    TrajectoryInThePast,
)
from cnoid_control.plugin.follow_trajectory import FollowTrajectory

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
        raise TrajectoryInThePast(goal.start_in + float(times[-1]))
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
        raise InvalidTrajectoryJoints('unknown joints', unknown, joints)
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InvalidTrajectoryJoints('joints named more than once', twice, joints)
    missing = [name for name in joints if name not in names]
    if missing and not allow_partial:
        raise InvalidTrajectoryJoints(
            'joints left out, and partial goals are not allowed', missing, joints
        )
