"""When the simulated robot takes its next step."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

FREE, PACED, LOCKSTEP = 'free', 'paced', 'lockstep'
PACINGS = (FREE, PACED, LOCKSTEP)

# Behind the clock by more than so many periods, a simulation does not try to catch up: states
# that follow each other too fast are lost on the way.
LARGEST_DEBT = 2.0


class Pacing:
    """Decides how long a tick waits for commands and for the clock.

    free: goes on with the clock, whatever comes. paced: goes on with the clock, but waits when the
    last command has become too old; when it is behind the clock it waits for every command, as
    states that follow each other too fast would be lost. lockstep: goes on when every state has
    been answered.

    Attributes:
        mode: one of PACINGS.
        factor: simulated seconds per second; 0 for as fast as possible.
        timeout: longest wait for a command [s].
        patience: states that may go out after the last command before a paced robot waits.
        timeouts: ticks in which no command came in time.
        overruns: ticks that came so late that the clock was given up.
    """

    def __init__(
        self,
        mode: str,
        factor: float,
        timeout: float,
        time_step: float,
        command_age: float = 0.0,
    ) -> None:
        """Start with the next tick due at once.

        Args:
            mode: one of PACINGS.
            factor: simulated seconds per second; 0 for as fast as possible.
            timeout: longest wait for a command [s].
            time_step: period of the ticks [s].
            command_age: age that a command may reach before a paced robot waits [s].
        """
        self.mode = mode
        self.factor = factor
        self.timeout = timeout
        self.timeouts = 0
        self.overruns = 0
        # A hair more than nothing: 3 ms are three periods of 1 ms, however they are rounded.
        self.patience = int(command_age / time_step + 1e-6) if mode == PACED else 0
        self._time_step = time_step
        self._due = time.monotonic()
        # Commands that are still to come, by controller.
        self._owed: dict[str, int] = {}
        self._timed_out = False

    def state_sent(self, controllers: Collection[str]) -> None:
        """Expect an answer of each of these controllers to a new state."""
        self._owed = {name: self._owed.get(name, 0) + 1 for name in controllers}

    def command_came(self, controller: str) -> None:
        """Count a command of a controller."""
        if self.mode == PACED:
            self._owed[controller] = 0
        elif self._owed.get(controller, 0) > 0:
            self._owed[controller] -= 1

    def keep(self, controllers: Collection[str]) -> None:
        """Expect nothing any more of controllers other than these."""
        if any(name not in controllers for name in self._owed):
            self._owed = {n: owed for n, owed in self._owed.items() if n in controllers}

    def owes(self, controller: str) -> bool:
        """Whether a command of that controller is to come."""
        return self._owed.get(controller, 0) > 0

    @property
    def waits(self) -> bool:
        """Whether commands are to come before the next step may be taken."""
        if self.mode == FREE:
            return False
        patience = self.patience
        if patience and self.factor > 0 and time.monotonic() > self._due + self._time_step:
            patience = 0
        return max(self._owed.values(), default=0) > patience

    def wait(self, take: Callable[[float], None], stopped: Callable[[], bool]) -> None:
        """Let the time between a state and the next step go by.

        Args:
            take: waits for commands, at most that many seconds, and takes them over.
            stopped: whether to give up at once.
        """
        deadline = time.monotonic() + self.timeout
        take(0.0)
        while self.waits and not stopped():
            left = deadline - time.monotonic()
            if left <= 0:
                self._give_up()
                break
            take(left)
        else:
            self._timed_out = False
        self._wait_for_clock(take, stopped)

    def _give_up(self) -> None:
        # A late answer still has to be told from the next one, so it stays owed; when the next
        # one is overdue too, the first is lost for good.
        self.timeouts += 1
        if self._timed_out:
            self._owed = dict.fromkeys(self._owed, 0)
        self._timed_out = not self._timed_out

    def _wait_for_clock(self, take: Callable[[float], None], stopped: Callable[[], bool]) -> None:
        if self.factor <= 0:
            return
        self._due += self._time_step / self.factor
        now = time.monotonic()
        if now - self._due > LARGEST_DEBT * self._time_step / self.factor:
            self.overruns += 1
            self._due = now
        while now < self._due and not stopped():
            take(self._due - now)
            now = time.monotonic()

    def restart(self) -> None:
        """Owe nothing, and let the clock begin anew."""
        self._owed = {}
        self._timed_out = False
        self._due = time.monotonic()
