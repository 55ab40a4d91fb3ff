"""Trajectory topic and action."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.plugin.mailbox import Mailbox
from cnoid_control.plugin.trajectory_goal import FollowTrajectory, GoalState, TrajectoryStatus
from cnoid_control.ros.node.trajectory_messages import (
    fill_points,
    seconds,
    start_in,
    to_tolerances,
    to_trajectory,
)

TOPIC = '~/joint_trajectory'
STATE = '~/controller_state'
# Rate of feedback, results and the controller's state [Hz].
RATE = 50.0


class TrajectoryInterface:
    """Feeds a controller's mailbox from ROS and tells how its goals go.

    Serves `~/joint_trajectory`, the action `~/follow_joint_trajectory` and `~/controller_state`;
    the latter two where control_msgs is installed.
    """

    def __init__(
        self,
        node: Node,
        mailbox: Mailbox[FollowTrajectory],
        callback_group: CallbackGroup | None = None,
    ) -> None:
        """Advertise everything.

        Args:
            node: node whose names and clock are used.
            mailbox: the controller's.
            callback_group: group of the callbacks; the node's default one where None.
        """
        self._node = node
        self._mailbox = mailbox
        self._goals: list[tuple[ServerGoalHandle, FollowTrajectory]] = []
        self._subscription = node.create_subscription(
            JointTrajectory, TOPIC, self._on_trajectory, 1, callback_group=callback_group
        )
        self._action: _PatientActionServer | None = None
        try:
            from control_msgs.action import FollowJointTrajectory
            from control_msgs.msg import JointTrajectoryControllerState
        except ImportError as error:
            node.get_logger().warning(
                f'{mailbox.topic}: no action and no state of trajectories: {error}'
            )
            return
        self._kind = FollowJointTrajectory
        self._action = _PatientActionServer(
            node,
            FollowJointTrajectory,
            mailbox.topic,
            execute_callback=lambda handle: FollowJointTrajectory.Result(),
            goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel,
            callback_group=callback_group,
        )
        self._state_message: Any = JointTrajectoryControllerState()
        self._state = node.create_publisher(
            JointTrajectoryControllerState, STATE, 1, callback_group=callback_group
        )
        self._timer = node.create_timer(1.0 / RATE, self._report, callback_group=callback_group)

    def destroy(self) -> None:
        """Take everything back; goals that are under way are aborted."""
        if self._action is not None:
            for server_handle, goal in self._goals:
                goal.handle.request_cancel()
                server_handle.abort()
                self._action.give_result(server_handle, self._kind.Result())
            self._goals.clear()
            self._node.destroy_timer(self._timer)
            self._node.destroy_publisher(self._state)
            self._action.destroy()
            self._action = None
        self._node.destroy_subscription(self._subscription)

    def _now(self) -> float:
        return float(self._node.get_clock().now().nanoseconds) * 1e-9

    def _on_trajectory(self, message: JointTrajectory) -> None:
        goal = FollowTrajectory(
            trajectory=to_trajectory(message), start_in=start_in(message, self._now())
        )
        try:
            self._mailbox.post(goal)
        except CnoidControlError as error:
            self._node.get_logger().error(f'{self._subscription.topic_name}: refused: {error}')

    def _to_goal(self, request: Any) -> FollowTrajectory:
        return FollowTrajectory(
            trajectory=to_trajectory(request.trajectory),
            start_in=start_in(request.trajectory, self._now()),
            path_tolerance=to_tolerances(request.path_tolerance),
            goal_tolerance=to_tolerances(request.goal_tolerance),
            goal_time=seconds(request.goal_time_tolerance),
        )

    def _on_goal(self, request: Any) -> GoalResponse:
        try:
            self._mailbox.check(self._to_goal(request))
        except CnoidControlError as error:
            self._node.get_logger().error(f'{self._mailbox.topic}: goal rejected: {error}')
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _on_accepted(self, server_handle: ServerGoalHandle) -> None:
        goal = self._to_goal(server_handle.request)
        self._goals.append((server_handle, goal))
        server_handle.execute()
        self._mailbox.post(goal)

    def _on_cancel(self, server_handle: ServerGoalHandle) -> CancelResponse:
        for other, goal in self._goals:
            if other.goal_id == server_handle.goal_id:
                goal.handle.request_cancel()
                return CancelResponse.ACCEPT
        return CancelResponse.REJECT

    def _report(self) -> None:
        """Tell how the goals go, and what the controller does."""
        status = self._mailbox.status
        for server_handle, goal in tuple(self._goals):
            if goal.handle.done:
                self._goals.remove((server_handle, goal))
                self._finish(server_handle, goal)
            elif status is not None:
                server_handle.publish_feedback(self._feedback(status))
        if status is not None and self._state.get_subscription_count():
            self._publish_state(status)

    def _finish(self, server_handle: ServerGoalHandle, goal: FollowTrajectory) -> None:
        assert self._action is not None
        state = goal.handle.state
        if state is GoalState.SUCCEEDED:
            server_handle.succeed()
        elif state is GoalState.CANCELED and server_handle.is_cancel_requested:
            server_handle.canceled()
        else:
            # A goal that a newer one has replaced was not cancelled by its client.
            server_handle.abort()
        result = self._kind.Result(error_code=int(goal.handle.code), error_string=goal.handle.text)
        self._action.give_result(server_handle, result)

    def _feedback(self, status: TrajectoryStatus) -> Any:
        feedback: Any = self._kind.Feedback(joint_names=list(status.names))
        feedback.header.stamp = self._node.get_clock().now().to_msg()
        fill_points(status, feedback.desired, feedback.actual, feedback.error)
        return feedback

    def _publish_state(self, status: TrajectoryStatus) -> None:
        message = self._state_message
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.joint_names = list(status.names)
        message.speed_scaling_factor = 1.0
        fill_points(status, message.reference, message.feedback, message.error)
        message.output.effort = status.output.tolist()
        self._state.publish(message)


class _PatientActionServer(ActionServer):
    """An action server whose goals are ended from outside.

    A callback that waits would keep the executor busy for as long as the goal takes.
    """

    def notify_execute(
        self, goal_handle: ServerGoalHandle, execute_callback: Callable[..., Any] | None
    ) -> None:
        """Leave an accepted goal to whoever follows it."""

    def give_result(self, goal_handle: ServerGoalHandle, result: Any) -> None:
        """Send the result of a goal whose end has been declared, at once."""
        # Nothing in it waits, so that one step runs it to its end.
        with contextlib.suppress(StopIteration):
            self._execute_goal(lambda handle: result, goal_handle).send(None)
