"""A gamepad of this computer, read through the kernel's joystick interface."""

from __future__ import annotations

import contextlib
import os
import struct

import numpy as np

from cnoid_control.controllers.vehicles.joystick import JoystickSource, SticksAndButtons

# One event of the kernel: time [ms], value, type, number.
EVENT = struct.Struct('=IhBB')
BUTTON, AXIS = 0x01, 0x02
# Set in the type of the events that tell the state at the start.
INITIAL = 0x80
FULL = 32767.0
# Reads in one tick: a file that never runs dry must not keep the tick.
READS = 16


class Gamepad(JoystickSource):
    """Sticks and buttons of a file such as /dev/input/js0."""

    def __init__(self, device: str) -> None:
        """Open the file.

        Raises:
            OSError: it cannot be opened.
        """
        self._file = os.open(device, os.O_RDONLY | os.O_NONBLOCK)
        self._axes: dict[int, float] = {}
        self._buttons: set[int] = set()
        self._rest = b''

    def read(self, time: float) -> SticksAndButtons:
        """Sticks and buttons after all events so far; released where the gamepad was unplugged."""
        try:
            for _ in range(READS):
                data = os.read(self._file, 64 * EVENT.size)
                self._take(data)
                if not data:
                    break
        except BlockingIOError:
            pass
        except OSError:
            self._axes.clear()
            self._buttons.clear()
        axes = np.zeros(max(self._axes, default=-1) + 1)
        for number, position in self._axes.items():
            axes[number] = position
        return SticksAndButtons(axes, frozenset(self._buttons))

    def _take(self, data: bytes) -> None:
        data = self._rest + data
        whole = len(data) - len(data) % EVENT.size
        self._rest = data[whole:]
        for _, value, kind, number in EVENT.iter_unpack(data[:whole]):
            if kind & ~INITIAL == AXIS:
                # The kernel counts right and down positive.
                self._axes[number] = float(np.clip(-value / FULL, -1.0, 1.0))
            elif kind & ~INITIAL == BUTTON:
                (self._buttons.add if value else self._buttons.discard)(number)

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = -1
