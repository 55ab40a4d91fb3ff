"""What a robot is moved by hand with."""

from __future__ import annotations

import abc
import threading

from cnoid_control.plugin.mailbox import Joy


class TeleopDevice(abc.ABC):
    """Sticks and buttons that somebody holds; read from any thread.

    Axes and buttons are counted as the ROS package joy has it for most gamepads: axis 0 is the
    left stick to the left, 1 the left stick up, 3 the right stick to the left, 4 the right stick
    up. `ENABLE_BUTTON` of `controllers.joystick` is the button that must be held.

    Attributes:
        name: what it is, for messages.
        help: one line on how it is used.
        ends_run: whether who leaves it wants the run to end; else it is at rest from then on.
    """

    name = ''
    help = ''
    ends_run = False

    def __init__(self) -> None:
        """Nobody has asked for a stop."""
        self._stop = threading.Event()
        self._end = ''

    @abc.abstractmethod
    def read(self) -> Joy:
        """Sticks and buttons as they stand; everything released once it has ended. Never waits."""

    @abc.abstractmethod
    def close(self) -> None:
        """Give back what was opened; again, nothing happens."""

    @property
    def end(self) -> str:
        """Why nothing comes any more; empty while it is used."""
        return self._end

    def take_stop(self) -> bool:
        """Whether somebody has asked for a stop since the last call."""
        asked = self._stop.is_set()
        self._stop.clear()
        return asked
