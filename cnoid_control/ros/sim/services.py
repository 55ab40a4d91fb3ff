"""What the simulated robot tells of itself on /diagnostics."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import TimeoutError as NoAnswer
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.parameters import not_allowed, parse_parameters
from cnoid_control.ros.node.diagnostics import OK, WARN, make_status
from cnoid_control.ros.node.parameters import SIMULATION_KEYS, nested_values, plain_value
from cnoid_control.ros.sim.commands import CommandInput
from cnoid_control.ros.sim.loop import Phase, SimulationLoop
from cnoid_control.ros.sim.parameters import SimulationParameters
from cnoid_control.runtime.config import merge

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
        push, hardware = self._parameters.push, self._loop.hardware
        link = hardware.body.link(push.link) if push.link else hardware.body.root_link
        force, point = np.array(push.force), np.array(push.point) if push.point else None
        return self._answer(
            response,
            lambda: hardware.push(link, force, push.duration, point),
            f'pushing {link.name} with {push.force} N for {push.duration} s',
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
            raise not_allowed('push.force', parsed.push.force, 'it needs 3 values')
        if len(parsed.push.point) not in (0, 3):
            raise not_allowed('push.point', parsed.push.point, 'it needs 3 values, or none')
        links = [link.name for link in self._loop.hardware.body.links]
        if parsed.push.link and parsed.push.link not in links:
            raise not_allowed('push.link', parsed.push.link, choices(links))
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


class SimulationDiagnostics:
    """Status of the simulation: how fast it goes, what it waits for, what it refused."""

    def __init__(self, loop: SimulationLoop, inputs: Callable[[], Sequence[CommandInput]]) -> None:
        """Look at this simulation."""
        self._loop = loop
        self._inputs = inputs
        self._before = (time.monotonic(), 0, 0)
        self._numbers: dict[str, float] = {}

    def statistics(self) -> dict[str, float]:
        """Numbers of the last look."""
        return self._numbers

    def collect(self) -> list[DiagnosticStatus]:
        """The present status."""
        loop, now = self._loop, time.monotonic()
        then, ticks, timeouts = self._before
        self._before = (now, loop.ticks, loop.pacing.timeouts)
        simulated = (loop.ticks - ticks) * loop.hardware.time_step
        factor = simulated / max(now - then, 1e-9)
        refused = sum(source.refused for source in self._inputs())
        self._numbers = {
            'real_time_factor': factor,
            'ticks': float(loop.ticks),
            'timeouts': float(loop.pacing.timeouts),
            'overruns': float(loop.pacing.overruns),
            'refused': float(refused),
        }
        values: dict[str, object] = {
            'active controllers': ', '.join(source.name for source in self._inputs()),
            'pacing': loop.pacing.mode,
            'real-time factor': factor,
            'ticks': loop.ticks,
            'commands that did not come in time': loop.pacing.timeouts,
            'overruns': loop.pacing.overruns,
            'commands refused': refused,
        }
        late = loop.pacing.timeouts - timeouts
        if loop.phase is Phase.RUNNING and late:
            return [make_status('simulation', WARN, f'{late} commands did not come', values)]
        return [make_status('simulation', OK, loop.phase.value, values)]
