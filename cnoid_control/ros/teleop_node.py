"""Teleop through ROS: what a keyboard or gamepad says, published as twists and sticks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import Twist as TwistMessage
from geometry_msgs.msg import TwistStamped
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import Joy as JoyMessage
from std_srvs.srv import Trigger

from cnoid_control.controllers.joystick import ENABLE_BUTTON
from cnoid_control.plugin.mailbox import Joy, Twist
from cnoid_control.ros.raw_dds import CONTEXT_ERRORS
from cnoid_control.ros.signals import catch_stop_signals
from cnoid_control.ros.transport import avoid_shared_memory
from cnoid_control.teleop.device import TeleopDevice
from cnoid_control.teleop.twists import twist_of

# Zeros that are published when nothing is held any more: one of them may be lost.
ZEROS = 3
# Time in which a stop must be answered [s]; then it is said that it was not.
STOP_PATIENCE = 2.0


@dataclass(frozen=True)
class TeleopOptions:
    """What is published, and whom a stop is asked of.

    Attributes:
        namespace: namespace of the node; topics and the service are relative to it.
        topic: topic of the twists; empty for none.
        stamped: whether they are geometry_msgs/TwistStamped.
        frame: their frame.
        joy: topic of sensor_msgs/Joy; empty for none.
        speed: vx, vy [m/s] and yaw rate [rad/s] at full stick.
        enable_button: button that must be held for twists; negative for none.
        rate: messages per second [Hz].
        stop_service: service (std_srvs/Trigger) that a stop calls.
    """

    namespace: str = ''
    topic: str = 'cmd_vel'
    stamped: bool = False
    frame: str = 'base_link'
    joy: str = ''
    speed: tuple[float, float, float] = (0.5, 0.5, 1.0)
    enable_button: int = ENABLE_BUTTON
    rate: float = 20.0
    stop_service: str = 'cnoid_control/stop'


class TeleopNode(Node):
    """Publishes twists while the enabling button is held, sticks always, and asks for stops.

    When the button is released zeros are published, and then no twists: others may use the topic.

    Attributes:
        is_stopping: whether a stop was asked for that was not answered yet.
    """

    def __init__(
        self,
        device: TeleopDevice,
        options: TeleopOptions,
        tell: Callable[[str], None],
        context: Context | None = None,
    ) -> None:
        """Make the publishers.

        Args:
            device: what is held.
            options: what is published.
            tell: told in one line what happens.
            context: as rclpy has it.
        """
        # The program's own words are no ROS arguments.
        super().__init__(
            'cnoid_control_teleop',
            namespace=options.namespace,
            context=context,
            use_global_arguments=False,
        )
        self._device, self._options, self._tell = device, options, tell
        self._ahead = np.array(options.speed)
        kind = TwistStamped if options.stamped else TwistMessage
        self._twists = self.create_publisher(kind, options.topic, 10) if options.topic else None
        self._sticks = self.create_publisher(JoyMessage, options.joy, 10) if options.joy else None
        self._stop = self.create_client(Trigger, options.stop_service)
        self._service = self.resolve_service_name(options.stop_service)
        self._zeros = 0
        self.is_stopping = False
        self._asked = 0.0
        self._answer: Any = None
        self.create_timer(1.0 / options.rate, self._publish)

    def _publish(self) -> None:
        if self._device.take_stop():
            self.stop()
        self._look_for_answer()
        joy = self._device.read()
        if self._sticks is not None:
            self._sticks.publish(self._joy_message(joy))
        if self._twists is None:
            return
        twist = twist_of(joy, self._ahead, self._options.enable_button)
        if twist is not None:
            self._zeros = ZEROS
        elif self._zeros > 0:
            self._zeros -= 1
            twist = Twist()
        if twist is not None:
            self._twists.publish(self._twist_message(twist))

    def stop(self) -> None:
        """Publish zero, and ask for a stop until it is answered."""
        self._zeros = max(self._zeros, ZEROS)
        if self._twists is not None:
            self._twists.publish(self._twist_message(Twist()))
        self.is_stopping, self._answer, self._asked = True, None, time.monotonic()
        self._tell(f'STOP: calling {self._service}')

    def _look_for_answer(self) -> None:
        """Call the service as soon as it is there; say what it has answered."""
        if not self.is_stopping:
            return
        if self._answer is None and self._stop.service_is_ready():
            self._answer = self._stop.call_async(Trigger.Request())
        if self._answer is not None and self._answer.done():
            result, self.is_stopping = self._answer.result(), False
            word = 'stopped' if result.success else 'NOT STOPPED'
            self._tell(f'{word}: {result.message}')
        elif time.monotonic() - self._asked > STOP_PATIENCE:
            self._asked = time.monotonic()
            self._tell(f'NOT STOPPED: {self._service} does not answer; still trying')

    def release(self) -> None:
        """Publish that nothing is held; at the end."""
        if self._twists is not None:
            self._twists.publish(self._twist_message(Twist()))
        if self._sticks is not None:
            self._sticks.publish(self._joy_message(Joy()))

    def _twist_message(self, twist: Twist) -> Any:
        message = TwistMessage()
        for vector, values in ((message.linear, twist.linear), (message.angular, twist.angular)):
            vector.x, vector.y, vector.z = (float(value) for value in values)
        if not self._options.stamped:
            return message
        stamped = TwistStamped(twist=message)
        stamped.header.stamp = self.get_clock().now().to_msg()
        stamped.header.frame_id = self._options.frame
        return stamped

    def _joy_message(self, joy: Joy) -> JoyMessage:
        message = JoyMessage(axes=[float(axis) for axis in joy.axes], buttons=list(joy.buttons))
        message.header.stamp = self.get_clock().now().to_msg()
        return message


def run_teleop(device: TeleopDevice, options: TeleopOptions, tell: Callable[[str], None]) -> int:
    """Publish until the device is left or a signal comes; returns the exit status."""
    avoid_shared_memory()
    ended: threading.Event = catch_stop_signals()
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = TeleopNode(device, options, tell)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    tell(f'{device.name}: {device.help}')
    try:
        while not ended.is_set() and not device.end:
            executor.spin_once(timeout_sec=0.1)
        # A stop that was asked for last is still called.
        deadline = time.monotonic() + STOP_PATIENCE
        while node.is_stopping and time.monotonic() < deadline:
            executor.spin_once(timeout_sec=0.1)
        node.release()
        time.sleep(0.05)
    except CONTEXT_ERRORS as error:
        tell(f'ROS has ended: {error}')
        return 1
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    tell(device.end or 'ended')
    return 0
