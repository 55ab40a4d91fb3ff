"""The controller that follows joint trajectories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cnoid_control.controllers.drive import DriveParameters, JointDrive
from cnoid_control.controllers.drive.laws import KINDS, Feedforward, refuse_unused, spread
from cnoid_control.controllers.trajectory.files import load_trajectory
from cnoid_control.controllers.trajectory.follower import (
    ToleranceDefaults,
    TrajectoryFollower,
    check_trajectory,
)
from cnoid_control.controllers.trajectory.motion import MotionLimits
from cnoid_control.parameters import FileName, parameter
from cnoid_control.plugin import ControllerIO, SimpleController
from cnoid_control.plugin.trajectory_goal import (
    FollowTrajectory,
    GoalState,
    JointTolerance,
    TrajectoryResult,
    TrajectoryStatus,
)
from cnoid_control.share import shared_file

MAILBOX = 'follow_joint_trajectory'


@dataclass
class TrajectoryParameters(DriveParameters):
    """How trajectories are followed."""

    path_tolerance: float | list[float] = parameter(
        0.0, 'position error allowed on the way, 0 for any', unit='rad or m', minimum=0.0
    )
    goal_tolerance: float | list[float] = parameter(
        0.0, 'position error allowed at the end, 0 for any', unit='rad or m', minimum=0.0
    )
    stopped_velocity_tolerance: float = parameter(
        0.01, 'velocity allowed at the end, 0 for any', unit='rad/s or m/s', minimum=0.0
    )
    goal_time: float = parameter(
        0.0,
        'time after the end by which the goal must be reached, 0 for any',
        unit='s',
        minimum=0.0,
    )
    allow_partial_joints_goal: bool = parameter(
        False, 'whether a trajectory may be for some of the joints only; the others stop'
    )
    allow_nonzero_velocity_at_trajectory_end: bool = parameter(
        False, 'whether the last point may have a velocity'
    )
    stop_acceleration: float = parameter(
        20.0, 'acceleration with which joints are stopped', unit='rad/s^2 or m/s^2', minimum=1e-3
    )
    stop_jerk: float = parameter(
        400.0, 'jerk with which joints are stopped', unit='rad/s^3 or m/s^3', minimum=1e-3
    )
    blend_time: float = parameter(
        0.2, 'time to pass over to a trajectory that begins at once', unit='s', minimum=1e-3
    )
    feedforward: str = parameter(
        'none',
        'torques added by the model: none, against gravity, or against inertia as well',
        choices=KINDS,
    )
    file: FileName = parameter(
        '',
        'trajectory to begin with: a file, or the name of a shared one in motion/',
        read_only=True,
    )
    finish: bool = parameter(False, 'whether the controller is done at the end of the file')


class TrajectoryController(SimpleController):
    """Follows the goals that come into its mailbox; holds the joints where it has none.

    Cubics or quintics join the points, by what the points give. A new goal takes over from the
    present reference without a jump; a cancelled one, and one that was left too far, end in a
    smooth stop.
    """

    Parameters = TrajectoryParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Take the joints over where they are."""
        self.io = io
        self.parameters: TrajectoryParameters = io.parameters
        self.drive = JointDrive(io, self.parameters)
        self._places = self.drive.places(None)
        self.follower = TrajectoryFollower(
            self.drive.names,
            self.drive.q,
            self._tolerances(self.parameters),
            self._limits(self.parameters),
        )
        self.mailbox = io.mailbox(MAILBOX, FollowTrajectory)
        self.mailbox.validate = self._check
        self._feedforward = Feedforward(io.body, self.drive.joints)
        self._first: FollowTrajectory | None = None
        if self.parameters.file:
            self._first = self._load(self.parameters.file)
        return True

    def _load(self, name: str) -> FollowTrajectory:
        names = self.drive.names
        trajectory = load_trajectory(shared_file('motion', name, '.npz'), names)
        # The end of a file is the end of it; who wants to wait for the joints says so by a goal.
        anything = {name: JointTolerance(velocity=-1.0) for name in trajectory.names}
        goal = FollowTrajectory(trajectory=trajectory, goal_tolerance=anything)
        self._check(goal)
        return goal

    def _tolerances(self, parameters: TrajectoryParameters) -> ToleranceDefaults:
        size = self.drive.size
        return ToleranceDefaults(
            path=spread('path_tolerance', parameters.path_tolerance, size),
            goal=spread('goal_tolerance', parameters.goal_tolerance, size),
            stopped_velocity=parameters.stopped_velocity_tolerance,
            goal_time=parameters.goal_time,
        )

    def _limits(self, parameters: TrajectoryParameters) -> MotionLimits:
        return MotionLimits(
            parameters.stop_acceleration, parameters.stop_jerk, parameters.blend_time
        )

    def _check(self, goal: FollowTrajectory) -> None:
        check_trajectory(
            goal,
            self.drive.names,
            self.parameters.allow_partial_joints_goal,
            self.parameters.allow_nonzero_velocity_at_trajectory_end,
        )

    def start(self) -> bool:
        """Begin at rest at the measured position."""
        self.follower.motion.hold(self.drive.sensed_q)
        if self._first is not None:
            self.mailbox.post(self._first)
        return True

    def control(self) -> bool:
        """Move the reference on and servo the joints to it."""
        now, drive, follower = self.io.current_time, self.drive, self.follower
        while (goal := self.mailbox.take()) is not None:
            follower.accept(goal, now)
        q, dq = drive.sensed_q, drive.sensed_dq
        follower.update(now, q, dq)
        motion = follower.motion
        kind = self.parameters.feedforward
        torque = self._feedforward.torque(kind, motion.q, motion.dq, motion.ddq)
        drive.set_pid(self._places, motion.q, motion.dq, torque)
        drive.write(self.io.time_step)
        self.mailbox.status = TrajectoryStatus(
            now,
            drive.names,
            motion.q.copy(),
            motion.dq.copy(),
            motion.ddq.copy(),
            q,
            dq,
            self._output(),
        )
        ended = self._first is not None and self._first.handle.done
        return not (self.parameters.finish and ended)

    def _output(self) -> np.ndarray:
        """Commands that were written: efforts, or positions of servos."""
        body = self.io.body
        commands = body.q_target if self.parameters.actuators == 'servo' else body.u
        return commands[self.drive.joints]

    def stop(self) -> None:
        """End the goal that is under way."""
        self.follower.end(
            GoalState.ABORTED, TrajectoryResult.INVALID_GOAL, 'The controller was stopped.'
        )

    def update_parameters(self, old: TrajectoryParameters, new: TrajectoryParameters) -> None:
        """Use new gains, tolerances and limits; a goal under way keeps its tolerances."""
        refuse_unused(old, new, 'feedforward')
        gains = self.drive.find_gains(new)
        tolerances = self._tolerances(new)
        self.parameters = new
        self.drive.gains[:] = gains
        self.follower.defaults = tolerances
        self.follower.motion.limits = self._limits(new)

    def report(self) -> dict[str, Any]:
        """Whether a goal is followed, and how far the joints are from the reference."""
        status = self.mailbox.status
        error = 0.0 if status is None else float(np.abs(status.q - status.q_actual).max())
        return {'following': self.follower.goal is not None, 'largest error': error}
