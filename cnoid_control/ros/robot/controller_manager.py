"""Client of controller_manager."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cnoid_control.ros.exceptions import (
    MissingInterfaces,
    RobotError,
    ServiceUnavailable,
    UnusableController,
)
from cnoid_control.ros.robot.supervision_node import SupervisionNode
from cnoid_control.ros.waiting import Waiting

# How long a manager that may not be there is looked for [s].
PRESENCE_TIMEOUT = 2.0
SERVICE_TIMEOUT = 5.0
# Time between two looks at controllers that are being spawned [s]: each disturbs the manager.
POLL_PERIOD = 0.2


class ControllerManager:
    """Lists and switches controllers; `activated` is what this side has switched on.

    Attributes:
        activated: names of the controllers that were activated from here and still are.
        deactivated: names of those that were deactivated from here, or are about to be.
    """

    def __init__(
        self, name: str, supervision: SupervisionNode, timeout: float = SERVICE_TIMEOUT
    ) -> None:
        """Use a manager.

        Args:
            name: its name, relative or absolute.
            supervision: calls its services.
            timeout: longest wait for an answer [s].
        """
        self.activated: list[str] = []
        self.deactivated: set[str] = set()
        self._name = name
        self._supervision = supervision
        self._timeout = timeout

    def is_there(self, timeout: float = PRESENCE_TIMEOUT) -> bool:
        """Whether there is a manager.

        Raises:
            MissingInterfaces: controller_manager_msgs is not installed.
        """
        services = _services()
        return self._supervision.is_there(
            services.ListControllers, f'{self._name}/list_controllers', timeout
        )

    def states(self, timeout: float | None = None) -> dict[str, Any]:
        """The controllers by name: controller_manager_msgs/ControllerState each.

        Args:
            timeout: longest wait for the answer [s]; the usual one where None.

        Raises:
            ServiceUnavailable: the manager did not answer.
        """
        services = _services()
        answer = self._supervision.call(
            services.ListControllers,
            f'{self._name}/list_controllers',
            services.ListControllers.Request(),
            self._timeout if timeout is None else timeout,
        )
        return {state.name: state for state in answer.controller}

    def command_interfaces(self) -> set[str]:
        """Names of the command interfaces that the robot has, `joint/interface`.

        Raises:
            ServiceUnavailable: the manager did not answer.
        """
        kind, name = _services().ListHardwareInterfaces, f'{self._name}/list_hardware_interfaces'
        if self._supervision.is_there(kind, name, PRESENCE_TIMEOUT):
            answer = self._supervision.call(kind, name, kind.Request(), self._timeout)
            return {interface.name for interface in answer.command_interfaces}
        # One that does not tell: what its controllers need is there.
        listed = (state.required_command_interfaces for state in self.states().values())
        return {interface for interfaces in listed for interface in interfaces}

    def wait_until_usable(
        self, controller: str, timeout: float, say: Callable[[str], object]
    ) -> None:
        """Wait until a controller is loaded and configured: spawners may be slow.

        Args:
            controller: its name.
            timeout: longest wait [s].
            say: told what is waited for, where it takes long.

        Raises:
            UnusableController: it is not within the time-out [s].
            ServiceUnavailable: the manager did not answer.
        """
        deadline = time.monotonic() + timeout
        waiting = Waiting(say)
        while True:
            states = self.states()
            try:
                _demand_usable(controller, states)
            except UnusableController as error:
                if time.monotonic() >= deadline:
                    raise
                waiting.still(str(error))
                time.sleep(POLL_PERIOD)
            else:
                return

    def is_loaded(self, controller: str, timeout: float) -> bool:
        """Whether a controller can be asked for its joints within the time-out [s]."""
        from rcl_interfaces.srv import GetParameters

        return self._supervision.is_there(GetParameters, _parameters_of(controller), timeout)

    def joints(self, controller: str) -> list[str]:
        """The joints of a controller in its own order.

        Raises:
            ServiceUnavailable: the controller is not there or did not answer.
            UnusableController: it has no parameter `joints`.
        """
        from rcl_interfaces.srv import GetParameters

        request = GetParameters.Request(names=['joints'])
        answer = self._supervision.call(
            GetParameters, _parameters_of(controller), request, self._timeout
        )
        joints = [name for value in answer.values for name in value.string_array_value]
        if not joints:
            raise UnusableController(controller, 'has no parameter `joints`', ())
        return joints

    def use(self, controllers: Iterable[str]) -> None:
        """Have these controllers active, and no other one on what they command.

        One call with both lists, STRICT: all or nothing, in one cycle of the manager.

        Raises:
            UnusableController: one of them is not loaded or not configured.
            RobotError: the manager did not switch.
            ServiceUnavailable: the manager did not answer.
        """
        states = self.states()
        wanted = list(controllers)
        claimed: set[str] = set()
        joints: set[str] = set()
        for name in wanted:
            _demand_usable(name, states)
            claimed.update(states[name].required_command_interfaces)
            joints.update(_joint(one) for one in states[name].required_command_interfaces)
        activate = [name for name in wanted if states[name].state != 'active']
        # Two controllers on the same joint's interfaces may both be active: name the other one.
        deactivate = [
            name
            for name, state in states.items()
            if name not in wanted
            and state.state == 'active'
            and any(one in claimed or _joint(one) in joints for one in state.claimed_interfaces)
        ]
        if activate or deactivate:
            self.switch(activate, deactivate)

    def prepare_switch(self, timeout: float = PRESENCE_TIMEOUT) -> bool:
        """Discover the service that switches, so that a switch is quick; whether it is there.

        Raises:
            MissingInterfaces: controller_manager_msgs is not installed.
        """
        services = _services()
        return self._supervision.is_there(
            services.SwitchController, f'{self._name}/switch_controller', timeout
        )

    def switch(
        self,
        activate: list[str],
        deactivate: list[str],
        strict: bool = True,
        timeout: float | None = None,
    ) -> None:
        """Switch controllers on and off at once; unless strict, as far as possible.

        Args:
            activate: controllers to switch on.
            deactivate: controllers to switch off.
            strict: whether all of it is done, or nothing.
            timeout: time that the manager has for it [s]; the usual one where None.

        Raises:
            RobotError: the manager did not switch.
            ServiceUnavailable: the manager did not answer.
        """
        services = _services()
        kind = services.SwitchController.Request
        request = kind(
            activate_controllers=activate,
            deactivate_controllers=deactivate,
            strictness=kind.STRICT if strict else kind.BEST_EFFORT,
        )
        limit = self._timeout if timeout is None else timeout
        request.timeout.sec = int(limit)
        request.timeout.nanosec = round(1e9 * (limit % 1.0))
        # Before it is done: whoever sees the change must know that it was meant.
        self.deactivated |= set(deactivate)
        answer = self._supervision.call(
            services.SwitchController,
            f'{self._name}/switch_controller',
            request,
            2.0 * limit,
        )
        if not answer.ok:
            self.deactivated -= set(deactivate)
            raise RobotError(
                f'controller_manager refused to activate [{", ".join(activate)}] and deactivate '
                f'[{", ".join(deactivate)}]: {getattr(answer, "message", "") or "no reason given"}'
            )
        self.deactivated -= set(activate)
        self.activated = [name for name in self.activated if name not in deactivate] + activate

    def release(self, timeout: float) -> None:
        """Deactivate what was activated from here.

        Args:
            timeout: time that the manager has for it [s].

        Raises:
            RobotError: the manager did not switch.
            ServiceUnavailable: the manager is not there any more or did not answer.
        """
        # It was there when it activated them: nothing is gained by waiting for it to come.
        if not self.activated:
            return
        if not self.is_there(0.0):
            raise ServiceUnavailable(self._name, 'it disappeared')
        states = self.states(PRESENCE_TIMEOUT)
        mine = [
            name for name in self.activated if name in states and states[name].state == 'active'
        ]
        if mine:
            self.switch([], mine, timeout=timeout)
        self.activated = []


def _demand_usable(name: str, states: Mapping[str, Any]) -> None:
    if name not in states:
        raise UnusableController(name, 'is not loaded', states)
    if states[name].state not in ('active', 'inactive'):
        raise UnusableController(name, f'is {states[name].state!r}', states)


def _parameters_of(controller: str) -> str:
    return f'{controller}/get_parameters'


def _joint(interface: str) -> str:
    return interface.rsplit('/', 1)[0]


def _services() -> Any:
    try:
        from controller_manager_msgs import srv
    except ImportError as error:
        purpose = 'hardware.ros2_control.controller_manager (empty for none)'
        raise MissingInterfaces('controller_manager_msgs', purpose) from error
    return srv
