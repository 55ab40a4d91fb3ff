"""Supervisor: pause, stop, reset, swap and options of a running loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from cnoid_control.plugin.mailbox import Mailbox
from cnoid_control.ros.exceptions import LoopCallTimeout, RosError
from cnoid_control.ros.node.session_loop import SessionLoop
from cnoid_control.ros.robot.hardware import Ros2ControlHardware
from cnoid_control.runtime.build import make_controllers
from cnoid_control.runtime.config import RunConfig
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.hot_swap import HotSwap, SwapState
from cnoid_control.runtime.loop import ControlLoop
from cnoid_control.runtime.managed_controller import ManagedController

PAUSED = 'paused'
PUT_BACK = 'the simulated robot is put back to its start'
# Longest wait for its states then [s].
STATE_TIMEOUT = 10.0
# Longest wait for the tick in which a stop is taken, and time between two looks for it [s].
STOP_TIMEOUT = 2.0
STOP_POLL = 0.001


@dataclass(eq=False)
class Stop:
    """A request to stop.

    Attributes:
        reason: why.
        estop: whether it is an emergency stop.
        is_answered: whether who has asked for it knows what came of it.
    """

    reason: str
    estop: bool
    is_answered: bool = False


class Supervisor:
    """Holds, stops, restarts, swaps and tunes the controllers; not from the loop's thread.

    Attributes:
        swapper: lets others take over.
        on_successor: told, in any thread, when controllers have taken over by themselves.
        put_back: puts a simulated robot back to its start, for `reset`; None for a real one.
    """

    def __init__(
        self,
        config: RunConfig,
        loop: ControlLoop,
        hardware: Ros2ControlHardware,
        runner: SessionLoop,
        swapper: HotSwap,
    ) -> None:
        """Act on a loop.

        Args:
            config: the configuration of its controllers.
            loop: the loop.
            hardware: its hardware.
            runner: its thread.
            swapper: swaps its controllers.
        """
        self.swapper = swapper
        self.on_successor: Callable[[], None] = lambda: None
        self.put_back: Callable[[], None] | None = None
        self._loop = loop
        self._configs = WeakKeyDictionary({loop.host: config})
        self._safe_state = loop.safe_state
        self._hardware = hardware
        self._runner = runner
        # Stops that the next reset must not undo: those since it began, and those before it that
        # were not answered yet.
        self._stops: list[Stop] = []
        self._stops_lock = threading.Lock()

    @property
    def is_active(self) -> bool:
        """Whether the loop runs."""
        return self._runner.is_running

    @property
    def host(self) -> ControllerHost:
        """The controllers that have the robot, or have begun to take over."""
        transition = self._loop.transition
        if transition is None:
            return self._loop.host
        if transition.winner is not None:
            return transition.winner
        return transition.new if transition.state is SwapState.BLENDING else transition.old

    @property
    def config(self) -> RunConfig:
        """The configuration of the controllers that have the robot, whoever had it meanwhile."""
        return self._configs[self.host]

    @config.setter
    def config(self, config: RunConfig) -> None:
        self._configs[self.host] = config

    @property
    def is_stoppable(self) -> bool:
        """Whether the loop runs, or is about to."""
        return self._runner.is_running or self._runner.is_starting

    def members(self) -> list[ManagedController]:
        """The controllers and sub-controllers of `host`."""
        return [member for managed in self.host.controllers for member in managed.with_children()]

    def mailboxes(self) -> list[Mailbox[Any]]:
        """The mailboxes of the controllers that have the robot, and of the enabling switch."""
        ios = [member.io for member in self.members() if member.io is not None]
        if self._loop.enabling is not None:
            ios.append(self._loop.enabling.io)
        return [mailbox for io in ios for mailbox in io.mailboxes.values()]

    def pause(self) -> None:
        """Hold the robot and tell the controllers that they have a pause."""

        def pause() -> None:
            self._safe_state.enter(PAUSED, pause=True)
            self._loop.watched(self._loop.host.pause, 'pause')

        self._demand_control()
        self._runner.call(pause)

    def resume(self) -> None:
        """Let the controllers go on after a pause."""

        def resume() -> None:
            self._loop.watched(self._loop.host.resume, 'resume')
            # Something may have gone wrong in the meantime.
            if self._safe_state.is_pause:
                self._safe_state.reset()

        self._demand_active()
        if not self._safe_state.is_pause:
            raise RosError(f'there is no pause: {self._safe_state.reason or "it runs"}')
        switch = self._loop.enabling
        if switch is not None and not switch.is_held:
            raise RosError(switch.reason)
        self._runner.call(resume)

    def stop(self, reason: str, estop: bool = False) -> None:
        """Enter the safe state; an emergency stop overrules everything."""
        self._demand_stoppable()
        stop = self._remember_stop(reason, estop)
        try:
            self._loop.request_safe_state(reason, estop)
            # The loop's thread may be held up by a controller: whoever ticks takes it.
            deadline = time.monotonic() + STOP_TIMEOUT
            while not self._is_taken(estop):
                self._demand_stoppable()
                if time.monotonic() > deadline:
                    raise RosError(
                        f'no tick was taken in {STOP_TIMEOUT:g} s; the next one stops the robot'
                    )
                time.sleep(STOP_POLL)
        finally:
            stop.is_answered = True

    def _is_taken(self, estop: bool) -> bool:
        """Whether the robot is stopped; a pause, or the end of the controllers, is no stop yet."""
        state = self._safe_state
        return state.is_estop if estop else state.is_engaged and not state.is_expected

    def _remember_stop(self, reason: str, estop: bool) -> Stop:
        stop = Stop(reason, estop)
        with self._stops_lock:
            # Once is enough of what is asked for again and again.
            self._stops = [
                one
                for one in self._stops
                if (one.reason, one.estop, one.is_answered) != (reason, estop, True)
            ]
            self._stops.append(stop)
        return stop

    def reset(self) -> str:
        """Leave the safe state: fresh controllers take over from the measured state.

        A simulated robot is put back to its start before, whether it was in the safe state or
        not. Command controllers that were deactivated in the meantime are activated again. A stop
        that is asked for after the reset has begun, or was not answered by then, overrules it.

        Returns:
            What came of it.

        Raises:
            CnoidControlError: they cannot; the safe state goes on.
        """
        self._demand_active()
        with self._stops_lock:
            self._stops = [stop for stop in self._stops if not stop.is_answered]
        if self.put_back is not None:
            try:
                self._begin_anew(self.put_back)
                self._renew()
            finally:
                # Where it has failed the safe state is to be heard.
                self._hardware.unmute(with_next_state=True)
            return 'running, from the start of the simulation'
        if not self._safe_state.is_engaged:
            return 'running already: there is nothing to reset'
        causes = self._loop.watchdog.too_old()
        if causes:
            raise RosError(f'reset refused, cause still present: {"; ".join(causes)}')
        self._renew()
        return 'running'

    def _begin_anew(self, put_back: Callable[[], None]) -> None:
        """Have a simulated robot stand at its start, and hear no command before fresh ones."""
        self._runner.call(lambda: self._safe_state.enter(PUT_BACK, pause=True))
        self._hardware.mute()
        put_back()
        # The first state that comes now may have been on its way before.
        for _ in range(2):
            self._wait_for_state()

    def _wait_for_state(self) -> None:
        since = time.monotonic()
        self._hardware.expect_repetition()
        while self._hardware.arrival <= since:
            self._demand_active()
            if time.monotonic() > since + STATE_TIMEOUT:
                raise RosError(f'no joint states in {STATE_TIMEOUT:g} s after the start')
            time.sleep(STOP_POLL)

    def _renew(self) -> None:
        """Bring fresh controllers up, and let them have the robot."""
        old = self._loop.host
        config = self.config
        new = ControllerHost(
            make_controllers(config), self._hardware.body, config.time_step, old.os
        )
        self._configs[new] = config
        try:
            new.configure()
            new.initialize(standby=True)
            new.start()
            # Command controllers may have been deactivated, or be others now.
            self._hardware.prepare(new.request())
            if self.put_back is not None:
                # A robot that waits for a command shows no new state: a tick must come anyhow.
                self._hardware.expect_repetition()
            self._runner.call(lambda: self._restart(new))
        except Exception as error:
            if isinstance(error, LoopCallTimeout) and error.started:
                # It may still take effect, when nobody expects it any more.
                self._remember_stop('a reset was given up', False).is_answered = True
                raise
            new.end()
            raise
        old.end()
        self._demand_no_stop()

    def _restart(self, new: ControllerHost) -> None:
        """Restart, in the loop's thread; the next tick is in the safe state if a stop came."""
        self._demand_no_stop()
        self._loop.restart(new)
        if self.put_back is not None:
            self._hardware.unmute(with_next_state=True)
            self._hardware.expect_repetition()
        # What had been found before was forgotten: a stop that came just now among it.
        for stop in self._stops:
            self._safe_state.enter(stop.reason, stop.estop)

    def _demand_no_stop(self) -> None:
        if self._stops:
            reasons = '; '.join(stop.reason for stop in self._stops)
            raise RosError(f'reset refused, stopped after it had begun: {reasons}')

    def swap(self, config: RunConfig) -> None:
        """Have the controllers of another configuration take over.

        Raises:
            CnoidControlError: they cannot; the old ones go on.
        """

        def precondition(new: ControllerHost) -> None:
            # They may have been stopped while the new ones were brought up.
            self._demand_control()
            # Before their first tick, in which they may end already.
            self._configs[new] = config

        self._demand_control()
        self.swapper.swap(make_controllers(config), precondition=precondition)

    def note_successor(self, host: ControllerHost, config: RunConfig) -> None:
        """Take note of controllers that take over by themselves, and of their configuration."""
        self._configs[host] = config
        if self._loop.host is host:
            self.on_successor()

    def set_scale(self, scale: float) -> None:
        """Give the controllers another share of speed and gain, between two ticks.

        Raises:
            ParameterError: a joint cannot be scaled.
        """
        if scale != self._loop.limiter.wanted_scale:
            self._runner.call(lambda: self._loop.set_scale(scale))

    def update_options(self, options: Mapping[str, Mapping[str, Any]]) -> None:
        """Give controllers other options between two ticks: all of them, or none.

        Args:
            options: all options of each controller, by its name; names of others are ignored.

        Raises:
            ParameterError: an option is wrong, or cannot change while the controller runs.
            Exception: a controller refuses them.
        """
        changes = [
            (member, given, member.check(given))
            for member in self.members()
            if (given := options.get(member.name)) is not None
        ]
        host = self.host

        def change() -> None:
            done: list[tuple[ManagedController, Any, Any]] = []
            try:
                for member, given, checked in changes:
                    before = member, member.options, member.parameters
                    member.change_options(given, checked)
                    done.append(before)
            except Exception:
                for member, given, checked in reversed(done):
                    member.change_options(given, checked)
                raise

        if changes:
            self._runner.call(lambda: self._loop.watched(change, 'update_parameters', host))

    def _demand_active(self) -> None:
        if not self.is_active:
            raise RosError('the node is not active')

    def _demand_stoppable(self) -> None:
        if not self.is_stoppable:
            raise RosError('the node is not active')

    def _demand_control(self) -> None:
        self._demand_active()
        if self._safe_state.is_engaged:
            raise RosError(f'the robot is in the safe state: {self._safe_state.reason}')
