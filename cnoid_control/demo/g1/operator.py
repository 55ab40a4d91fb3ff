"""The person at the robot: pushes it, and asks its node for another controller."""

from __future__ import annotations

import time
from typing import Any

import rclpy
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from cnoid_control.demo.process import DemoFailed

# Longest wait for an answer [s].
ANSWER_TIME = 60.0


class Operator:
    """Calls services of the simulated robot and of the control node."""

    def __init__(self, domain: int) -> None:
        """Join a ROS domain."""
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._node = Node('operator', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)

    def push(self) -> None:
        """Push the robot as the parameters of the simulator say."""
        answer = self._call(Trigger, 'cnoid_control_mujoco/push', Trigger.Request())
        if not answer.success:
            raise DemoFailed(f'the push was refused: {answer.message}')

    def swap(self, controller: str) -> None:
        """Have another controller take over.

        Raises:
            DemoFailed: the node refuses it, or does not answer.
        """
        value = Parameter('controller', value=controller).to_parameter_msg()
        request = SetParameters.Request(parameters=[value])
        result = self._call(SetParameters, 'cnoid_control/set_parameters', request).results[0]
        if not result.successful:
            raise DemoFailed(f'{controller} was refused: {result.reason}')

    def controller(self) -> str:
        """Name of the controller that has the robot."""
        request = GetParameters.Request(names=['controller'])
        answer = self._call(GetParameters, 'cnoid_control/get_parameters', request)
        return answer.values[0].string_value

    def close(self) -> None:
        """Leave the domain."""
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    def _call(self, kind: Any, name: str, request: Any) -> Any:
        client = self._node.create_client(kind, name)
        try:
            begin = time.monotonic()
            if not client.wait_for_service(ANSWER_TIME):
                raise DemoFailed(f'there is no service {name}')
            future = client.call_async(request)
            left = ANSWER_TIME - (time.monotonic() - begin)
            self._executor.spin_until_future_complete(future, left)
            if not future.done():
                raise DemoFailed(f'{name} does not answer')
            return future.result()
        finally:
            self._node.destroy_client(client)
