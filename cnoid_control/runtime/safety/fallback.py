"""A controller that commands the robot in the safe state, in the place of holding."""

from __future__ import annotations

import threading
from collections.abc import Callable

from cnoid_control.body import Body
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.exceptions import ModesDiffer
from cnoid_control.runtime.safety.commands import Commands
from cnoid_control.runtime.safety.safe_state import smooth


class Fallback:
    """Brings a controller up when the safe state is entered, and blends it in.

    It starts from the state that is measured then, in a thread of its own; until it is ready, and
    whenever it fails, the robot is held.

    Attributes:
        host: the controller once it is ready; None otherwise.
        error: why there is none; None where nothing is wrong.
    """

    def __init__(
        self, make: Callable[[], ControllerHost], body: Body, time_step: float, duration: float
    ) -> None:
        """Prepare; nothing is made yet.

        Args:
            make: makes the host with the controller.
            body: the robot.
            time_step: period of the ticks [s].
            duration: time in which the commands move from holding to the controller's [s].
        """
        self.host: ControllerHost | None = None
        self.error: CnoidControlError | None = None
        self._make = make
        self._body = body
        self._ticks = max(1, round(duration / time_step))
        self._tick = 0
        self._commands = Commands.of(body)
        self._computed = self._commands.copy()
        self._has_computed = False
        self._is_wanted = False

    def begin(self) -> None:
        """Bring the controller up, where that has not begun yet."""
        if self._is_wanted:
            return
        self._is_wanted = True
        self._tick = 0
        self.error = None
        threading.Thread(target=self._bring_up, name='fallback', daemon=True).start()

    def end(self) -> None:
        """Let the controller go; it is stopped in another thread."""
        self._is_wanted = False
        self._has_computed = False
        host, self.host = self.host, None
        if host is not None:
            threading.Thread(target=_let_go, args=(host,), daemon=True).start()

    def _bring_up(self) -> None:
        host: ControllerHost | None = None
        try:
            host = self._make()
            host.configure()
            request = host.initialize(standby=True)
            for name, mode in request.outputs.items():
                if self._body.link(name).actuation_mode != mode:
                    raise ModesDiffer(host.controllers[0].name, name)
            host.start()
        except CnoidControlError as error:
            self.error = error
            if host is not None:
                _let_go(host)
            return
        if self._is_wanted:
            self.host = host
        else:
            _let_go(host)

    def control(self, tick: int, time: float) -> None:
        """Call the controller, where there is one; its commands wait for `apply`."""
        self._has_computed = False
        host = self.host
        if host is None:
            return
        try:
            host.control(tick, time)
        except CnoidControlError as error:
            self.fail(error)
            return
        self._computed.take(self._commands)
        self._has_computed = True

    def fail(self, error: CnoidControlError) -> None:
        """Go back to holding, for good."""
        self.error = error
        self._has_computed = False
        host, self.host = self.host, None
        if host is not None:
            host.revoke()
            threading.Thread(target=_let_go, args=(host,), daemon=True).start()

    def apply(self) -> None:
        """Mix what was computed into the commands that hold the robot."""
        if self._has_computed:
            self._tick = min(self._tick + 1, self._ticks)
            self._commands.blend(self._computed, smooth(self._tick / self._ticks))


def _let_go(host: ControllerHost) -> None:
    host.stop()
    host.unconfigure()
