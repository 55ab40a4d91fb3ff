"""A simulator's service that puts the robot back to its start, of the kinds that there are."""

from __future__ import annotations

from rclpy.node import Node
from std_srvs.srv import Trigger

from cnoid_control.exceptions import choices
from cnoid_control.ros.exceptions import RosError
from cnoid_control.ros.robot.hardware import Ros2ControlHardware
from cnoid_control.ros.robot.supervision_node import SupervisionNode

# Longest wait for a simulation to put the robot back [s].
PUT_BACK_TIMEOUT = 10.0
TRIGGER = 'std_srvs/srv/Trigger'
RESET_WORLD = 'mujoco_ros2_control_msgs/srv/ResetWorld'


def put_back(
    node: Node, supervision: SupervisionNode, hardware: Ros2ControlHardware, service: str
) -> None:
    """Call the service; its type is the one that is found.

    Args:
        node: node that sees the service.
        supervision: calls it.
        hardware: the robot, which is not commanded meanwhile.
        service: name of the service.

    Raises:
        RosError: it is not there, of a type that is not known, or did not succeed.
        RobotError: controller_manager did not deactivate the command controllers.
    """
    kind = _type_of(node, service)
    if kind == RESET_WORLD:
        try:
            from mujoco_ros2_control_msgs.srv import ResetWorld
        except ImportError as error:
            raise RosError(f'{service}: {RESET_WORLD} is not installed: {error}') from error
        # It has every joint held at its place from then on, whoever commands it: a command
        # controller has effect only when it is activated after that.
        manager = hardware.command_controllers.manager
        if manager is not None:
            manager.release(hardware.parameters.release_timeout)
        answer = supervision.call(ResetWorld, service, ResetWorld.Request(), PUT_BACK_TIMEOUT)
    elif kind in (TRIGGER, ''):
        # One that is not seen yet is waited for.
        answer = supervision.call(Trigger, service, Trigger.Request(), PUT_BACK_TIMEOUT)
    else:
        raise RosError(f'{service} is a {kind}; {choices((TRIGGER, RESET_WORLD))}')
    if not answer.success:
        raise RosError(f'{service}: {answer.message}')


def _type_of(node: Node, service: str) -> str:
    """Type of a service; empty where nobody serves it."""
    full = node.resolve_service_name(service)
    types = dict(node.get_service_names_and_types()).get(full, [])
    return types[0] if types else ''
