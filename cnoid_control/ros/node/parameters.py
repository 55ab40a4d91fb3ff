"""ROS parameters of the control node."""

from __future__ import annotations

import array
import contextlib
import dataclasses
import math
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from cnoid_control.exceptions import CnoidControlError, describe
from cnoid_control.parameters import (
    ParameterInfo,
    field_types,
    parameter,
    parameter_info,
    parse_parameters,
)
from cnoid_control.plugin.exceptions import unknown_controller
from cnoid_control.plugin.registry import (
    controller_names,
    find_controller,
    instance_name,
    is_file_plugin,
)
from cnoid_control.ros.config_folder import config_folder
from cnoid_control.ros.exceptions import FilePluginRefused, FixedParameter
from cnoid_control.ros.node.supervisor import Supervisor
from cnoid_control.ros.raw_dds import CONTEXT_ERRORS
from cnoid_control.ros.robot.parameters import Ros2ControlParameters
from cnoid_control.ros.sim.parameters import SimulationParameters
from cnoid_control.runtime.config import RunConfig, RunParameters, merge, parse_config
from cnoid_control.runtime.hot_swap import Transition
from cnoid_control.runtime.realtime import DEFAULT_PRIORITY


@dataclass
class NodeParameters:
    """What only the node needs to know."""

    robot_description: str = parameter(
        '', 'URDF text of the robot; where empty, robot.model is used, and without that the topic'
    )
    robot_description_topic: str = parameter(
        'robot_description', 'latched topic of the URDF text', read_only=True
    )
    robot_description_timeout: float = parameter(
        20.0, 'longest wait for the topic', unit='s', minimum=0.0, maximum=3600.0
    )
    realtime_priority: int = parameter(
        DEFAULT_PRIORITY,
        'SCHED_FIFO priority of the process; 0 for none, and none in lock-step',
        minimum=0,
        maximum=99,
        read_only=True,
    )
    allow_file_plugins: bool = parameter(
        False,
        'whether a parameter may name Python code in a file (path/to/file.py:Class) after the '
        'start',
        read_only=True,
    )
    config_folder: str = parameter(
        '',
        'folder that relative paths start from; where empty, that of the first parameter file on '
        'the command line, or the working folder',
        read_only=True,
    )
    simulation_reset: str = parameter(
        '',
        'service of a simulator (std_srvs/Trigger, or the ResetWorld of mujoco_ros2_control) that '
        'puts the robot back to its start: ~/reset calls it first; none where empty',
        read_only=True,
    )
    swap_blend_time: float = parameter(
        0.3,
        "time in which commands move from the old controller's to the new one's",
        unit='s',
        minimum=0.0,
        maximum=60.0,
    )


CONTROL_KEYS = tuple(item.name for item in fields(NodeParameters))
SIMULATION_KEYS = tuple(item.name for item in fields(SimulationParameters))
NODE_KEYS = frozenset((*CONTROL_KEYS, *SIMULATION_KEYS))


# Parameters that rclpy gives every node; they are no options of ours.
RCLPY_PARAMETERS = ('use_sim_time', 'start_type_description_service', 'qos_overrides')


def descriptor_of(info: ParameterInfo, kind: Any) -> ParameterDescriptor:
    """Descriptor of an option, for `ros2 param descriptor_of` and rqt_reconfigure."""
    unit = f' [{info.unit}]' if info.unit else ''
    descriptor = ParameterDescriptor(
        description=f'{info.description}{unit}',
        read_only=info.read_only,
        # Empty lists have no type yet, and an option may be a scalar or a list.
        dynamic_typing=not is_scalar(kind),
    )
    bounds = (info.minimum, info.maximum)
    if info.choices:
        listed = ', '.join(repr(choice) for choice in info.choices)
        descriptor.additional_constraints = f'one of: {listed}'
    elif any(math.isinf(bound) for bound in bounds):
        # Half a range would be drawn as an endless slider.
        if not math.isinf(info.minimum):
            descriptor.additional_constraints = f'not below {info.minimum:g}'
        if not math.isinf(info.maximum):
            descriptor.additional_constraints = f'not above {info.maximum:g}'
    elif kind is float:
        low, high = bounds
        descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
    elif kind is int:
        low_int, high_int = (int(bound) for bound in bounds)
        descriptor.integer_range = [IntegerRange(from_value=low_int, to_value=high_int)]
    return descriptor


def is_scalar(kind: Any) -> bool:
    """Whether an option is one value of one type in ROS; names and files are texts there."""
    return isinstance(kind, type) and issubclass(kind, (bool, int, float, str))


