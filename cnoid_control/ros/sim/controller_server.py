"""The services and topics by which a controller_manager is asked, for the simulated robot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswer
from typing import Any

from lifecycle_msgs.msg import State
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from cnoid_control.ros.sim.controllers import (
    SimulatedController,
    SimulatedControllers,
    SwitchResult,
)

MANAGER = 'controller_manager'
# What stands where a manager names the plug-in of a hardware component.
PLUGIN = 'cnoid_control/mujoco'
# Longest wait for the simulation's thread to take a switch over [s].
SWITCH_TIMEOUT = 5.0

LATCHED = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)


class ControllerServer:
    """Serves a node per controller with its parameters, and controller_manager's services.

    Attributes:
        nodes: the nodes, to be served by the executor.
    """

    def __init__(
        self,
        node: Node,
        controllers: SimulatedControllers,
        call: Callable[[Callable[[], Any]], Future[Any]],
        activated: Callable[[Sequence[str]], None],
        rate: float,
        robot: str,
    ) -> None:
        """Advertise everything.

        Args:
            node: the simulated robot's node; namespace and context are taken from it.
            controllers: the controllers.
            call: runs a function in the simulation's thread.
            activated: told, in that thread, the names of the controllers that were activated.
            rate: rate of the controllers [Hz].
            robot: name of the robot, which is the one hardware component.

        Raises:
            ImportError: controller_manager_msgs is not installed.
        """
        from controller_manager_msgs import srv
        from controller_manager_msgs.msg import ControllerManagerActivity

        self._controllers = controllers
        self._call = call
        self._activated = activated
        self._rate, self._robot = round(rate), robot
        self._manager = companion_node(node, MANAGER)
        self._manager.declare_parameter('update_rate', self._rate)
        self.nodes = [self._manager]
        self._activity = self._manager.create_publisher(
            ControllerManagerActivity, '~/activity', LATCHED
        )
        services = {
            'list_controllers': (srv.ListControllers, self._list),
            'list_hardware_interfaces': (srv.ListHardwareInterfaces, self._list_interfaces),
            'switch_controller': (srv.SwitchController, self._switch),
            'configure_controller': (srv.ConfigureController, self._configure),
        }
        # Older managers have no such services, and older messages no such types.
        if hasattr(srv, 'CleanupController'):
            services['cleanup_controller'] = (srv.CleanupController, self._clean_up)
        if hasattr(srv, 'ListHardwareComponents'):
            services['list_hardware_components'] = (
                srv.ListHardwareComponents,
                self._list_components,
            )
        for name, (kind, answer) in services.items():
            self._manager.create_service(kind, f'~/{name}', answer)
        self.publish_activity()

    def publish_activity(self) -> None:
        """Tell which controllers are active."""
        from controller_manager_msgs.msg import ControllerManagerActivity, NamedLifecycleState

        message: Any = ControllerManagerActivity()
        message.header.stamp = self._manager.get_clock().now().to_msg()
        for controller in self._controllers:
            message.controllers.append(
                NamedLifecycleState(name=controller.name, state=_state(controller.state))
            )
        message.hardware_components.append(
            NamedLifecycleState(name=self._robot, state=_state('active'))
        )
        self._activity.publish(message)

    def _list(self, request: Any, response: Any) -> Any:
        from controller_manager_msgs.msg import ControllerState

        response.controller = [
            ControllerState(
                name=controller.name,
                state=controller.state,
                type=controller.type,
                claimed_interfaces=controller.command_interfaces if controller.active else [],
                required_command_interfaces=controller.command_interfaces,
                required_state_interfaces=list(controller.state_interfaces),
                is_chained=self._controllers.is_chained(controller.name),
            )
            for controller in self._controllers
        ]
        return response

    def _list_interfaces(self, request: Any, response: Any) -> Any:
        """Answer with the interfaces, as fields of a response or of a hardware component."""
        from controller_manager_msgs.msg import HardwareInterface

        claimed = {
            name for one in self._controllers if one.active for name in one.command_interfaces
        }
        commands = dict.fromkeys(
            name for one in self._controllers for name in one.command_interfaces
        )
        states = dict.fromkeys(name for one in self._controllers for name in one.state_interfaces)
        response.command_interfaces = [
            HardwareInterface(
                name=name, data_type='double', is_available=True, is_claimed=name in claimed
            )
            for name in commands
        ]
        response.state_interfaces = [
            HardwareInterface(name=name, data_type='double', is_available=True) for name in states
        ]
        return response

    def _list_components(self, request: Any, response: Any) -> Any:
        from controller_manager_msgs.msg import HardwareComponentState

        component = HardwareComponentState(
            name=self._robot,
            type='system',
            rw_rate=self._rate,
            plugin_name=PLUGIN,
            state=_state('active'),
        )
        self._list_interfaces(request, component)
        response.component = [component]
        return response

    def _configure(self, request: Any, response: Any) -> Any:
        return self._change(request.name, 'configured', self._controllers.configure, response)

    def _clean_up(self, request: Any, response: Any) -> Any:
        return self._change(request.name, 'cleaned up', self._controllers.clean_up, response)

    def _change(
        self, name: str, change: str, make: Callable[[str], SwitchResult], response: Any
    ) -> Any:
        """Change one controller in the simulation's thread, and say so."""
        result = self._in_simulation(lambda: make(name))
        response.ok = result.ok
        logger = self._manager.get_logger()
        if result.ok:
            logger.info(f'{name} is {change}')
        else:
            logger.error(f'{name} is not {change}: {result.message}')
        self.publish_activity()
        return response

    def _in_simulation(self, change: Callable[[], SwitchResult]) -> SwitchResult:
        try:
            return self._call(change).result(SWITCH_TIMEOUT)
        except NoAnswer:
            return SwitchResult(False, f'the simulation took no switch in {SWITCH_TIMEOUT} s')

    def _switch(self, request: Any, response: Any) -> Any:
        def switch() -> SwitchResult:
            before = {controller.name for controller in self._controllers if controller.active}
            result = self._controllers.switch(
                request.activate_controllers, request.deactivate_controllers, request.strictness
            )
            if result.ok:
                again = before - set(request.deactivate_controllers)
                self._activated(
                    [c.name for c in self._controllers if c.active and c.name not in again]
                )
            return result

        result = self._in_simulation(switch)
        response.ok, response.message = result
        logger = self._manager.get_logger()
        asked = f'+{list(request.activate_controllers)} -{list(request.deactivate_controllers)}'
        if result.ok:
            logger.info(f'switched controllers: {asked}')
        else:
            logger.error(f'controllers not switched ({asked}): {result.message}')
        self.publish_activity()
        return response


