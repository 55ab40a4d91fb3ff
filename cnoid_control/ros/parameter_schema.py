"""Option dataclasses as ROS 2 parameters, and ROS 2 parameters as nested values."""

from __future__ import annotations

import array
import dataclasses
import math
import typing
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from cnoid_control.parameters.schema import ParameterInfo, parameter_info

# Parameters that rclpy gives every node; they are no options of ours.
RCLPY_PARAMETERS = ('use_sim_time', 'start_type_description_service', 'qos_overrides')


def describe(info: ParameterInfo, kind: Any) -> ParameterDescriptor:
    """Descriptor of an option, for `ros2 param describe` and rqt_reconfigure."""
    unit = f' [{info.unit}]' if info.unit else ''
    descriptor = ParameterDescriptor(
        description=f'{info.description}{unit}',
        read_only=info.read_only,
        # Empty lists have no type yet, and an option may be a scalar or a list.
        dynamic_typing=kind not in (bool, int, float, str),
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


def declare_schema(node: Node, schema: type, prefix: str = '') -> None:
    """Declare the fields of an option dataclass, nested ones too, that are not declared yet.

    Of maps by name, what was given is described; other keys are not known before they are given.
    """
    kinds = typing.get_type_hints(schema)
    for field in dataclasses.fields(schema):
        name, kind = f'{prefix}{field.name}', kinds[field.name]
        if dataclasses.is_dataclass(kind):
            declare_schema(node, typing.cast(type, kind), f'{name}.')
        elif typing.get_origin(kind) is dict:
            element = typing.get_args(kind)[1]
            for key in _given_keys(node, f'{name}.') if dataclasses.is_dataclass(element) else ():
                declare_schema(node, typing.cast(type, element), f'{name}.{key}.')
        else:
            _declare(node, name, kind, _default(field), describe(parameter_info(field), kind))


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
    descriptor.dynamic_typing = descriptor.dynamic_typing or type(value) is not kind
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
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None
