"""A running ROS system as a page sees it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import rclpy
from rcl_interfaces.msg import ParameterEvent
from rclpy.context import Context
from rclpy.executors import (
    ExternalShutdownException,
    SingleThreadedExecutor,
    TimeoutException,
)
from rclpy.node import Node
from rclpy.qos import qos_profile_parameter_events

from cnoid_control.body import Body
from cnoid_control.body.formats.urdf import parse_urdf
from cnoid_control.exceptions import describe
from cnoid_control.ros.node.robot_model import wait_for_robot_description
from cnoid_control.ros.raw_dds import CONTEXT_ERRORS
from cnoid_control.runtime.config import RunConfig
from cnoid_control.viewer.frame import Frame
from cnoid_control.viewer.ros_actions import RosActions
from cnoid_control.viewer.ros_feed import RosFeed
from cnoid_control.viewer.source import Description

# Time between two looks at the messages [s]: the newest of each topic is taken.
PERIOD = 0.02
# ROS has ended.
LOST: tuple[type[BaseException], ...] = (ExternalShutdownException, *CONTEXT_ERRORS)
# Most messages that are taken at once.
BURST = 200


@dataclass(frozen=True)
class RosViewOptions:
    """Where the robot is found.

    Attributes:
        namespace: namespace of its topics and nodes.
        description: topic of its URDF.
        odometry: topic of the pose of its base (nav_msgs/Odometry); empty where tf has it.
        velocity: topic that velocity commands are published on.
        frame_prefix: what the names of its frames in tf begin with.
        timeout: longest wait for the description [s].
    """

    namespace: str = ''
    description: str = 'robot_description'
    odometry: str = ''
    velocity: str = 'cmd_vel'
    frame_prefix: str = ''
    timeout: float = 20.0


class RosSource:
    """Shows the robot that describes itself on a topic; acts through the control node."""

    def __init__(self, options: RosViewOptions, context: Context | None = None) -> None:
        """Wait for the robot, and listen.

        Args:
            options: where it is found.
            context: as rclpy has it.

        Raises:
            CnoidControlError: nobody describes the robot, or not in a way that can be read.
        """
        self.config: RunConfig | None = None
        self._node = Node(
            'cnoid_control_view',
            namespace=options.namespace,
            context=context,
            use_global_arguments=False,
        )
        try:
            text = wait_for_robot_description(self._node, options.description, options.timeout)
            self.body = Body(parse_urdf(text, f'topic {options.description}'))
            self._actions = RosActions(self._node, options.namespace, options.velocity)
            self._feed = RosFeed(
                self._node,
                self.body,
                options.frame_prefix,
                options.odometry,
                self._actions.control_node,
            )
        except Exception:
            self._node.destroy_node()
            raise
        self._revision = 0
        self._told: tuple[str, str] = ('', '')
        self._frame: Frame | None = None
        self._node.create_subscription(
            ParameterEvent, '/parameter_events', self._take_event, qos_profile_parameter_events
        )
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self._node)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._spin, name='view of ROS', daemon=True)
        self._thread.start()

    def frame(self) -> Frame | None:
        """What is known now; the same object again where nothing has come since."""
        frame = self._feed.frame()
        if frame is None:
            return None
        before = self._frame
        told = frame.controller, frame.state
        if told != self._told:
            # Another controller has other options.
            self._told = told
            self._revision += 1
        frame.revision = self._revision
        if before is not None and (before.tick, before.state, before.revision, before.reason) == (
            frame.tick,
            frame.state,
            frame.revision,
            frame.reason,
        ):
            return before
        self._frame = frame
        return frame

    def describe(self) -> Description:
        """What can be done now; asked of the nodes."""
        space = self._node.get_namespace().strip('/')
        title = f'{self.body.name} on ROS' + (f' in {space}' if space else '')
        return self._actions.describe(title, [link.name for link in self.body.links])

    def act(self, action: str, **arguments: Any) -> str:
        """Have a node do something; returns what came of it."""
        return self._actions.act(action, **arguments)

    def close(self) -> None:
        """Leave the system."""
        self._stop.set()
        self._thread.join()
        self._executor.shutdown()
        self._node.destroy_node()

    def _take_event(self, event: Any) -> None:
        if event.node in (self._actions.control_node, self._actions.simulation_node):
            self._revision += 1

    def _spin(self) -> None:
        while not self._stop.wait(PERIOD):
            try:
                self._take_all()
            except LOST:
                return
            except Exception as error:
                # One message that cannot be used must not end the view.
                self._node.get_logger().error(describe(error), throttle_duration_sec=5.0)

    def _take_all(self) -> None:
        """Take what waits: of most topics the newest message, and answers."""
        for _ in range(BURST):
            try:
                handler, _, _ = self._executor.wait_for_ready_callbacks(timeout_sec=0.0)
            except TimeoutException:
                return
            handler()
            handler.result()


def init_ros() -> None:
    """Begin ROS in this process, as the other programs here do."""
    from rclpy.signals import SignalHandlerOptions

    from cnoid_control.ros.transport import avoid_shared_memory

    avoid_shared_memory()
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
