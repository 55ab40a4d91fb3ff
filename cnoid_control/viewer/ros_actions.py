"""What a page may do to a running ROS system: services and parameters of its nodes."""

from __future__ import annotations

import contextlib
import math
import re
import time
from collections.abc import Sequence
from typing import Any

from geometry_msgs.msg import Twist, TwistStamped
from rcl_interfaces.msg import ParameterDescriptor, ParameterType
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParametersAtomically,
)
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from std_srvs.srv import Trigger

from cnoid_control.controllers.velocity_command import FULL_STICK
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.plugin.registry import controller_names, instance_name
from cnoid_control.viewer.source import ACTIONS, Description, Option

# Longest waits for a service to be found, and for its answer [s].
FIND_TIMEOUT = 2.0
ANSWER_TIMEOUT = 15.0
SERVICES = ('pause', 'resume', 'reset', 'estop')
KINDS = {
    ParameterType.PARAMETER_BOOL: 'bool',
    ParameterType.PARAMETER_INTEGER: 'int',
    ParameterType.PARAMETER_DOUBLE: 'float',
    ParameterType.PARAMETER_STRING: 'text',
}
UNIT = re.compile(r'(?P<text>.*?) \[(?P<unit>[^\]]*)\]$')
CHOICE = re.compile(r"'([^']*)'")


