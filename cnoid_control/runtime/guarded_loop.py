"""The loop with its guards: what goes wrong ends in the safe state, and the loop goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.hardware.hardware import Hardware
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.exceptions import ControlTimeout, ImplausibleCommands, InSafeState
from cnoid_control.runtime.loop import ControlLoop
from cnoid_control.runtime.safety.fallback import Fallback
from cnoid_control.runtime.safety.hang_monitor import HangMonitor
from cnoid_control.runtime.safety.limits import CommandLimiter
from cnoid_control.runtime.safety.safe_state import SafeState
from cnoid_control.runtime.safety.watchdog import Watchdog

# Watches that find that nobody takes the commands.
NO_SUBSCRIBER = ('deactivated', 'subscriber_time')


class GuardedLoop(ControlLoop):
    """A loop that never leaves the robot without a command.

    A trip of the watchdog, a controller that fails, commands that are no numbers and controllers
    that have no more to do enter the safe state; it commands the robot, tick by tick, until it
    is reset. A controller that does not come back is seen by a monitor in another thread, which
    takes the ticks until it does.

    Attributes:
        guard: the watchdog.
        safe_state: the safe state.
        failure: why a controller was stopped; None for none since the last reset.
        finished: whether the controllers have said that there is no more to do.
        fallback: the controller that commands in the safe state; None for none.
    """

    def __init__(
        self,
        hardware: Hardware,
        host: ControllerHost,
        guard: Watchdog,
        safe_state: SafeState,
        limiter: CommandLimiter,
        make_fallback: Callable[[], ControllerHost] | None = None,
        **loop: Any,
    ) -> None:
        """Put the parts together; nothing is opened yet.

        Args:
            hardware: the robot.
            host: the controllers.
            guard: the watchdog.
            safe_state: the safe state.
            limiter: the limits.
            make_fallback: makes the controller that commands in the safe state, if any does.
            loop: other arguments of the loop.
        """
        super().__init__(hardware, host, limiter=limiter, **loop)
        self.fallback: Fallback | None = None
        if make_fallback is not None:
            takeover = safe_state.parameters.takeover
            body, dt = hardware.body, hardware.time_step
            self.fallback = Fallback(make_fallback, body, dt, takeover)
        self.guard = guard
        self.safe_state = safe_state
        # More would be taken for what cannot be meant, and replaced by nothing at all.
        safe_state.effort_limits = limiter.limits.u_lower, limiter.limits.u_upper
        self.failure: CnoidControlError | None = None
        self.finished = False
        # Who holds it reads and commands the robot; it is free while controllers compute.
        self._robot = threading.Lock()
        self._stood_in: Callable[[], None] = lambda: None
        self._monitor = HangMonitor(
            guard.parameters.control_time,
            hardware.time_step,
            self._report_hang,
            self._stand_in,
        )

    def restart(self, host: ControllerHost) -> None:
        """Let these controllers, started and fresh, have the robot; in the loop's thread.

        Raises:
            HardwareError: the robot cannot be made ready for them.
        """
        self.abandon_transition(reopen=False)
        self.hardware.open(host.request())
        self.host = host
        host.set_modes()
        if self.limiter is not None:
            self.limiter.restart()
        self.failure = None
        self.finished = False
        self.guard.start()
        self.safe_state.reset()

    def request_safe_state(self, reason: str, estop: bool = False) -> None:
        """Have the next tick enter the safe state, whoever takes that tick; from any thread.

        Args:
            reason: one sentence on why.
            estop: whether it is an emergency stop.
        """
        name, action = ('estop', 'estop') if estop else ('stop', 'safe')
        self.guard.trip(name, action, reason)

    def watched(self, function: Callable[[], None]) -> None:
        """Run something of the controllers between two ticks, watched as control() is.

        In the loop's thread.

        Raises:
            ControlTimeout: it did not come back in time and was interrupted.
            Exception: what the function raised.
        """
        try:
            self._monitor.begin()
            function()
        finally:
            self._monitor.end()

    # --- the tick -----------------------------------------------------------------------------

    def step(self) -> bool:
        """Walk one tick.

        Returns:
            Whether there is to be another one: False only when there will be no state any more.
        """
        try:
            with self._robot:
                return self._step()
        except ControlTimeout:
            # The interrupt came when the controller had just come back: the safe state is on.
            return True

    def _step(self) -> bool:
        hardware = self.hardware
        if not hardware.read():
            self.exhausted = True
            return False
        if self.recorder is not None:
            self.recorder.note_inputs(hardware.time)
        self._look()
        self._refuse_late_swap()
        # Without anything new the last command is sent again; hardware that cannot tell has it.
        if not self.safe_state.is_engaged and getattr(hardware, 'is_due', True):
            self._control(hardware.time)
        if self.fallback is not None:
            self._control_fallback(self.fallback, hardware.time)
        self._send()
        return True

    def _look(self) -> None:
        """Enter the safe state where something is wrong, or somebody wants it."""
        trip = self.guard.check()
        if trip is not None and trip.action in ('safe', 'estop'):
            estop = trip.action == 'estop'
            self.safe_state.enter(trip.message, estop, self.guard.finds(*NO_SUBSCRIBER))

    def _refuse_late_swap(self) -> None:
        """Give up controllers whose first tick will not come, for the robot is held.

        The takers of their commands may be active already: those of the old ones must be again.
        """
        transition = self.transition
        if transition is not None and self.safe_state.is_engaged and not transition.has_begun:
            self.abandon_transition(InSafeState(self.safe_state.reason))

    def _control_fallback(self, fallback: Fallback, now: float) -> None:
        if not self.safe_state.is_engaged or self.safe_state.is_estop:
            fallback.end()
            return
        fallback.begin()
        self._robot.release()
        try:
            self._monitor.begin()
            fallback.control(self.tick, now)
        finally:
            self._monitor.end()
            self._robot.acquire()
        if not self._can_blend():
            fallback.fail(ImplausibleCommands(self.tick))

    def _can_blend(self) -> bool:
        return self.limiter is None or self.limiter.can_blend()

    def _send(self) -> None:
        dt = self.hardware.time_step
        fresh = self.guard.is_fresh('state_age')
        if self.trace is not None:
            self.trace.record(self.hardware.time)
        if self.recorder is not None:
            self.recorder.note_outputs()
        if self.safe_state.is_handing_over and not self._can_blend():
            # Mixed with what holds the robot it would have its way little by little.
            self.safe_state.enter(str(ImplausibleCommands(self.tick)))
        self.safe_state.apply(dt, fresh)
        if self.fallback is not None and fresh:
            self.fallback.apply()
        # States that come faster than agreed must not make the robot faster than it may be.
        since = min(dt, getattr(self.hardware, 'dt', dt))
        if self.limiter is not None and not self.limiter.apply(since):
            if self.fallback is not None:
                self.fallback.fail(ImplausibleCommands(self.tick))
            self.safe_state.enter(str(ImplausibleCommands(self.tick)))
            self.safe_state.apply(dt, fresh)
            self.limiter.apply(since)
        if self.recorder is not None:
            self.recorder.note_sent()
        self.hardware.write()
        self.tick += 1

    def _control(self, now: float) -> None:
        self._robot.release()
        try:
            self._monitor.begin()
            if self.transition is None:
                go_on = self.host.control(self.tick, now)
            else:
                go_on = self._control_transition(self.transition, now)
        except CnoidControlError as error:
            self.failure = error
            go_on = True
        finally:
            self._monitor.end()
            self._robot.acquire()
        if self.failure is not None:
            self.safe_state.enter(str(self.failure))
        elif not go_on and self.active_control_only:
            self.finished = True
            self.safe_state.enter('the controllers have finished')

    # --- when a controller does not come back -------------------------------------------------

    def start_monitor(self, stood_in: Callable[[], None] = lambda: None) -> None:
        """Watch from another thread that controllers come back.

        Args:
            stood_in: called after each tick that was taken in that thread.
        """
        self._stood_in = stood_in
        if self.guard.parameters.control_action != 'ignore':
            self._monitor.start()

    def stop_monitor(self) -> None:
        """Watch no more."""
        self._monitor.stop()

    def _report_hang(self, duration: float) -> None:
        action = self.guard.parameters.control_action
        reason = str(ControlTimeout(duration, self._monitor.limit))
        self.guard.trip('control_time', action, reason)
        if action == 'warn':
            return
        hosts = [self.host]
        if self.transition is not None:
            hosts = [self.transition.old, self.transition.new]
        for host in hosts:
            host.revoke()
        if self.fallback is not None:
            self.fallback.fail(ControlTimeout(duration, self._monitor.limit))
        with self._robot:
            # A loop in Python must not keep the interpreter from what follows.
            self._monitor.interrupt()
            self.safe_state.enter(reason, estop=action == 'estop')

    def _stand_in(self) -> None:
        """Take a tick in the place of the loop's thread, with the safe command."""
        if not self.safe_state.is_engaged:
            return
        with self._robot:
            if self.hardware.read():
                if self.recorder is not None:
                    self.recorder.note_inputs(self.hardware.time)
                self._look()
                self._send()
        self._stood_in()