def declare_schema(node: Node, schema: type, prefix: str = '', read_only: bool = False) -> None:
    """Declare the fields of an option dataclass, nested ones too, that are not declared yet.

    Of maps by name, what was given is described; other keys are not known before they are given.

    Args:
        node: the node.
        schema: the dataclass.
        prefix: what the names of its parameters begin with.
        read_only: whether all of them are, since an option that contains them is.
    """
    kinds = field_types(schema)
    for field in dataclasses.fields(schema):
        name, kind = f'{prefix}{field.name}', kinds[field.name]
        info = parameter_info(field)
        info = dataclasses.replace(info, read_only=read_only or info.read_only)
        if dataclasses.is_dataclass(kind):
            declare_schema(node, typing.cast(type, kind), f'{name}.', info.read_only)
        elif typing.get_origin(kind) is dict:
            element = typing.get_args(kind)[1]
            for key in _given_keys(node, f'{name}.') if dataclasses.is_dataclass(element) else ():
                part = f'{name}.{key}.'
                declare_schema(node, typing.cast(type, element), part, info.read_only)
        elif not _is_given_as_map(node, name, kind):
            _declare(node, name, kind, _default(field), descriptor_of(info, kind))


def _is_given_as_map(node: Node, name: str, kind: Any) -> bool:
    """Whether an option that may be a list or a map by name was given as a map."""
    maps = any(typing.get_origin(choice) is dict for choice in typing.get_args(kind))
    return maps and bool(_given_keys(node, f'{name}.'))


def _declare(
    node: Node, name: str, kind: Any, default: Any, descriptor: ParameterDescriptor
) -> None:
    if name in RCLPY_PARAMETERS:
        return
    if not node.has_parameter(name):
        # Without a value there is no type yet.
        descriptor.dynamic_typing = descriptor.dynamic_typing or default is None
        node.declare_parameter(name, default, descriptor)
        return
    if node.describe_parameter(name).description == descriptor.description:
        # One that is read-only could not be declared again.
        return
    value = plain_value(node.get_parameter(name))
    if kind is float and type(value) is int:
        # A whole number in a file would make the parameter one that takes no others.
        value = float(value)
    node.undeclare_parameter(name)
    given_type = is_scalar(kind) and isinstance(value, kind) and type(value) in kind.__mro__
    descriptor.dynamic_typing = descriptor.dynamic_typing or not given_type
    try:
        node.declare_parameter(name, value, descriptor, ignore_override=True)
    except InvalidParameterValueException:
        # It is refused, with the reason, when the values are used; until then it can be set.
        descriptor.floating_point_range = []
        descriptor.integer_range = []
        node.declare_parameter(name, value, descriptor, ignore_override=True)


def _given_keys(node: Node, prefix: str) -> list[str]:
    names = [name for name in node.list_parameters([], 0).names if name.startswith(prefix)]
    return list(dict.fromkeys(name[len(prefix) :].split('.')[0] for name in names))


def plain_value(parameter: Parameter) -> Any:
    """Value of a parameter: a list for arrays, None for one that is not set."""
    value: Any = parameter.value
    return list(value) if isinstance(value, (array.array, tuple)) else value


def nested_values(node: Node) -> dict[str, Any]:
    """All options that the node was given, nested as in a parameter file."""
    values: dict[str, Any] = {}
    for name in node.list_parameters([], 0).names:
        *parents, leaf = name.split('.')
        value = plain_value(node.get_parameter(name))
        if value is None or name.split('.')[0] in RCLPY_PARAMETERS:
            continue
        place = values
        for parent in parents:
            place = place.setdefault(parent, {})
        place[leaf] = value
    return values


def _default(field: dataclasses.Field[Any]) -> Any:
    """Default of an option as ROS has it; None where there is none, or ROS cannot express it."""
    value = None if field.default is dataclasses.MISSING else field.default
    if field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
    if isinstance(value, Path):
        # An empty path would else be the folder of the parameter file.
        return '' if value == Path() else str(value)
    return value if isinstance(value, (bool, int, float, str, list, tuple)) else None


RUN_KEYS = tuple(item.name for item in fields(RunParameters))
# Those of them that can be changed while the loop runs.
LIVE_KEYS = {'controller', 'scale'}


