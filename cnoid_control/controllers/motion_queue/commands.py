"""Motion queue commands from mailboxes and options."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cnoid_control.controllers.drive import DriveParameters
from cnoid_control.controllers.drive.laws import KINDS
from cnoid_control.controllers.motion_queue.exceptions import invalid_duration, wrong_size
from cnoid_control.controllers.trajectory.follower import check_trajectory
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import parameter
from cnoid_control.plugin import ControllerIO
from cnoid_control.plugin.mailbox import JointTrajectory
from cnoid_control.plugin.trajectory_goal import (
    FollowTrajectory,
    GoalState,
    TrajectoryResult,
    TrajectoryStatus,
)

if TYPE_CHECKING:
    from cnoid_control.controllers.motion_queue.controller import MotionQueueController


@dataclass
class QueueItem:
    """One motion of a queue."""

    kind: str = parameter(
        'milestone',
        'what to do',
        choices=('milestone', 'milestone_linear', 'linear', 'cubic', 'velocity', 'wait'),
    )
    q: list[float] = parameter([], 'positions to reach', unit='rad or m')
    dq: list[float] = parameter([], 'velocities there; 0 where empty', unit='rad/s or m/s')
    duration: float = parameter(
        0.0, 'time of a linear, cubic or velocity motion, or of a wait', unit='s', minimum=0.0
    )
    joints: list[str] = parameter([], 'joints it is about; all of the queue where empty')


@dataclass
class QueueParameters(DriveParameters):
    """Which joints move, within which bounds, and what they do first."""

    max_velocity: float | list[float] = parameter(
        math.inf, "speed limit; the model's where that is lower", unit='rad/s or m/s', minimum=0.0
    )
    max_acceleration: float | list[float] = parameter(
        10.0, 'acceleration limit', unit='rad/s^2 or m/s^2', minimum=0.0
    )
    max_jerk: float | list[float] = parameter(
        math.inf, 'jerk limit; infinite for none', unit='rad/s^3 or m/s^3', minimum=0.0
    )
    smooth: bool = parameter(
        False, 'whether linear, cubic and velocity motions keep the acceleration limits too'
    )
    refuse_beyond_limits: bool = parameter(
        False, 'whether goals beyond the limits are refused; they are clamped otherwise'
    )
    feed_rate: float = parameter(
        1.0, 'share of the velocity limits in use; 0 pauses', minimum=0.0, maximum=1.0
    )
    feedforward: str = parameter(
        'none',
        'torques added by the model: none, against gravity, or against inertia as well',
        choices=KINDS,
    )
    queue: dict[str, QueueItem] = parameter(
        {}, 'motions to start with, by name, in the order of the names', read_only=True
    )
    repeat: int = parameter(1, 'how often these motions are run', minimum=1, read_only=True)
    finish: bool = parameter(False, 'whether the controller is done when the queue is empty')
    sensors: list[str] = parameter(
        [], "devices to read, for sensor(); 'all' for every one", read_only=True
    )


MAILBOX = 'follow_joint_trajectory'


class QueueGoals:
    """Puts goals into the queue and tells how they go.

    A goal has succeeded when the queue has run it; it is given up for whatever else is asked of
    the queue, and braked when it is cancelled. It begins at once, whenever it was to start, and
    has no tolerances: both are left to the trajectory controller.
    """

    def __init__(self, controller: MotionQueueController, io: ControllerIO) -> None:
        """Open the mailbox."""
        self._controller = controller
        self._mailbox = io.mailbox(MAILBOX, FollowTrajectory)
        self._mailbox.validate = self._check
        self._goal: FollowTrajectory | None = None
        self._requests = 0

    def _check(self, goal: FollowTrajectory) -> None:
        check_trajectory(goal, self._controller.drive.names, True, False)

    def take(self) -> None:
        """Take new goals over and see to the present one; called before the queue goes on."""
        controller = self._controller
        if self._goal is not None and controller.requests != self._requests:
            self.end(GoalState.ABORTED, TrajectoryResult.INVALID_GOAL, 'Another motion came.')
        while (goal := self._mailbox.take()) is not None:
            self.end(GoalState.CANCELED, TrajectoryResult.INVALID_GOAL, 'Another goal came.')
            try:
                take_trajectory(controller, goal.trajectory, append=False)
            except CnoidControlError as error:
                goal.handle.finish(GoalState.ABORTED, TrajectoryResult.INVALID_GOAL, str(error))
                continue
            self._goal = goal
        if self._goal is not None and self._goal.handle.cancel_requested:
            if controller.queue.remaining_time > 0.0:
                controller.brake()
            elif not controller.queue.is_moving:
                self.end(GoalState.CANCELED, TrajectoryResult.SUCCESSFUL, 'Goal cancelled.')
        self._requests = controller.requests

    def tell(self, time: float) -> None:
        """Say what is commanded and measured; called after the queue has gone on."""
        controller, state = self._controller, self._controller.queue.state
        self._mailbox.status = TrajectoryStatus(
            time,
            controller.drive.names,
            *state,
            controller.get_sensed_config(),
            controller.get_sensed_velocity(),
            controller.get_commanded_torque(),
        )
        goal = self._goal
        if goal is None or controller.queue.is_moving or goal.handle.cancel_requested:
            return
        self.end(GoalState.SUCCEEDED, TrajectoryResult.SUCCESSFUL, 'Goal successfully reached!')

    def end(self, state: GoalState, code: TrajectoryResult, text: str) -> None:
        """End the present goal, if there is one."""
        if self._goal is not None:
            self._goal.handle.finish(state, code, text)
            self._goal = None


def add_items(controller: MotionQueueController, items: Iterable[QueueItem]) -> None:
    """Append configured motions.

    Raises:
        MotionRefused: one of them cannot be done.
    """
    for item in items:
        joints = item.joints or None
        if item.kind == 'milestone':
            controller.add_milestone(item.q, item.dq or None, joints)
        elif item.kind == 'milestone_linear':
            controller.add_milestone_linear(item.q, joints)
        elif item.kind == 'linear':
            controller.add_linear(item.q, item.duration, joints)
        elif item.kind == 'cubic':
            dq = item.dq or np.zeros(len(item.q))
            controller.add_cubic(item.q, dq, item.duration, joints)
        elif item.kind == 'velocity':
            controller.add_velocity(item.dq, item.duration, joints)
        else:
            controller.add_wait(item.duration)


def take_trajectory(
    controller: MotionQueueController, message: JointTrajectory, append: bool
) -> None:
    """Run a trajectory: one point without time is a milestone, timed points are joined.

    Points with velocities are joined by cubics, others by straight lines.

    Args:
        controller: the controller whose queue is to run it.
        message: the points.
        append: whether to wait for the end of the queue; otherwise it starts now.

    Raises:
        MotionRefused: it cannot be run; the queue is as it was.
    """
    names = tuple(message.names)
    positions = np.atleast_2d(message.positions)
    if positions.shape[1:] != (len(names),):
        raise wrong_size('trajectory', positions.tolist(), positions.shape[-1], len(names))
    count = len(positions)
    times = np.asarray(message.times, dtype=float)
    velocities: list[np.ndarray | None] = [None] * count
    if np.size(message.velocities):
        velocities = list(np.atleast_2d(message.velocities))
    if count == 1 and not times.any():
        milestone = controller.add_milestone if append else controller.set_milestone
        milestone(positions[0], velocities[0], names)
        return
    if times.shape != (count,):
        raise wrong_size('times of the trajectory', times.tolist(), times.size, count)
    with controller.queue.all_or_nothing():
        last = 0.0
        for time, q, dq in zip(times, positions, velocities, strict=True):
            if time == 0.0 and last == 0.0:
                # The point to start from: the queue starts where it is.
                continue
            if not time > last:
                raise invalid_duration('trajectory', time - last, '> 0 between points')
            if dq is None:
                linear = controller.add_linear if append else controller.set_linear
                linear(q, time - last, names)
            else:
                cubic = controller.add_cubic if append else controller.set_cubic
                cubic(q, dq, time - last, names)
            last, append = time, True
