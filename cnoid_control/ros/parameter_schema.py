"""Option dataclasses as ROS 2 parameters, and ROS 2 parameters as nested values."""

from __future__ import annotations

import array
import dataclasses
import math
import typing
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
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
    if info.choices:
        listed = ', '.join(repr(choice) for choice in info.choices)
        descriptor.additional_constraints = f'one of: {listed}'
    bounds = (info.minimum, info.maximum)
    if kind is float and not all(math.isinf(bound) for bound in bounds):
        low, high = (max(min(bound, 1e308), -1e308) for bound in bounds)
        descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
    if kind is int and not all(math.isinf(bound) for bound in bounds):
        low_int, high_int = (int(max(min(bound, 2**31), -(2**31))) for bound in bounds)
        descriptor.integer_range = [IntegerRange(from_value=low_int, to_value=high_int)]
    return descriptor


def declare_schema(node: Node, schema: type, prefix: str = '') -> None:
    """Declare the fields of an option dataclass, nested ones too, with their descriptions.

    Maps by name are left out: their keys are not known before they are given.

    Raises:
        ParameterException: a value that was given has the wrong type or is out of range.
    """
    kinds = typing.get_type_hints(schema)
    for field in dataclasses.fields(schema):
        name, kind = f'{prefix}{field.name}', kinds[field.name]
        if dataclasses.is_dataclass(kind):
            declare_schema(node, typing.cast(type, kind), f'{name}.')
        elif typing.get_origin(kind) is not dict:
            if node.has_parameter(name):
                # Declared from what was given, without a description; what was given stays.
                node.undeclare_parameter(name)
            node.declare_parameter(name, _default(field), describe(parameter_info(field), kind))


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
