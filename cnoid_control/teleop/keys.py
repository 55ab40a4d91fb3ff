"""Keys as sticks and buttons; no keyboard is touched here."""

from __future__ import annotations

import numpy as np

from cnoid_control.controllers.joystick import ENABLE_BUTTON
from cnoid_control.plugin.mailbox import Joy

# Axis and position of each key.
STICKS = {
    'w': (1, 1.0),
    's': (1, -1.0),
    'a': (0, 1.0),
    'd': (0, -1.0),
    'q': (3, 1.0),
    'e': (3, -1.0),
    'left': (3, 1.0),
    'right': (3, -1.0),
    'up': (4, 1.0),
    'down': (4, -1.0),
}
AXES = 1 + max(axis for axis, _ in STICKS.values())
BUTTONS = 10
ENABLE, ZERO, STOP, END = 'enter', 'x', 'space', 'esc'
# Part of the full stick by which a key moves a latched stick.
LATCH_STEP = 0.1


class KeySticks:
    """How sticks and buttons stand by the keys that were pressed and released.

    Held: a stick is out while its key is held, and so is the enabling button. Latched: each
    press moves a stick by a tenth, and there it stays; the enabling button counts as held from
    the first press until everything is released.
    """

    def __init__(self, latched: bool = False) -> None:
        """Begin with everything released."""
        self._latched = latched
        self._held: set[str] = set()
        self._axes = np.zeros(AXES)
        self._enabled = False

    def press(self, key: str) -> None:
        """A key goes down."""
        if key in (ZERO, STOP, END):
            self.release_all()
            return
        self._held.add(key)
        if self._latched and key in STICKS:
            axis, position = STICKS[key]
            moved = self._axes[axis] + LATCH_STEP * position
            self._axes[axis] = round(float(np.clip(moved, -1.0, 1.0)), 6)
            self._enabled = True

    def release(self, key: str) -> None:
        """A key comes up."""
        self._held.discard(key)

    def release_all(self) -> None:
        """Let all keys go, and latched sticks to the middle."""
        self._held = set()
        self._axes = np.zeros(AXES)
        self._enabled = False

    @property
    def joy(self) -> Joy:
        """Sticks and buttons as they stand."""
        axes = self._axes.copy()
        sticks = [key for key in self._held if key in STICKS]
        if not self._latched:
            for key in sticks:
                axis, position = STICKS[key]
                axes[axis] += position
        pressed = {int(key) for key in self._held if key.isdecimal() and int(key) < BUTTONS}
        if self._enabled or ENABLE in self._held or (sticks and not self._latched):
            pressed.add(ENABLE_BUTTON)
        return Joy(axes=axes, buttons=tuple(int(i in pressed) for i in range(BUTTONS)))


def help_text(latched: bool) -> str:
    """One line on the keys."""
    how = 'each press a tenth, x to the middle' if latched else 'while held'
    return (
        f'w a s d left stick, q e or arrows right stick ({how}); 0 to 9 buttons; enter enables; '
        'space STOPS; esc ends'
    )
