"""The loop with its guards: what goes wrong ends in the safe state, and the loop goes on."""

from __future__ import annotations

from typing import Any

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.hardware.hardware import Hardware
from cnoid_control.runtime.host import ControllerHost
from cnoid_control.runtime.limits import CommandLimiter
from cnoid_control.runtime.loop import ControlLoop
from cnoid_control.runtime.safe_state import SafeState
from cnoid_control.runtime.watchdog import Watchdog


class GuardedLoop(ControlLoop):
    """A loop that never leaves the robot without a command.

    A trip of the watchdog, a controller that fails, commands that are no numbers and controllers
    that have no more to do enter the safe state; it commands the robot, tick by tick, until it
    is reset.

    Attributes:
        guard: the watchdog.
        safe_state: the safe state.
        failure: why a controller was stopped; None for none since the last reset.
        finished: whether the controllers have said that there is no more to do.
    """

    def __init__(
        self,
        hardware: Hardware,
        host: ControllerHost,
        guard: Watchdog,
        safe_state: SafeState,
        limiter: CommandLimiter,
        **loop: Any,
    ) -> None:
        """Put the parts together; nothing is opened yet."""
        super().__init__(hardware, host, limiter=limiter, **loop)
        self.guard = guard
        self.safe_state = safe_state
        self.failure: CnoidControlError | None = None
        self.finished = False

    def step(self) -> bool:
        """Walk one tick.

        Returns:
            Whether there is to be another one: False only when there will be no state any more.
        """
        hardware = self.hardware
        if not hardware.read():
            self.exhausted = True
            return False
        trip = self.guard.check()
        if trip is not None and trip.action in ('safe', 'estop'):
            self.safe_state.enter(trip.message, estop=trip.action == 'estop')
        now = hardware.time
        if not self.safe_state.is_engaged:
            self._control(now)
        if self.tape is not None:
            self.tape.record(now)
        dt = hardware.time_step
        self.safe_state.apply(dt, self.guard.is_fresh('state_age'))
        if self.limiter is not None and not self.limiter.apply(dt):
            self.safe_state.enter(f'at tick {self.tick}: the commands are not finite numbers')
            self.safe_state.apply(dt, self.guard.is_fresh('state_age'))
            self.limiter.apply(dt)
        hardware.write()
        self.tick += 1
        return True

    def _control(self, now: float) -> None:
        try:
            if self.transition is None:
                go_on = self.host.control(self.tick, now)
            else:
                go_on = self._control_transition(self.transition, now)
        except CnoidControlError as error:
            self.failure = error
            self.safe_state.enter(str(error))
            return
        if not go_on and self.active_control_only:
            self.finished = True
            self.safe_state.enter('the controllers have finished')