class ConfigParameters:
    """Declares, checks and applies the parameters of a node.

    Before the node is configured everything may be changed; later the controller (which is
    swapped when the loop runs), its options, the scale and the node's own options.
    """

    def __init__(self, node: Node, words: Sequence[str] | None = None) -> None:
        """Declare everything that is known before a controller is loaded.

        Args:
            node: the node.
            words: the words of the command line; those of the process where None.
        """
        self._node = node
        self._words = words
        self._operation: Supervisor | None = None
        self._swapped: Callable[[], None] = lambda: None
        self._declaring = False
        self._sections: set[str] = set()
        self._declare(NodeParameters, '')
        self._declare(RunParameters, '')
        self._declare(Ros2ControlParameters, 'hardware.ros2_control.')
        self._declare_controller(plain_value(node.get_parameter('controller')))
        node.add_on_set_parameters_callback(self._on_set)
        self._given_up: CnoidControlError | None = None
        self._guard = node.create_guard_condition(self._show_controller)

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

    def set_rate(self, rate: float) -> None:
        """Have another rate [Hz], before controllers are attached.

        Raises:
            CnoidControlError: it is out of range.
        """
        result = self._node.set_parameters([Parameter('rate', value=rate)])[0]
        if not result.successful:
            raise CnoidControlError(result.reason)

    def attach(self, operation: Supervisor, swapped: Callable[[], None]) -> None:
        """Apply changes to these controllers from now on; `swapped` is called after each swap."""
        self._operation = operation
        self._swapped = swapped
        operation.swapper.on_abort = self._tell
        operation.swapper.on_done = self._say_done
        operation.swapper.on_hosts_changed = self._look
        operation.on_successor = self._look
        for member in operation.members():
            self._sections.add(member.name)
            self._declare(type(member.controller).Parameters, f'{member.name}.')

    @property
    def are_for_later(self) -> bool:
        """Whether what is set now acts when the node is configured."""
        return self._operation is None

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
        standby = run.get('standby', {})
        names = [*standby, *controller_names()]
        if present == controller and present not in names:
            # Said first: with a wrong name the options of the right one are unknown, too.
            raise unknown_controller(present, names)
        for name in self._sections - {present, *run.get('other_controllers', {}), *standby}:
            if name not in controller_names():
                run.pop(name, None)
        folder = config_folder(own, self._words)
        config = parse_config(run, self._node.get_name(), folder)
        return config, parse_parameters(NodeParameters, own, folder=folder)

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
            folder = config_folder(nested_values(self._node), self._words)
            standby = nested_values(self._node).get('standby', {}).get(controller, {})
            found = find_controller(standby.get('type') or controller, folder)
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
        for name, value in changes.items():
            # Controllers, and the tasks, stages, solvers and terms that their options name. Before
            # the node is configured, too: whoever sets them may clean it up and configure it.
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str) and is_file_plugin(text) and not own.allow_file_plugins:
                    raise FilePluginRefused(name, text)
        operation = self._operation
        if operation is None:
            return
        touched = {name.split('.')[0] for name in changes}
        fixed = sorted(touched & {*RUN_KEYS, 'hardware'} - LIVE_KEYS)
        if fixed:
            raise FixedParameter(fixed[0])
        before = operation.config.parameters
        operation.set_scale(config.parameters.scale)
        try:
            if 'controller' in changes and config.parameters.controller != before.controller:
                if not operation.is_active:
                    raise FixedParameter('controller')
                operation.swap(config)
                self._follow(operation)
            else:
                self._update_options(operation, config, touched)
        except Exception:
            operation.set_scale(before.scale)
            raise
        operation.swapper.duration = own.swap_blend_time

    def _tell(self, error: CnoidControlError) -> None:
        """Have the executor look who has the robot; from any thread."""
        self._given_up = error
        # At the end the node may be gone.
        with contextlib.suppress(*CONTEXT_ERRORS):
            self._guard.trigger()

    def _say_done(self, transition: Transition) -> None:
        """Log who has the robot now; from any thread."""
        new, old = (
            ', '.join(repr(managed.name) for managed in host.controllers)
            for host in (transition.new, transition.old)
        )
        with contextlib.suppress(*CONTEXT_ERRORS):
            self._node.get_logger().info(f'controller: {new} has taken over from {old}')

    def _look(self, *hosts: object) -> None:
        """Have the executor look who has the robot, unless two have it; from any thread."""
        if len(hosts) < 2:
            with contextlib.suppress(*CONTEXT_ERRORS):
                self._guard.trigger()

    def _show_controller(self) -> None:
        """Tell by the parameter who has the robot, where others have lost it."""
        operation = self._operation
        if operation is None:
            return
        lost = plain_value(self._node.get_parameter('controller'))
        has = operation.config.values['controller']
        if lost == has:
            return
        error, self._given_up = self._given_up, None
        if error is None:
            self._node.get_logger().info(f'controller: {has!r} has the robot now, not {lost!r}')
        else:
            self._node.get_logger().error(
                f'controller: {has!r} has the robot again, {lost!r} was given up: {error}'
            )
        self._node.set_parameters([Parameter('controller', value=has)])
        self._follow(operation)

    def _follow(self, operation: Supervisor) -> None:
        """Serve the controllers that have the robot now: what fails here cannot be refused."""
        try:
            self.attach(operation, self._swapped)
            self._swapped()
        except Exception as error:
            self._node.get_logger().warning(f'after a swap: {describe(error)}')

    def _update_options(self, operation: Supervisor, config: RunConfig, touched: set[str]) -> None:
        found = {name: config.options.get(name, {}) for name in touched - NODE_KEYS}
        operation.update_options(
            {name: options for name, options in found.items() if isinstance(options, dict)}
        )
        operation.config = config
