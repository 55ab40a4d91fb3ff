"""What a page may do to a run in this process."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cnoid_control.controllers.joystick import ENABLE_BUTTON
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.plugin.mailbox import Joy, Twist
from cnoid_control.plugin.registry import controller_names
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.hot_swap import BEGUN
from cnoid_control.runtime.loop import ControlLoop
from cnoid_control.runtime.managed_controller import ManagedController
from cnoid_control.simulated_robot import SimulatedRobot
from cnoid_control.teleop.embedded import send_joy
from cnoid_control.teleop.twists import TWIST_AXES
from cnoid_control.viewer.options import changed_options, options_of
from cnoid_control.viewer.source import ACTIONS, Description

# Longest wait for the first tick of controllers that take over [s].
SWAP_TIMEOUT = 5.0
BLEND_TIME = 0.3
# Time for which a stick that nobody confirms stays out [s].
STICK_TIMEOUT = 0.5
SPEEDS = (0.01, 100.0)
MAX_STEPS = 10000


class RunActions:
    """Acts on a robot of a simulation from other threads than the loop's.

    Attributes:
        changed: called when the description is another one.
    """

    def __init__(self, robot: SimulatedRobot, no_reset: str = '') -> None:
        """Act on a robot.

        Args:
            robot: the robot; its run may have begun or not.
            no_reset: why it cannot be reset; empty where it can.
        """
        self.changed: Callable[[], None] = lambda: None
        self._robot = robot
        self._no_reset = no_reset
        self._stick = threading.Condition()
        self._sticks = np.zeros(3)
        self._confirmed = False
        self._is_over = False
        self._thread = threading.Thread(target=self._send_sticks, name='sticks', daemon=True)
        self._thread.start()

    @property
    def _loop(self) -> ControlLoop:
        return self._robot.loop

    def describe(self) -> Description:
        """What can be done, and how things are named."""
        robot, host = self._robot, self._host()
        return Description(
            title=f'{robot.config.name} on {robot.hardware.name}',
            controller=host.controllers[0].name if host.controllers else '',
            controllers=self._controllers(),
            options=[option for member in host.members() for option in options_of(member)],
            refusals=self._refusals(host),
            links=[link.name for link in robot.body.links],
            speed=0.0 if math.isinf(self._loop.speed) else self._loop.speed,
        )

    def act(self, action: str, **arguments: Any) -> str:
        """Do something; returns what came of it.

        Raises:
            CnoidControlError: it is refused, with the reason.
        """
        if action not in ACTIONS:
            raise CnoidControlError(f'unknown action {action!r}; {choices(ACTIONS)}')
        try:
            return getattr(self, f'_{action}')(**arguments)
        except TypeError as error:
            raise CnoidControlError(f'{action}: {error}') from error

    def close(self) -> None:
        """Let the sticks go."""
        with self._stick:
            self._is_over = True
            self._stick.notify_all()
        self._thread.join()

    def _host(self) -> ControllerHost:
        """The controllers that have the robot, or have begun to take over."""
        transition = self._loop.transition
        if transition is None or transition.is_waiting:
            return self._loop.host
        return transition.winner or transition.new

    def _controllers(self) -> list[str]:
        config = self._robot.config
        named = [config.controller_name, *config.parameters.standby, *config.options]
        return list(dict.fromkeys([*named, *controller_names()]))

    def _refusals(self, host: ControllerHost) -> dict[str, str]:
        refusals = {}
        hardware = self._robot.hardware
        if not hasattr(hardware, 'push'):
            refusals['push'] = f'hardware {hardware.name!r} cannot be pushed'
        if self._no_reset:
            refusals['reset'] = self._no_reset
        elif not hasattr(hardware, 'reset'):
            refusals['reset'] = f'hardware {hardware.name!r} cannot be reset'
        if not hardware.is_simulated:
            refusals['speed'] = f'hardware {hardware.name!r} sets the pace itself'
        kinds = [box.kind for io in host.ios() for box in io.mailboxes.values()]
        if Joy not in kinds and Twist not in kinds:
            names = ', '.join(member.name for member in host.members())
            refusals['velocity'] = f'{names}: no controller takes Joy or Twist'
        return refusals

    # --- the run ------------------------------------------------------------------------------

    def _pause(self) -> str:
        self._loop.pause()
        return 'paused'

    def _resume(self) -> str:
        if self._loop.safe_state.is_engaged:
            raise CnoidControlError(
                f'the robot is in the safe state: {self._loop.safe_state.reason}; reset it'
            )
        self._loop.resume()
        return 'running'

    def _step(self, count: int = 1) -> str:
        if type(count) is not int or not 0 < count <= MAX_STEPS:
            raise CnoidControlError(f'count is {count!r}; 1 to {MAX_STEPS} ticks are allowed')
        self._loop.single_step(count)
        return f'{count} tick{"s" if count > 1 else ""}'

    def _estop(self, reason: str = 'e-stop of the view') -> str:
        loop = self._loop
        loop.request_safe_state(str(reason), estop=True)
        if loop.is_paused:
            # It is a tick that stops the robot.
            loop.single_step()
        return 'stopped'

    def _speed(self, value: float) -> str:
        if 'speed' in (refusals := self._refusals(self._host())):
            raise CnoidControlError(refusals['speed'])
        speed = _number('value', value)
        lower, upper = SPEEDS
        if speed != 0.0 and not lower <= speed <= upper:
            raise CnoidControlError(
                f'value is {value!r}; {lower} to {upper}, or 0 for as fast as possible, is allowed'
            )
        self._loop.speed = speed or math.inf
        self.changed()
        return f'{speed:g} times real time' if speed else 'as fast as possible'

    def _reset(self) -> str:
        refusals = self._refusals(self._host())
        if 'reset' in refusals:
            raise CnoidControlError(refusals['reset'])
        self._robot.restart()
        self.changed()
        return 'back at the start'

    # --- controllers --------------------------------------------------------------------------

    def _swap(self, controller: str) -> str:
        robot, loop = self._robot, self._loop
        if loop.safe_state.is_engaged:
            raise CnoidControlError(f'the robot is in the safe state: {loop.safe_state.reason}')
        if loop.is_paused:
            raise CnoidControlError('the run is paused; resume it first')
        before, maker = robot.config, robot.maker
        transition = robot.prepare_swap(str(controller), None, BLEND_TIME)
        if not transition.wait_for(BEGUN, SWAP_TIMEOUT):
            transition.cancel(CnoidControlError('no tick was taken'))
            transition.wait_for(BEGUN, SWAP_TIMEOUT)
        robot.confirm_swap(transition, before, maker)
        self.changed()
        # The description is another one again when the new controllers have the robot alone.
        threading.Thread(target=self._tell_end_of, args=(transition,), daemon=True).start()
        return f'{controller} has taken over'

    def _tell_end_of(self, transition: Any) -> None:
        transition.clean_up.join()
        self.changed()

    def _option(self, key: str, value: Any) -> str:
        host = self._host()
        member = self._member(host, str(key))
        own = str(key).removeprefix(f'{member.name}.')
        options = changed_options(member, own, value)
        checked = member.check(options)
        loop = self._loop

        def change() -> None:
            member.change_options(options, checked)

        try:
            loop.call(lambda: loop.watched(change, 'update_parameters', host))
        except CnoidControlError:
            raise
        except Exception as error:
            raise CnoidControlError(f'{key}: {error}') from error
        self.changed()
        return f'{key} = {value}'

    def _member(self, host: ControllerHost, key: str) -> ManagedController:
        members = {member.name: member for member in host.members()}
        found = [name for name in members if key.startswith(f'{name}.')]
        if not found:
            raise CnoidControlError(f'{key}: no controller of that name; {choices(members)}')
        return members[max(found, key=len)]

    # --- forces and sticks --------------------------------------------------------------------

    def _push(
        self,
        link: str,
        force: Sequence[float],
        duration: float = 0.1,
        point: Sequence[float] | None = None,
    ) -> str:
        robot = self._robot
        self._loop.call(lambda: robot.push(link, force, _number('duration', duration), point))
        size = float(np.linalg.norm(force))
        return f'{size:.4g} N on {link} for {duration:g} s'

    def _velocity(self, x: float = 0.0, y: float = 0.0, yaw: float = 0.0) -> str:
        sticks = np.array([_number(name, v) for name, v in (('x', x), ('y', y), ('yaw', yaw))])
        if (np.abs(sticks) > 1.0).any():
            raise CnoidControlError(f'sticks are {sticks.tolist()}; -1 to 1 is allowed')
        refusals = self._refusals(self._host())
        if 'velocity' in refusals:
            raise CnoidControlError(refusals['velocity'])
        with self._stick:
            self._sticks = sticks
            self._confirmed = True
            self._stick.notify_all()
        return 'sticks ' + ' '.join(f'{value:+.2f}' for value in sticks)

    def _send_sticks(self) -> None:
        """Repeat how the sticks stand while somebody confirms it, and that they are let go."""
        out = False
        while True:
            with self._stick:
                if not out:
                    self._stick.wait_for(lambda: self._confirmed or self._is_over)
                else:
                    waited = self._stick.wait_for(
                        lambda: self._confirmed or self._is_over, STICK_TIMEOUT
                    )
                    if not waited:
                        self._sticks = np.zeros(3)
                if self._is_over:
                    return
                self._confirmed = False
                sticks = self._sticks
            out = bool(sticks.any())
            self._post(sticks)

    def _post(self, sticks: np.ndarray) -> None:
        axes = np.zeros(1 + max(TWIST_AXES))
        axes[list(TWIST_AXES)] = sticks
        buttons = [0] * (ENABLE_BUTTON + 1)
        buttons[ENABLE_BUTTON] = int(sticks.any())
        joy = Joy(axes=axes, buttons=tuple(buttons))
        for io in self._host().ios():
            send_joy(list(io.mailboxes.values()), joy)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise CnoidControlError(f'{name} is {value!r}; a finite number was expected')
    return float(value)
