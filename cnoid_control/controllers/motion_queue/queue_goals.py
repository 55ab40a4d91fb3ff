"""Goals of the trajectory interfaces, run by a motion queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cnoid_control.controllers.motion_queue.queue_commands import take_trajectory
from cnoid_control.controllers.trajectory.check import check_trajectory
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.plugin import ControllerIO
from cnoid_control.plugin.follow_trajectory import (
    FollowTrajectory,
    GoalState,
    TrajectoryResult,
    TrajectoryStatus,
)

if TYPE_CHECKING:
    from cnoid_control.controllers.motion_queue_controller import MotionQueueController

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
