"""Trajectory goals and their results."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import NamedTuple

import numpy as np

from cnoid_control.plugin.mailbox import JointTrajectory, Message


class GoalState(Enum):
    """Where a goal stands."""

    ACTIVE = 'active'
    CANCELING = 'canceling'
    SUCCEEDED = 'succeeded'
    ABORTED = 'aborted'
    CANCELED = 'canceled'


class TrajectoryResult(IntEnum):
    """How a goal ended; the numbers are those of control_msgs/FollowJointTrajectory."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class TrajectoryStatus(NamedTuple):
    """What the controller followed and measured in one tick; arrays have one element per joint.

    Attributes:
        time: time of the tick [s].
        names: joints, in the order of the arrays.
        q, dq, ddq: reference [rad, rad/s, rad/s^2] or [m, m/s, m/s^2].
        q_actual, dq_actual: measured.
        output: command that was sent, in the unit of the command interface.
    """

    time: float
    names: tuple[str, ...]
    q: np.ndarray
    dq: np.ndarray
    ddq: np.ndarray
    q_actual: np.ndarray
    dq_actual: np.ndarray
    output: np.ndarray


@dataclass(frozen=True)
class JointTolerance:
    """Largest allowed errors of a joint; 0 for the controller's default, negative for any.

    Attributes:
        position: [rad] or [m].
        velocity: [rad/s] or [m/s].
    """

    position: float = 0.0
    velocity: float = 0.0


class GoalHandle:
    """The thread-safe string between who wants a trajectory followed and who follows it.

    Attributes:
        state: where the goal stands.
        code: how it ended; meaningful once it is done.
        text: the same in words.
    """

    def __init__(self) -> None:
        """Make the handle of a goal that is not done."""
        self.state = GoalState.ACTIVE
        self.code = TrajectoryResult.SUCCESSFUL
        self.text = ''
        self._done = threading.Event()

    def request_cancel(self) -> None:
        """Ask for a smooth stop; the goal is done when the reference rests."""
        if not self.done:
            self.state = GoalState.CANCELING

    @property
    def cancel_requested(self) -> bool:
        """Whether a stop was asked for and the goal is not done yet."""
        return self.state is GoalState.CANCELING

    @property
    def done(self) -> bool:
        """Whether the goal has ended, one way or another."""
        return self._done.is_set()

    def finish(self, state: GoalState, code: TrajectoryResult, text: str) -> None:
        """End the goal; the first end counts."""
        if not self.done:
            self.state, self.code, self.text = state, code, text
            self._done.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the goal is done; False after `timeout` seconds."""
        return self._done.wait(timeout)


@dataclass(frozen=True)
class FollowTrajectory(Message):
    """A trajectory with what is allowed on the way.

    Attributes:
        trajectory: the points.
        start_in: time from the posting to the trajectory's time 0 [s]; negative for one that has
            begun already.
        path_tolerance: allowed errors on the way, by joint.
        goal_tolerance: allowed errors at the end, by joint.
        goal_time: time after the end by which the goal must be reached [s]; 0 for the
            controller's default, negative for any.
        handle: how it goes.
    """

    trajectory: JointTrajectory = field(default_factory=JointTrajectory)
    start_in: float = 0.0
    path_tolerance: dict[str, JointTolerance] = field(default_factory=dict)
    goal_tolerance: dict[str, JointTolerance] = field(default_factory=dict)
    goal_time: float = 0.0
    handle: GoalHandle = field(default_factory=GoalHandle)
