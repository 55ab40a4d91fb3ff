"""A run through ros2_control without the control node."""

from __future__ import annotations

import contextlib
import threading

import rclpy
from rclpy.context import Context
from rclpy.executors import (
    ExternalShutdownException,
    ShutdownException,
    SingleThreadedExecutor,
)
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from cnoid_control.body import Body
from cnoid_control.parameters import not_allowed
from cnoid_control.ros.robot.hardware import Ros2ControlHardware
from cnoid_control.ros.robot.parameters import Ros2ControlParameters
from cnoid_control.ros.robot.supervision_node import SupervisionNode
from cnoid_control.ros.transport import avoid_shared_memory

# Longest wait for the executor to end [s].
SPIN_TIMEOUT = 2.0


class StandaloneHardware(Ros2ControlHardware):
    """The robot's topics, reached through a node of their own."""

    def __init__(
        self,
        body: Body,
        parameters: Ros2ControlParameters,
        time_step: float,
        device_topics: dict[str, str] | None = None,
    ) -> None:
        """Make the node and wait for the robot's first state.

        Args:
            body: the robot.
            parameters: options.
            time_step: period of a tick [s].
            device_topics: topics of the devices by name.

        Raises:
            HardwareError: the robot does not show itself.
            ParameterError: the rate is to follow the robot's, which only the node can do.
        """
        if parameters.rate_check == 'follow':
            raise not_allowed(
                'hardware.ros2_control.rate_check',
                'follow',
                'only the node cnoid_control follows the rate; give the rate, or ignore',
            )
        avoid_shared_memory()
        self._context = Context()
        # Ctrl-C ends the run; the context must live until the robot was left safe.
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._own_node = Node('cnoid_control', context=self._context)
        self._supervision = SupervisionNode(self._own_node)
        # Pictures are too large for the loop's thread: an executor takes them.
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._own_node)
        self._spinning = threading.Thread(target=self._spin, name='executor', daemon=True)
        self._spinning.start()
        super().__init__(
            body, parameters, time_step, self._own_node, self._supervision, device_topics
        )
        try:
            self.connect()
        except Exception:
            self.close()
            raise

    def _spin(self) -> None:
        with contextlib.suppress(ExternalShutdownException, ShutdownException):
            self._executor.spin()

    def close(self) -> None:
        """Leave the robot safe, and ROS too."""
        super().close()
        self._executor.shutdown(timeout_sec=SPIN_TIMEOUT)
        self._spinning.join(SPIN_TIMEOUT)
        self._supervision.close()
        if self._context.ok():
            self.node.destroy_node()
            rclpy.try_shutdown(context=self._context)