def companion_node(node: Node, name: str) -> Node:
    """Node in the same namespace and context; the process's name remapping is not for it."""
    return Node(
        name,
        namespace=node.get_namespace(),
        context=node.context,
        use_global_arguments=False,
        enable_rosout=False,
    )


def controller_node(node: Node, controller: SimulatedController) -> Node:
    """Node of a controller, for those who ask for its parameters."""
    served = companion_node(node, controller.name)
    for name, value in controller.parameters.items():
        served.declare_parameter(name, value)
    return served


def watch_activity(
    node: Node, controllers: SimulatedControllers, changed: Callable[[set[str]], None]
) -> Any:
    """Subscribe a real controller_manager's activity.

    Args:
        node: node that subscribes.
        controllers: the controllers that matter.
        changed: told the names of those that are active, when that has changed.

    Returns:
        The subscription; None where controller_manager_msgs is not installed.
    """
    try:
        from controller_manager_msgs.msg import ControllerManagerActivity
    except ImportError as error:
        node.get_logger().warning(f'active controllers are not followed: {error}')
        return None
    names = {controller.name for controller in controllers if controller.interface}
    last: list[set[str]] = []

    def receive(message: Any) -> None:
        active = {
            named.name
            for named in message.controllers
            if named.name in names and named.state.id == State.PRIMARY_STATE_ACTIVE
        }
        if last != [active]:
            last[:] = [active]
            changed(active)

    return node.create_subscription(
        ControllerManagerActivity, f'{MANAGER}/activity', receive, LATCHED
    )


STATES = {
    'active': State.PRIMARY_STATE_ACTIVE,
    'inactive': State.PRIMARY_STATE_INACTIVE,
    'unconfigured': State.PRIMARY_STATE_UNCONFIGURED,
}


def _state(name: str) -> Any:
    return State(id=STATES[name], label=name)
