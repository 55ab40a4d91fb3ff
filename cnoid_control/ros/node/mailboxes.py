"""Topics that feed mailboxes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pinocchio as pin
from rclpy.node import Node

from cnoid_control.exceptions import CnoidControlError, describe
from cnoid_control.plugin.mailbox import (
    JointTrajectory,
    JointValues,
    Joy,
    Mailbox,
    Message,
    Pose,
    Trigger,
    Twist,
    Value,
)
from cnoid_control.plugin.trajectory_goal import FollowTrajectory
from cnoid_control.ros.message_types import message_class
from cnoid_control.ros.node.trajectory_action import TrajectoryInterface

DEPTH = 10


class MailboxBridge:
    """Subscriptions and services for a set of mailboxes; they belong to the node's executor.

    `open` and `close` may be called from any thread.

    A number arrives as std_msgs/Float64, a twist as geometry_msgs/TwistStamped, a pose as
    geometry_msgs/PoseStamped, joint values as sensor_msgs/JointState, a joystick as
    sensor_msgs/Joy, a trajectory as trajectory_msgs/JointTrajectory, a trigger as a call of
    std_srvs/Trigger; goals to be followed as joint_trajectory_controller takes them. Mailboxes of
    other kinds are left to others.
    """

    def __init__(self, node: Node) -> None:
        """Bridge nothing yet."""
        self._node = node
        self._subscriptions: list[Any] = []
        self._services: list[Any] = []
        self._trajectories: list[TrajectoryInterface] = []
        self._lock = threading.RLock()

    def open(self, mailboxes: Iterable[Mailbox[Any]]) -> None:
        """Bridge these mailboxes and no others any more.

        What cannot be bridged is left out with a warning: the controllers have the robot already.
        """
        with self._lock:
            self.close()
            for mailbox in mailboxes:
                try:
                    self._bridge(mailbox)
                except Exception as error:
                    self._node.get_logger().warning(
                        f'mailbox {mailbox.name!r} gets nothing from ROS: {describe(error)}'
                    )

    def _bridge(self, mailbox: Mailbox[Any]) -> None:
        if mailbox.kind is Trigger:
            self._serve(mailbox)
        elif mailbox.kind is FollowTrajectory:
            self._trajectories.append(TrajectoryInterface(self._node, mailbox))
        elif mailbox.kind in CONVERTERS:
            self._subscribe(mailbox)

    def close(self) -> None:
        """Bridge nothing any more."""
        with self._lock:
            for subscription in self._subscriptions:
                self._node.destroy_subscription(subscription)
            for service in self._services:
                self._node.destroy_service(service)
            for interface in self._trajectories:
                interface.destroy()
            self._subscriptions, self._services, self._trajectories = [], [], []

    def _subscribe(self, mailbox: Mailbox[Any]) -> None:
        type_name, convert = CONVERTERS[mailbox.kind]

        def receive(message: Any) -> None:
            try:
                mailbox.post(convert(message))
            except (CnoidControlError, ValueError) as error:
                self._node.get_logger().warning(
                    f'{mailbox.topic}: {error}', throttle_duration_sec=1.0
                )

        self._subscriptions.append(
            self._node.create_subscription(message_class(type_name), mailbox.topic, receive, DEPTH)
        )

    def _serve(self, mailbox: Mailbox[Any]) -> None:
        from std_srvs.srv import Trigger as TriggerService

        def answer(request: Any, response: Any) -> Any:
            try:
                mailbox.post(Trigger())
                response.success = True
            except CnoidControlError as error:
                response.message = str(error)
            return response

        self._services.append(self._node.create_service(TriggerService, mailbox.topic, answer))


def _seconds(stamp: Any) -> float:
    return float(stamp.sec) + 1e-9 * float(stamp.nanosec)


def _vector(vector: Any) -> np.ndarray:
    return _finite(np.array([vector.x, vector.y, vector.z]), 'vector')


def _finite(values: np.ndarray, what: str) -> np.ndarray:
    if not np.isfinite(values).all():
        raise ValueError(f'the {what} is not finite: {values.tolist()}')
    return values


def _value(message: Any) -> Message:
    return Value(value=float(_finite(np.array(message.data), 'value')))


def _twist(message: Any) -> Message:
    return Twist(
        stamp=_seconds(message.header.stamp),
        frame=message.header.frame_id,
        linear=_vector(message.twist.linear),
        angular=_vector(message.twist.angular),
    )


def _pose(message: Any) -> Message:
    orientation = message.pose.orientation
    quaternion = np.array([orientation.x, orientation.y, orientation.z, orientation.w])
    length = np.linalg.norm(quaternion)
    if not abs(length - 1.0) < 0.1:
        raise ValueError(f'the orientation is not a unit quaternion: {quaternion.tolist()}')
    T = np.eye(4)
    T[:3, :3] = pin.Quaternion(quaternion / length).toRotationMatrix()
    T[:3, 3] = _vector(message.pose.position)
    return Pose(stamp=_seconds(message.header.stamp), frame=message.header.frame_id, T=T)


def _joy(message: Any) -> Message:
    return Joy(
        stamp=_seconds(message.header.stamp),
        axes=_finite(np.array(message.axes, dtype=float), 'position of the sticks'),
        buttons=tuple(int(button) for button in message.buttons),
    )


def _joint_values(message: Any) -> Message:
    arrays = {
        name: _finite(np.array(getattr(message, name), dtype=float), name)
        for name in ('position', 'velocity', 'effort')
    }
    for name, values in arrays.items():
        if values.size not in (0, len(message.name)):
            raise ValueError(f'{name} has {values.size} values for {len(message.name)} names')
    return JointValues(stamp=_seconds(message.header.stamp), names=tuple(message.name), **arrays)


def _trajectory(message: Any) -> Message:
    names = tuple(message.joint_names)
    times = [_seconds(point.time_from_start) for point in message.points]
    arrays = {}
    for name in ('positions', 'velocities', 'accelerations', 'effort'):
        rows = [list(getattr(point, name)) for point in message.points]
        if not any(rows):
            arrays[name] = np.zeros((0, 0))
        elif any(len(row) != len(names) for row in rows):
            raise ValueError(
                f'{name} must have {len(names)} values at every point, or none at all'
            )
        else:
            arrays[name] = _finite(np.array(rows), name)
    return JointTrajectory(
        stamp=_seconds(message.header.stamp),
        names=names,
        times=np.array(times),
        positions=arrays['positions'],
        velocities=arrays['velocities'],
        accelerations=arrays['accelerations'],
        efforts=arrays['effort'],
    )


CONVERTERS: dict[type, tuple[str, Callable[[Any], Message]]] = {
    Value: ('std_msgs/msg/Float64', _value),
    Twist: ('geometry_msgs/msg/TwistStamped', _twist),
    Pose: ('geometry_msgs/msg/PoseStamped', _pose),
    JointValues: ('sensor_msgs/msg/JointState', _joint_values),
    Joy: ('sensor_msgs/msg/Joy', _joy),
    JointTrajectory: ('trajectory_msgs/msg/JointTrajectory', _trajectory),
}