class RosActions:
    """Acts through the control node, and through the MuJoCo node where there is one.

    Attributes:
        control_node, simulation_node: their full names.
    """

    def __init__(self, node: Node, namespace: str, velocity_topic: str) -> None:
        """Make the clients when they are needed.

        Args:
            node: node to call with; somebody else spins it.
            namespace: namespace of the robot's nodes.
            velocity_topic: topic of the velocity commands, relative to the namespace.
        """
        space = namespace.strip('/')
        prefix = f'/{space}' if space else ''
        self.control_node = f'{prefix}/cnoid_control'
        self.simulation_node = f'{prefix}/cnoid_control_mujoco'
        self._node = node
        self._topic = velocity_topic
        self._clients: dict[tuple[type, str], Any] = {}
        self._publishers: dict[type, Any] = {}

    # --- description --------------------------------------------------------------------------

    def describe(self, title: str, links: list[str]) -> Description:
        """What can be done now, and the options of the controller.

        Args:
            title: what is shown.
            links: links of the robot.
        """
        description = Description(title=title)
        refusals = description.refusals
        refusals['step'] = 'a running system takes no single steps'
        nodes = {
            f'{space.rstrip("/")}/{name}'
            for name, space in self._node.get_node_names_and_namespaces()
        }
        if self.control_node not in nodes:
            why = f'there is no node {self.control_node}'
            refusals |= dict.fromkeys((*SERVICES, 'swap', 'option'), why)
        else:
            try:
                self._describe_controller(description)
            except CnoidControlError as error:
                refusals |= dict.fromkeys(('swap', 'option'), str(error))
        if self.simulation_node not in nodes:
            why = f'there is no node {self.simulation_node}: nothing simulates the robot'
            refusals |= {'push': why, 'speed': why}
        else:
            description.links = links
            with contextlib.suppress(CnoidControlError):
                values = self._get(self.simulation_node, ['real_time_factor'])
                description.speed = float(values.get('real_time_factor', 1.0))
        if not self._node.count_subscribers(self._topic):
            topic = self._node.resolve_topic_name(self._topic)
            refusals['velocity'] = f'nobody listens to {topic}'
        return description

    def _describe_controller(self, description: Description) -> None:
        name = str(self._get(self.control_node, ['controller']).get('controller', ''))
        description.controller = name
        description.controllers = list(dict.fromkeys([name, *controller_names()]))
        prefix = instance_name(name)
        request: Any = ListParameters.Request()
        request.prefixes, request.depth = [prefix], 0
        answer = self._call(ListParameters, f'{self.control_node}/list_parameters', request)
        keys = sorted(answer.result.names)
        if not keys:
            return
        values = self._get(self.control_node, keys)
        asked: Any = DescribeParameters.Request(names=keys)
        told = self._call(DescribeParameters, f'{self.control_node}/describe_parameters', asked)
        description.options = [
            _option(key, values[key], descriptor)
            for key, descriptor in zip(keys, told.descriptors, strict=False)
            if key in values
        ]

    # --- actions ------------------------------------------------------------------------------

    def act(self, action: str, **arguments: Any) -> str:
        """Do something; returns what came of it.

        Raises:
            CnoidControlError: it is refused, with the reason.
        """
        if action not in ACTIONS:
            raise CnoidControlError(f'unknown action {action!r}; {choices(ACTIONS)}')
        if action in SERVICES:
            return self._trigger(f'{self.control_node}/{action}')
        try:
            return getattr(self, f'_{action}')(**arguments)
        except TypeError as error:
            raise CnoidControlError(f'{action}: {error}') from error

    def _step(self, count: int = 1) -> str:
        raise CnoidControlError('a running system takes no single steps')

    def _swap(self, controller: str) -> str:
        self._set(self.control_node, {'controller': str(controller)})
        return f'{controller} has taken over'

    def _option(self, key: str, value: Any) -> str:
        self._set(self.control_node, {str(key): value})
        return f'{key} = {value}'

    def _speed(self, value: float) -> str:
        self._set(self.simulation_node, {'real_time_factor': float(value)})
        return f'{value:g} times real time' if value else 'as fast as possible'

    def _push(
        self,
        link: str,
        force: Sequence[float],
        duration: float = 0.1,
        point: Sequence[float] | None = None,
    ) -> str:
        values = {
            'push.link': str(link),
            'push.force': [float(part) for part in force],
            'push.duration': float(duration),
            'push.point': [] if point is None else [float(part) for part in point],
        }
        self._set(self.simulation_node, values)
        return self._trigger(f'{self.simulation_node}/push')

    def _velocity(self, x: float = 0.0, y: float = 0.0, yaw: float = 0.0) -> str:
        sticks = [float(x), float(y), float(yaw)]
        if not all(math.isfinite(stick) and abs(stick) <= 1.0 for stick in sticks):
            raise CnoidControlError(f'sticks are {sticks}; -1 to 1 is allowed')
        topic = self._node.resolve_topic_name(self._topic)
        kinds = {info.topic_type for info in self._node.get_subscriptions_info_by_topic(topic)}
        if not kinds:
            raise CnoidControlError(f'nobody listens to {topic}')
        twist: Any = Twist()
        twist.linear.x, twist.linear.y, twist.angular.z = (
            stick * float(full) for stick, full in zip(sticks, FULL_STICK, strict=True)
        )
        stamped: Any = TwistStamped(twist=twist)
        stamped.header.stamp = self._node.get_clock().now().to_msg()
        for kind, message in ((Twist, twist), (TwistStamped, stamped)):
            if f'geometry_msgs/msg/{kind.__name__}' in kinds:
                if kind not in self._publishers:
                    self._publishers[kind] = self._node.create_publisher(kind, topic, 1)
                self._publishers[kind].publish(message)
        return f'{twist.linear.x:+.2f} {twist.linear.y:+.2f} m/s {twist.angular.z:+.2f} rad/s'

    # --- services -----------------------------------------------------------------------------

    def _trigger(self, service: str) -> str:
        answer = self._call(Trigger, service, Trigger.Request())
        if not answer.success:
            raise CnoidControlError(answer.message)
        return str(answer.message)

    def _get(self, node: str, names: list[str]) -> dict[str, Any]:
        request: Any = GetParameters.Request(names=names)
        answer = self._call(GetParameters, f'{node}/get_parameters', request)
        return {
            name: _plain(parameter_value_to_python(value))
            for name, value in zip(names, answer.values, strict=False)
            if value.type != ParameterType.PARAMETER_NOT_SET
        }

    def _set(self, node: str, values: dict[str, Any]) -> None:
        request: Any = SetParametersAtomically.Request()
        try:
            request.parameters = [
                Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
            ]
        except (AttributeError, TypeError, ValueError) as error:
            raise CnoidControlError(f'{", ".join(values)}: {error}') from error
        service = f'{node}/set_parameters_atomically'
        result = self._call(SetParametersAtomically, service, request).result
        if not result.successful:
            # rclpy does not say which one where a parameter is not declared.
            key = '' if any(name in result.reason for name in values) else f'{", ".join(values)}: '
            raise CnoidControlError(f'{key}{result.reason}')

    def _call(self, kind: type, service: str, request: Any) -> Any:
        """Answer of a service; another thread spins the node.

        Raises:
            CnoidControlError: the service is not there, or does not answer.
        """
        client = self._clients.get((kind, service))
        if client is None:
            client = self._clients[kind, service] = self._node.create_client(kind, service)
        if not client.wait_for_service(FIND_TIMEOUT):
            raise CnoidControlError(f'service {service} is not there')
        future = client.call_async(request)
        deadline = time.monotonic() + ANSWER_TIMEOUT
        while not future.done():
            if time.monotonic() > deadline:
                client.remove_pending_request(future)
                raise CnoidControlError(f'{service} did not answer in {ANSWER_TIMEOUT:g} s')
            time.sleep(0.002)
        return future.result()


def _plain(value: Any) -> Any:
    return list(value) if hasattr(value, '__iter__') and not isinstance(value, str) else value


def _option(key: str, value: Any, descriptor: ParameterDescriptor) -> Option:
    """Option of a parameter and its descriptor."""
    found = UNIT.match(descriptor.description)
    low = high = None
    for bounds in (*descriptor.floating_point_range, *descriptor.integer_range):
        low, high = float(bounds.from_value), float(bounds.to_value)
    limits = descriptor.additional_constraints
    words = CHOICE.findall(limits) if limits.startswith('one of: ') else []
    return Option(
        key=key,
        value=value,
        kind=KINDS.get(descriptor.type, 'yaml'),
        description=found['text'] if found else descriptor.description,
        unit=found['unit'] if found else '',
        minimum=low,
        maximum=high,
        choices=words,
        refusal='it is read-only' if descriptor.read_only else '',
    )
