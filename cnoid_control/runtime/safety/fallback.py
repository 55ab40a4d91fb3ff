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
        # What is being brought up, or has been: whoever comes to its end late finds another one.
        self._attempt: object | None = None
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Bring the controller up, where that has not begun yet."""
        if self._attempt is not None:
            return
        attempt = self._attempt = object()
        self._tick = 0
        self.error = None
        threading.Thread(
            target=self._bring_up, args=(attempt,), name='fallback', daemon=True
        ).start()

    def end(self) -> None:
        """Release the controller; it is stopped in another thread."""
        if self._attempt is None:
            return
        with self._lock:
            self._attempt = None
            host, self.host = self.host, None
        self._has_computed = False
        if host is not None:
            host.end_beside()

    def _bring_up(self, attempt: object) -> None:
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
            with self._lock:
                if self._attempt is attempt:
                    self.error = error
            if host is not None:
                host.end()
            return
        with self._lock:
            if self._attempt is attempt:
                self.host = host
                return
        host.end()

    def computed(self) -> None:
        """Keep what the controller has just commanded for `apply`."""
        self._computed.take(self._commands)
        self._has_computed = True

    def fail(self, error: CnoidControlError) -> None:
        """Go back to holding, until the safe state is entered the next time."""
        self.error = error
        self._has_computed = False
        with self._lock:
            host, self.host = self.host, None
        if host is not None:
            host.end_beside()

    def apply(self) -> None:
        """Mix what was computed into the commands that hold the robot."""
        if self._has_computed:
            self._has_computed = False
            self._tick = min(self._tick + 1, self._ticks)
            self._commands.blend(self._computed, smooth(self._tick / self._ticks))
