"""The terminal's keyboard as a joystick."""

from __future__ import annotations

import atexit
import os
import select
import sys
import termios
import time as clock
import tty

import numpy as np

from cnoid_control.controllers.vehicles.joystick import JoystickSource, SticksAndButtons

# Axis and position of each key; the arrows are the right stick.
STICKS = {
    'w': (1, 1.0),
    's': (1, -1.0),
    'a': (0, 1.0),
    'd': (0, -1.0),
    '\x1b[A': (4, 1.0),
    '\x1b[B': (4, -1.0),
    '\x1b[D': (3, 1.0),
    '\x1b[C': (3, -1.0),
}
AXES = 1 + max(axis for axis, _ in STICKS.values())
ARROW_SIZE = 3
HELP = 'keys: w a s d left stick, arrows right stick, 0 to 9 buttons\n'


class Keyboard(JoystickSource):
    """Keys of the terminal that the program was started from.

    A terminal tells when a key is pressed and repeats it, but not when it is released: a key
    counts for the time-out after it was heard of last.
    """

    def __init__(self, timeout: float) -> None:
        """Take the keys one by one, without their being shown.

        Args:
            timeout: time for which a key counts [s], steady clock.

        Raises:
            OSError: the program was not started from a terminal.
        """
        if not sys.stdin.isatty():
            raise OSError('the standard input is no terminal')
        self._file = sys.stdin.fileno()
        self._before = termios.tcgetattr(self._file)
        tty.setcbreak(self._file)
        # The terminal is given back however the program ends.
        atexit.register(self.close)
        sys.stderr.write(HELP)
        self._timeout = timeout
        self._heard: dict[str, float] = {}

    def read(self, time: float) -> SticksAndButtons:
        """Sticks and buttons by the keys heard within the time-out."""
        now = clock.monotonic()
        while select.select([self._file], [], [], 0.0)[0]:
            text = os.read(self._file, 256).decode(errors='ignore')
            if not text:
                break
            for key in split_keys(text):
                self._heard[key] = now
        self._heard = {
            key: heard for key, heard in self._heard.items() if now - heard <= self._timeout
        }
        axes = np.zeros(AXES)
        for key, (axis, position) in STICKS.items():
            if key in self._heard:
                axes[axis] += position
        buttons = frozenset(int(key) for key in self._heard if key.isdigit())
        return SticksAndButtons(axes, buttons)

    def close(self) -> None:
        """Give the terminal back as it was."""
        if self._file >= 0:
            termios.tcsetattr(self._file, termios.TCSADRAIN, self._before)
            self._file = -1
            atexit.unregister(self.close)


def split_keys(text: str) -> list[str]:
    """Keys of what a terminal has sent: single characters, and arrows of three."""
    keys = []
    while text:
        size = ARROW_SIZE if text.startswith('\x1b[') else 1
        keys.append(text[:size])
        text = text[size:]
    return keys
