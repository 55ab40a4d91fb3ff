"""Looking at a running system: the graph, a manager's answers, topics for some seconds.

Nothing is published, and no service is called that changes anything.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import Any

from rclpy.node import Node
from rclpy.qos import (
    DurabilityPolicy,
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
)

from cnoid_control.body import Body
from cnoid_control.body.formats.urdf import parse_urdf
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.messages.devices import DEVICE_KINDS
from cnoid_control.messages.joint_state import find_layout
from cnoid_control.messages.layouts import JOINT_FIELDS
from cnoid_control.ros.check.computer import look_at_computer
from cnoid_control.ros.check.meter import CLOCK, TopicMeter
from cnoid_control.ros.check.survey import (
    Component,
    Controller,
    Description,
    Endpoint,
    Manager,
    Survey,
    Topic,
)
from cnoid_control.ros.exceptions import RobotError, ServiceUnavailable
from cnoid_control.ros.message_types import message_class, read_message
from cnoid_control.ros.node.robot_model import wait_for_robot_description
from cnoid_control.ros.robot.command_publisher import COMMAND_QOS
from cnoid_control.ros.robot.device_readers import STATE_QOS
from cnoid_control.ros.robot.joint_states import MESSAGE_TYPE as JOINT_STATE
from cnoid_control.ros.robot.supervision_node import SupervisionNode
from cnoid_control.runtime.safety.joint_limits import find_joint_limits

LIST_CONTROLLERS = 'controller_manager_msgs/srv/ListControllers'
DESCRIPTION = 'robot_description'
# Messages that sensors are read from, of all kinds that are small.
SENSOR_TYPES = tuple(
    dict.fromkeys(
        message.schema
        for kind in DEVICE_KINDS
        for message in kind.messages
        if not message.is_large and message.schema.startswith(('sensor_msgs', 'geometry_msgs'))
    )
)
# The graph is taken for complete when a manager and joint states are in it and it has not changed
# for so long [s]. Else it is waited for so long [s]: a participant announces itself every 3 s.
QUIET_TIME, GRAPH_TIMEOUT = 1.0, 5.0
GRAPH_POLL = 0.1
# How long an answer is waited for [s].
ANSWER_TIMEOUT = 3.0
DESCRIPTION_TIMEOUT = 2.0
# Time between two looks whether the measurement is over [s].
POLL = 0.05

FORWARD_TYPES = {
    'forward_command_controller/ForwardCommandController': '',
    'position_controllers/JointGroupPositionController': 'position',
    'velocity_controllers/JointGroupVelocityController': 'velocity',
    'effort_controllers/JointGroupEffortController': 'effort',
}
TRAJECTORY_TYPE = 'joint_trajectory_controller/JointTrajectoryController'
# Interfaces that a trajectory's points can carry, the best one for commands in every tick first.
TRAJECTORY_INTERFACES = ('position', 'velocity', 'effort')


class Look:
    """One look at the system that a node can see."""

    def __init__(self, node: Node, supervision: SupervisionNode, duration: float) -> None:
        """Use a node whose executor runs.

        Args:
            node: node that looks.
            supervision: calls services.
            duration: time for which topics are measured [s].
        """
        self._node = node
        self._supervision = supervision
        self._duration = duration

    def survey(self, namespace: str = '') -> Survey:
        """Look at everything.

        Args:
            namespace: namespace whose robot_description is read.
        """
        self._wait_for_graph()
        survey = Survey(look_at_computer(), self._nodes())
        survey.control_nodes = self._control_nodes()
        topics = self._published_topics()
        survey.joint_states = self._topics(topics, [JOINT_STATE], 'joint_commands')
        survey.sensors = self._topics(topics, SENSOR_TYPES)
        survey.clock = next(iter(self._topics(topics, [CLOCK])), None)
        self._measure(survey)
        survey.managers = [self._manager(name) for name in self._manager_names()]
        survey.description = self._description(namespace, survey.managers)
        return survey

    # --- the graph ----------------------------------------------------------------------------

    def _wait_for_graph(self) -> None:
        """Wait until a robot was seen and discovery has brought nothing new for a while."""
        deadline = time.monotonic() + GRAPH_TIMEOUT
        seen: object = None
        since = time.monotonic()
        while (now := time.monotonic()) < deadline:
            present = (
                sorted(self._node.get_node_names_and_namespaces()),
                sorted(name for name, _ in self._node.get_topic_names_and_types()),
                sorted(name for name, _ in self._node.get_service_names_and_types()),
            )
            if present != seen:
                seen, since = present, now
            elif now - since >= QUIET_TIME and self._sees_a_robot():
                return
            time.sleep(GRAPH_POLL)

    def _sees_a_robot(self) -> bool:
        published = self._published_topics().values()
        return bool(self._manager_names()) and any(JOINT_STATE in types for types in published)

    def _nodes(self) -> list[str]:
        pairs = self._node.get_node_names_and_namespaces()
        return sorted(
            f'{namespace.rstrip("/")}/{name}'
            for name, namespace in pairs
            if not name.startswith('_')
        )

    def _control_nodes(self) -> list[str]:
        """Nodes that serve an emergency stop and the reset of this package."""
        services = {name for name, _ in self._node.get_service_names_and_types()}
        return sorted(
            name.removesuffix('/estop')
            for name in services
            if name.endswith('/estop') and f'{name.removesuffix("estop")}resume' in services
        )

    def _manager_names(self) -> list[str]:
        return sorted(
            name.removesuffix('/list_controllers')
            for name, types in self._node.get_service_names_and_types()
            if LIST_CONTROLLERS in types
        )

    def _published_topics(self) -> dict[str, list[str]]:
        return {
            name: types
            for name, types in self._node.get_topic_names_and_types()
            if self._node.count_publishers(name)
        }

    def _topics(
        self, topics: dict[str, list[str]], types: Iterable[str], but: str = ''
    ) -> list[Topic]:
        found = []
        for name, carried in sorted(topics.items()):
            kind = next((one for one in types if one in carried), '')
            if kind and not (but and name.endswith(f'/{but}')):
                found.append(Topic(name, kind, self._publishers(name)))
        return found

    def _publishers(self, topic: str) -> list[Endpoint]:
        return [
            endpoint_of(info, info.qos_profile, STATE_QOS)
            for info in self._node.get_publishers_info_by_topic(topic)
        ]

    def _subscriptions(self, topic: str) -> list[Endpoint]:
        return [
            endpoint_of(info, COMMAND_QOS, info.qos_profile)
            for info in self._node.get_subscriptions_info_by_topic(topic)
        ]

    # --- topics -------------------------------------------------------------------------------

    def _measure(self, survey: Survey) -> None:
        topics = [*survey.joint_states, *survey.sensors]
        if survey.clock is not None:
            topics.append(survey.clock)
        meters = [(topic, TopicMeter(self._node, topic.name, topic.type)) for topic in topics]
        deadline = time.monotonic() + self._duration
        while time.monotonic() < deadline and self._node.context.ok() and meters:
            time.sleep(POLL)
        for topic, meter in meters:
            topic.timing = meter.finish()
            if meter.last is not None:
                read_content(topic, meter.last)

    # --- the manager --------------------------------------------------------------------------

    def _manager(self, name: str) -> Manager:
        manager = Manager(name)
        try:
            from controller_manager_msgs import srv

            listed = self._call(srv.ListControllers, f'{name}/list_controllers').controller
        except (ServiceUnavailable, ImportError) as error:
            manager.problem = str(error)
            return manager
        values = self._parameters(name, ['update_rate', 'use_sim_time'])
        rate = values.get('update_rate')
        manager.update_rate = float(rate) if isinstance(rate, (int, float)) else 0.0
        manager.use_sim_time = values.get('use_sim_time') is True
        namespace = name.rpartition('/')[0]
        manager.controllers = [self._controller(namespace, state) for state in listed]
        try:
            answer = self._call(srv.ListHardwareInterfaces, f'{name}/list_hardware_interfaces')
        except ServiceUnavailable:
            # An older one, or one that is simulated: its controllers say what they need.
            return manager
        manager.command_interfaces = {
            one.name: bool(one.is_available) for one in answer.command_interfaces
        }
        manager.state_interfaces = [one.name for one in answer.state_interfaces]
        manager.components = self._components(name)
        return manager

    def _components(self, manager: str) -> list[Component]:
        try:
            from controller_manager_msgs.srv import ListHardwareComponents

            listed = self._call(ListHardwareComponents, f'{manager}/list_hardware_components')
        except (ServiceUnavailable, ImportError):
            return []
        return [
            Component(
                one.name,
                one.plugin_name,
                one.state.label,
                getattr(one, 'rw_rate', 0),
                [interface.name for interface in one.command_interfaces],
            )
            for one in listed.component
        ]

    def _call(self, kind: Any, name: str) -> Any:
        return self._supervision.call(kind, name, kind.Request(), ANSWER_TIMEOUT)

    def _controller(self, namespace: str, state: Any) -> Controller:
        found = Controller(
            state.name,
            state.type,
            state.state,
            list(state.required_command_interfaces),
            list(state.claimed_interfaces),
            is_chained=bool(state.is_chained),
        )
        full_name = f'{namespace}/{state.name}'
        asked = ('joints', 'interface_name', 'command_interfaces', 'update_rate', 'sensor_name')
        values = self._parameters(full_name, asked)
        if not values:
            found.problem = 'it does not tell its parameters'
        found.joints = list(values.get('joints') or ()) if found.required else []
        found.sensor = str(values.get('sensor_name') or '')
        found.update_rate = int(getattr(state, 'update_rate', 0) or values.get('update_rate') or 0)
        if found.type in FORWARD_TYPES:
            found.kind, ending = 'forward', 'commands'
            found.interface = str(values.get('interface_name') or FORWARD_TYPES[found.type])
        elif found.type == TRAJECTORY_TYPE:
            found.kind, ending = 'trajectory', 'joint_trajectory'
            takes = list(values.get('command_interfaces') or ())
            found.interface = next((one for one in TRAJECTORY_INTERFACES if one in takes), '')
        else:
            return found
        if not found.interface and found.required:
            found.interface = found.required[0].rpartition('/')[2]
        found.topic = f'{full_name}/{ending}'
        found.receivers = self._subscriptions(found.topic)
        found.commanders = [one.node for one in self._publishers(found.topic)]
        if found.kind == 'trajectory':
            action = f'{full_name}/follow_joint_trajectory/_action/send_goal'
            clients = self._node.count_clients(action)
            found.commanders += [f'a client of {full_name}/follow_joint_trajectory'] * clients
        return found

    def _parameters(self, node: str, names: Sequence[str]) -> dict[str, Any]:
        """Values of a node's parameters by name; those that it does not have are left out."""
        from rcl_interfaces.srv import GetParameters
        from rclpy.parameter import parameter_value_to_python

        request = GetParameters.Request(names=list(names))
        try:
            answer = self._supervision.call(
                GetParameters, f'{node}/get_parameters', request, ANSWER_TIMEOUT
            )
        except ServiceUnavailable:
            return {}
        # One that does not declare a name answers with fewer values, or with none set.
        if len(answer.values) != len(names):
            return self._parameters_singly(node, names) if len(names) > 1 else {}
        found = {
            name: parameter_value_to_python(value)
            for name, value in zip(names, answer.values, strict=True)
        }
        return {name: value for name, value in found.items() if value is not None}

    def _parameters_singly(self, node: str, names: Sequence[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in names:
            found |= self._parameters(node, [name])
        return found

    # --- the description ----------------------------------------------------------------------

    def _description(self, namespace: str, managers: Sequence[Manager]) -> Description:
        """The description of a namespace; without one, beside the only manager."""
        if not namespace and len(managers) == 1:
            namespace = managers[0].name.rpartition('/')[0]
        topic = f'/{namespace.strip("/")}/{DESCRIPTION}'.replace('//', '/')
        publishers = [one.node for one in self._publishers(topic)]
        found = Description(topic, publishers)
        if not publishers:
            found.problem = 'nobody publishes it'
            return found
        try:
            text = wait_for_robot_description(self._node, topic, DESCRIPTION_TIMEOUT)
            body = Body(parse_urdf(text, f'topic {topic}'))
        except RobotError:
            found.problem = f'nothing came in {DESCRIPTION_TIMEOUT:g} s'
        except CnoidControlError as error:
            found.problem = str(error)
        else:
            found.body = body
            found.notes = find_joint_limits(body, {}).notes
        return found


def endpoint_of(info: Any, publisher: QoSProfile, subscription: QoSProfile) -> Endpoint:
    """Endpoint of the graph, with what keeps a publisher and a subscription apart."""
    compatibility, reason = qos_check_compatible(publisher, subscription)
    qos = info.qos_profile
    return Endpoint(
        f'{info.node_namespace.rstrip("/")}/{info.node_name}',
        ReliabilityPolicy(qos.reliability).name.lower(),
        DurabilityPolicy(qos.durability).name.lower(),
        reason if compatibility is QoSCompatibility.ERROR else '',
    )


def read_content(topic: Topic, data: bytes) -> None:
    """Take note of what a message holds."""
    message = read_message(data, message_class(topic.type))
    if message is None:
        topic.problem = f'{len(data)} bytes that are no {topic.type}'
    elif topic.type == JOINT_STATE:
        try:
            find_layout(data)
        except CnoidControlError as error:
            topic.problem = str(error)
            return
        topic.joints = list(message.name)
        topic.fields = [
            name
            for name in JOINT_FIELDS
            if any(math.isfinite(value) for value in getattr(message, name))
        ]
        positions = dict(zip(message.name, message.position, strict=False))
        topic.unknown = [
            name for name in message.name if not math.isfinite(positions.get(name, math.nan))
        ]
    else:
        topic.problem = implausible_sensor(message)


def implausible_sensor(message: Any) -> str:
    """What is wrong with a sensor's message; empty for nothing."""
    numbers = list(_numbers(message))
    if not all(math.isfinite(value) for value in numbers):
        return 'its values are not numbers'
    orientation = getattr(message, 'orientation', None)
    if orientation is not None and message.orientation_covariance[0] != -1.0:
        norm = math.hypot(orientation.x, orientation.y, orientation.z, orientation.w)
        if abs(norm - 1.0) > 0.01:
            return f'its orientation is no rotation: the quaternion has norm {norm:g}'
    if hasattr(message, 'linear_acceleration') and not any(numbers):
        return 'all its values are zero: nothing feeds it'
    return ''


def _numbers(message: Any) -> Iterable[float]:
    """Numbers of a message that mean a measurement: no stamps, covariances or ranges' bounds."""
    for name in message.get_fields_and_field_types():
        if name in ('header', 'range_min', 'range_max') or name.endswith('covariance'):
            continue
        value = getattr(message, name)
        if isinstance(value, float):
            yield value
        elif hasattr(value, 'get_fields_and_field_types'):
            yield from _numbers(value)
