"""Topics that feed mailboxes."""

from __future__ import annotations

import dataclasses
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
# Time between two looks at what is published where there is a choice [s].
LOOK_PERIOD = 0.5


class MailboxBridge:
    """Subscriptions and services for a set of mailboxes; they belong to the node's executor.

    `open` and `close` may be called from any thread.

    A number arrives as std_msgs/Float64, a twist as geometry_msgs/TwistStamped or, where that is
    what is published, geometry_msgs/Twist, a pose as geometry_msgs/PoseStamped, joint values as
    sensor_msgs/JointState, a joystick as sensor_msgs/Joy, a trajectory as
    trajectory_msgs/JointTrajectory, a trigger as a call of std_srvs/Trigger; goals to be followed
    as joint_trajectory_controller takes them. Mailboxes of other kinds are left to others.
    """

    def __init__(self, node: Node) -> None:
        """Bridge nothing yet."""
        self._node = node
        self._topics: list[MailboxTopic] = []
        self._look: Any = None
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
            for topic in self._topics:
                if topic.feeds_also(mailbox):
                    return
            topic = MailboxTopic(self._node, mailbox)
            self._topics.append(topic)
            if topic.has_choice and self._look is None:
                self._look = self._node.create_timer(LOOK_PERIOD, self._follow)

    def _follow(self) -> None:
        """Hear what is published, where there is a choice; in the node's executor."""
        with self._lock:
            for topic in self._topics:
                try:
                    topic.follow()
                except Exception as error:
                    self._node.get_logger().warning(
                        f'{topic.name}: {describe(error)}', throttle_duration_sec=10.0
                    )

    def close(self) -> None:
        """Bridge nothing any more."""
        with self._lock:
            if self._look is not None:
                self._node.destroy_timer(self._look)
                self._look = None
            for topic in self._topics:
                topic.close()
            for service in self._services:
                self._node.destroy_service(service)
            for interface in self._trajectories:
                interface.destroy()
            self._topics, self._services, self._trajectories = [], [], []

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


class MailboxTopic:
    """The subscription that feeds mailboxes which ask for the same.

    Where messages of several types can say the same, it takes the type that is published: a topic
    has one type in a process, so that the subscription is made anew for another one.

    Attributes:
        name: the topic.
        has_choice: whether there are several types.
    """

    def __init__(self, node: Node, mailbox: Mailbox[Any]) -> None:
        """Subscribe.

        Raises:
            ValueError: the mailbox asks for a type that cannot feed it.
        """
        self.name = mailbox.topic
        self._node = node
        self._mailboxes = [mailbox]
        self._converters = CONVERTERS[mailbox.kind]
        wanted = mailbox.message_type
        if wanted and wanted not in self._converters:
            raise ValueError(f'{wanted} is none of {", ".join(self._converters)}')
        self.has_choice = not wanted and len(self._converters) > 1
        self._subscription: Any = None
        self._subscribe(wanted or next(iter(self._converters)))

    def feeds_also(self, mailbox: Mailbox[Any]) -> bool:
        """Feed another mailbox, too, if it asks for the same; whether it does."""
        first = self._mailboxes[0]
        same = (first.topic, first.kind, first.message_type)
        if (mailbox.topic, mailbox.kind, mailbox.message_type) != same:
            return False
        self._mailboxes.append(mailbox)
        return True

    def _subscribe(self, type_name: str) -> None:
        self.close()
        self._type, convert = type_name, self._converters[type_name]

        def receive(message: Any) -> None:
            for mailbox in self._mailboxes:
                try:
                    mailbox.post(convert(message))
                except (CnoidControlError, ValueError) as error:
                    self._node.get_logger().warning(
                        f'{self.name}: {error}', throttle_duration_sec=1.0
                    )

        self._subscription = self._node.create_subscription(
            message_class(type_name), self.name, receive, DEPTH
        )

    def follow(self) -> None:
        """Take the type that is published, where that is another one."""
        if not self.has_choice:
            return
        topic, logger = self.name, self._node.get_logger()
        found = {info.topic_type for info in self._node.get_publishers_info_by_topic(topic)}
        usable = [name for name in self._converters if name in found]
        if not usable:
            if found:
                logger.warning(
                    f'{topic}: {", ".join(sorted(found))} is published, which is none of '
                    f'{", ".join(self._converters)}',
                    throttle_duration_sec=10.0,
                )
        elif self._type not in usable:
            logger.info(f'{topic}: {usable[0]} is published, and taken')
            self._subscribe(usable[0])
        elif len(usable) > 1:
            logger.warning(
                f'{topic}: {" and ".join(usable)} are published; only {self._type} is taken',
                throttle_duration_sec=10.0,
            )

    def close(self) -> None:
        """Unsubscribe."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None


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


def _twist(message: Any) -> Twist:
    return Twist(linear=_vector(message.linear), angular=_vector(message.angular))


def _twist_stamped(message: Any) -> Message:
    return dataclasses.replace(
        _twist(message.twist),
        stamp=_seconds(message.header.stamp),
        frame=message.header.frame_id,
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


# By kind of mailbox: the types of message that can feed it, the one that is expected first.
CONVERTERS: dict[type, dict[str, Callable[[Any], Message]]] = {
    Value: {'std_msgs/msg/Float64': _value},
    Twist: {
        'geometry_msgs/msg/TwistStamped': _twist_stamped,
        'geometry_msgs/msg/Twist': _twist,
    },
    Pose: {'geometry_msgs/msg/PoseStamped': _pose},
    JointValues: {'sensor_msgs/msg/JointState': _joint_values},
    Joy: {'sensor_msgs/msg/Joy': _joy},
    JointTrajectory: {'trajectory_msgs/msg/JointTrajectory': _trajectory},
}
