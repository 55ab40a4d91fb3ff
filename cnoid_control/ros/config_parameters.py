"""The node's parameters: declared from the schemas, checked, and applied while it runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from cnoid_control.exceptions import CnoidControlError, describe
from cnoid_control.parameters import parse_parameters
from cnoid_control.plugin.exceptions import UnknownController
from cnoid_control.plugin.registry import (
    controller_names,
    find_controller,
    instance_name,
    is_file_plugin,
)
from cnoid_control.ros.exceptions import FilePluginRefused, FixedParameter
from cnoid_control.ros.fast_path import GONE
from cnoid_control.ros.node_keys import CONTROL_KEYS, NODE_KEYS
from cnoid_control.ros.node_parameters import NodeParameters
from cnoid_control.ros.operation import Operation
from cnoid_control.ros.parameter_schema import (
    RCLPY_PARAMETERS,
    declare_schema,
    nested_values,
    plain_value,
)
from cnoid_control.ros.ros2_control_parameters import Ros2ControlParameters
from cnoid_control.runtime.config import RunConfig, RunParameters, parse_config
from cnoid_control.runtime.config_file import merge

RUN_KEYS = tuple(item.name for item in fields(RunParameters))


class ConfigParameters:
    """Declares, checks and applies the parameters of a node.

    Before the node is configured everything may be changed; later the controller (which is
    swapped when the loop runs), its options and the node's own options.
    """

    def __init__(self, node: Node) -> None:
        """Declare everything that is known before a controller is loaded."""
        self._node = node
        self._operation: Operation | None = None
        self._swapped: Callable[[], None] = lambda: None
        self._declaring = False
        self._sections: set[str] = set()
        self._declare(NodeParameters, '')
        self._declare(RunParameters, '')
        self._declare(Ros2ControlParameters, 'hardware.ros2_control.')
        self._declare_controller(plain_value(node.get_parameter('controller')))
        node.add_on_set_parameters_callback(self._on_set)
        self._given_up: CnoidControlError | None = None
        self._guard = node.create_guard_condition(self._go_back)

    @property
    def autostart(self) -> bool:
        """Whether the node configures and activates itself."""
        return bool(self._node.get_parameter('autostart').value)

    def parse(self) -> tuple[RunConfig, NodeParameters]:
        """The present parameters, checked.

        Raises:
            ParameterError: one is unknown, missing, of the wrong type or out of range.
        """
        return self._parse(nested_values(self._node))

    def attach(self, operation: Operation, swapped: Callable[[], None]) -> None:
        """Apply changes to these controllers from now on; `swapped` is called after each swap."""
        self._operation = operation
        self._swapped = swapped
        operation.swapper.given_up = self._tell
        for member in operation.members():
            self._sections.add(member.name)
            self._declare(type(member.controller).Parameters, f'{member.name}.')

    def detach(self) -> None:
        """Let everything be changed again."""
        self._operation = None

    def _parse(self, values: dict[str, Any]) -> tuple[RunConfig, NodeParameters]:
        own = {key: value for key, value in values.items() if key in CONTROL_KEYS}
        run = {key: value for key, value in values.items() if key not in NODE_KEYS}
        # On ROS the robot is always behind topics, whatever a file says for other uses.
        run = merge(run, {'hardware.type': 'ros2_control'})
        run['robot'] = {'model': '', **run.get('robot', {})}
        # Options of a controller from a file stay declared when another one has its place.
        controller = run.get('controller')
        present = instance_name(controller) if isinstance(controller, str) else ''
        if present == controller and present not in controller_names():
            # Said first: with a wrong name the options of the right one are unknown, too.
            raise UnknownController(present, controller_names())
        for name in self._sections - {present, *run.get('other_controllers', {})}:
            if name not in controller_names():
                run.pop(name, None)
        return parse_config(run, self._node.get_name()), parse_parameters(NodeParameters, own)

    def _declare(self, schema: type | None, prefix: str) -> None:
        if schema is None:
            return
        self._declaring = True
        try:
            declare_schema(self._node, schema, prefix)
        finally:
            self._declaring = False

    def _declare_controller(self, controller: Any) -> None:
        """Declare the options of a controller where it can be found; configure says if not."""
        if not isinstance(controller, str) or not controller:
            return
        try:
            found = find_controller(controller, Path.cwd())
        except CnoidControlError:
            return
        self._declare(found.Parameters, f'{instance_name(controller)}.')

    # --- changes ------------------------------------------------------------------------------

    def _on_set(self, parameters: list[Parameter]) -> SetParametersResult:
        changes = {
            parameter.name: plain_value(parameter)
            for parameter in parameters
            if parameter.name.split('.')[0] not in RCLPY_PARAMETERS
        }
        if self._declaring or not changes:
            return SetParametersResult(successful=True)
        try:
            self._apply(changes)
        except CnoidControlError as error:
            return SetParametersResult(successful=False, reason=str(error))
        except Exception as error:
            # A controller may refuse options with whatever it likes.
            return SetParametersResult(successful=False, reason=describe(error))
        return SetParametersResult(successful=True)

    def _apply(self, changes: dict[str, Any]) -> None:
        present = nested_values(self._node)
        config, own = self._parse(merge(present, changes))
        operation = self._operation
        if operation is None:
            return
        touched = {name.split('.')[0] for name in changes}
        fixed = sorted(touched & {*RUN_KEYS, 'hardware'} - {'controller'})
        if fixed:
            raise FixedParameter(fixed[0])
        has = operation.config.parameters.controller
        if changes.get('controller', has) != has:
            if not operation.is_active:
                raise FixedParameter('controller')
            if is_file_plugin(config.parameters.controller) and not own.allow_file_plugins:
                raise FilePluginRefused(config.parameters.controller)
            operation.swap(config)
            self._follow(operation)
        else:
            self._update_options(operation, config, touched)
        operation.swapper.duration = own.swap_time

    def _tell(self, error: CnoidControlError) -> None:
        """Have the executor look who has the robot; from any thread."""
        self._given_up = error
        # At the end the node may be gone.
        with contextlib.suppress(*GONE):
            self._guard.trigger()

    def _go_back(self) -> None:
        """Tell by the parameter who has the robot, where others have lost it again."""
        operation = self._operation
        if operation is None:
            return
        lost = plain_value(self._node.get_parameter('controller'))
        has = operation.config.parameters.controller
        if lost == has:
            return
        self._node.get_logger().error(
            f'controller: {has!r} has the robot again, {lost!r} was given up: {self._given_up}'
        )
        self._node.set_parameters([Parameter('controller', value=has)])
        self._follow(operation)

    def _follow(self, operation: Operation) -> None:
        """Serve the controllers that have the robot now: what fails here cannot be refused."""
        try:
            self.attach(operation, self._swapped)
            self._swapped()
        except Exception as error:
            self._node.get_logger().warning(f'after a swap: {describe(error)}')

    def _update_options(self, operation: Operation, config: RunConfig, touched: set[str]) -> None:
        for name in sorted(touched - NODE_KEYS):
            options = config.options.get(name, {})
            if isinstance(options, dict):
                operation.update_options(name, options)
        operation.config = config
