"""What can be asked of the simulated robot while it runs: reset, push, and other options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import TimeoutError as NoAnswer
from typing import Any

import numpy as np
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import parse_parameters
from cnoid_control.parameters.exceptions import ParameterOutOfRange
from cnoid_control.ros.node_keys import SIMULATION_KEYS
from cnoid_control.ros.parameter_schema import nested_values, plain_value
from cnoid_control.ros.sim_loop import SimulationLoop
from cnoid_control.ros.sim_parameters import SimulationParameters
from cnoid_control.runtime.config_file import merge

# Longest wait for the simulation's thread to do what was asked for [s].
REQUEST_TIMEOUT = 5.0


class SimulationServices:
    """Serves `~/reset` and `~/push`, and takes over parameters that are changed."""

    def __init__(self, node: Node, loop: SimulationLoop, parameters: SimulationParameters) -> None:
        """Advertise the services."""
        self._node = node
        self._loop = loop
        self._parameters = parameters
        node.create_service(Trigger, '~/reset', self._on_reset)
        node.create_service(Trigger, '~/push', self._on_push)
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._take)

    def _on_reset(self, request: Any, response: Any) -> Any:
        return self._answer(response, self._loop.reset, 'the robot is back at its start')

    def _on_push(self, request: Any, response: Any) -> Any:
        push, actuation = self._parameters.push, self._loop.actuation
        force = np.array(push.force)
        return self._answer(
            response,
            lambda: actuation.push(force, push.duration),
            f'pushing {actuation.pushed} with {push.force} N for {push.duration} s',
        )

    def _answer(self, response: Any, action: Callable[[], None], done: str) -> Any:
        """Do something in the simulation's thread and tell whether it was done."""
        try:
            self._loop.call(action).result(REQUEST_TIMEOUT)
            response.success, response.message = True, done
        except NoAnswer:
            response.message = f'the simulation did not take it in {REQUEST_TIMEOUT} s'
        except CnoidControlError as error:
            response.message = str(error)
        self._node.get_logger().info(response.message)
        return response

    def _parse(self, changes: Sequence[Parameter]) -> SimulationParameters:
        changed = {change.name: plain_value(change) for change in changes}
        values = merge(nested_values(self._node), changed)
        parsed = parse_parameters(
            SimulationParameters, {key: values[key] for key in values if key in SIMULATION_KEYS}
        )
        if len(parsed.push.force) != 3:
            raise ParameterOutOfRange('push.force', parsed.push.force, 'it needs 3 values')
        return parsed

    def _check(self, changes: list[Parameter]) -> SetParametersResult:
        try:
            self._parse(changes)
        except CnoidControlError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _take(self, changes: list[Parameter]) -> None:
        self._parameters = self._parse(changes)
        self._loop.pacing.factor = self._parameters.real_time_factor
        self._loop.pacing.timeout = self._parameters.command_timeout
