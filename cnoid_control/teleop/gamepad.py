"""A gamepad of this computer, through the kernel's events (evdev)."""

from __future__ import annotations

import contextlib
import importlib.util
import select
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cnoid_control.controllers.joystick import ENABLE_BUTTON
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.plugin.mailbox import Joy
from cnoid_control.teleop.device import TeleopDevice

# Types of events, and codes, of the kernel's input-event-codes.h.
EV_SYN, EV_KEY, EV_ABS = 0x00, 0x01, 0x03
SYN_DROPPED = 3
ABS_X, ABS_Y, LAST_STICK = 0x00, 0x01, 0x17
FIRST_BUTTON, LAST_BUTTON = 0x120, 0x13F
# The button that asks for a stop: the right one of four, B or a circle.
STOP_BUTTON = 1
# Time after which the thread looks whether it is to end [s].
LOOK_PERIOD = 0.2


@dataclass(frozen=True)
class GamepadLayout:
    """Axes and buttons of a gamepad, in the order of their codes, as the kernel's joydev has them.

    Attributes:
        axes: lowest and highest value by code.
        buttons: codes.
    """

    axes: Mapping[int, tuple[int, int]]
    buttons: tuple[int, ...]

    @property
    def is_gamepad(self) -> bool:
        """Whether it has a stick and a button that could be held."""
        has_stick = ABS_X in self.axes and ABS_Y in self.axes
        return has_stick and len(self.buttons) > ENABLE_BUTTON


class GamepadState:
    """Sticks and buttons by the events so far."""

    def __init__(self, layout: GamepadLayout) -> None:
        """Begin with everything released."""
        self._layout = layout
        self._axis = {code: i for i, code in enumerate(sorted(layout.axes))}
        self._button = {code: i for i, code in enumerate(sorted(layout.buttons))}
        self.release_all()

    def take(self, kind: int, code: int, value: int) -> int | None:
        """One event; the number of the button that went down, if one did."""
        if kind == EV_ABS and code in self._axis:
            low, high = self._layout.axes[code]
            # The kernel counts right and down positive.
            position = 1.0 - 2.0 * (value - low) / max(1, high - low)
            self._axes[self._axis[code]] = float(np.clip(position, -1.0, 1.0))
        elif kind == EV_KEY and code in self._button:
            number = self._button[code]
            self._buttons[number] = int(value != 0)
            return number if value == 1 else None
        return None

    def release_all(self) -> None:
        """Everything is at rest."""
        self._axes = [0.0] * len(self._axis)
        self._buttons = [0] * len(self._button)

    @property
    def joy(self) -> Joy:
        """Sticks and buttons as they stand."""
        return Joy(axes=np.array(self._axes), buttons=tuple(self._buttons))


def layout_of(device: Any) -> GamepadLayout:
    """Layout of an evdev.InputDevice."""
    found = device.capabilities(absinfo=True)
    axes = {
        int(code): (int(info.min), int(info.max))
        for code, info in found.get(EV_ABS, [])
        if code <= LAST_STICK
    }
    buttons = [code for code in found.get(EV_KEY, []) if FIRST_BUTTON <= code <= LAST_BUTTON]
    return GamepadLayout(axes, tuple(sorted(buttons)))


class Gamepad(TeleopDevice):
    """A gamepad, heard by a thread that sleeps until something is moved."""

    help = (
        f'button {ENABLE_BUTTON} (left shoulder) must be held; button {STOP_BUTTON} (B) STOPS; '
        'left stick, right stick'
    )

    def __init__(self, device: Any, layout: GamepadLayout | None = None) -> None:
        """Listen to a device.

        Args:
            device: an evdev.InputDevice; it is closed at the end.
            layout: its axes and buttons; asked of the device where None.
        """
        super().__init__()
        self.name = f'gamepad {device.name} ({device.path})'
        self._device = device
        self._layout = layout or layout_of(device)
        self._state = GamepadState(self._layout)
        self._synchronize()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._hear, name='gamepad', daemon=True)
        self._thread.start()

    def _synchronize(self) -> None:
        """Ask the kernel how everything stands: at the start, and when events were lost."""
        self._state.release_all()
        # evdev raises SystemError where the kernel does not answer.
        with contextlib.suppress(OSError, SystemError):
            for code in self._device.active_keys():
                self._state.take(EV_KEY, code, 1)
            for code in self._layout.axes:
                self._state.take(EV_ABS, code, self._device.absinfo(code).value)
        self._joy = self._state.joy

    def _hear(self) -> None:
        try:
            while not self._closing.is_set():
                if not select.select([self._device.fd], [], [], LOOK_PERIOD)[0]:
                    continue
                if not self._take(self._device.read()):
                    raise OSError('it says no more')
        except OSError as error:
            self._end = f'the gamepad is gone: {error}'
        self._state.release_all()
        self._joy = self._state.joy

    def _take(self, events: Iterable[Any]) -> int:
        """Take events; their number."""
        number = 0
        for number, event in enumerate(events, start=1):  # noqa: B007
            if (event.type, event.code) == (EV_SYN, SYN_DROPPED):
                self._synchronize()
            elif self._state.take(event.type, event.code, event.value) == STOP_BUTTON:
                self._stop.set()
            self._joy = self._state.joy
        return number

    def read(self) -> Joy:
        """Sticks and buttons as they stand."""
        return self._joy

    def close(self) -> None:
        """Close the device."""
        self._closing.set()
        self._thread.join()
        with contextlib.suppress(OSError):
            self._device.close()


def open_gamepad(path: str = '') -> Gamepad:
    """Gamepad at a device file; the first one of this computer where none is named.

    Raises:
        CnoidControlError: evdev is not installed, there is no gamepad, or it cannot be read.
    """
    if importlib.util.find_spec('evdev') is None:
        raise CnoidControlError(
            "a gamepad needs evdev: pip install 'cnoid_control[teleop]', or "
            'apt install python3-evdev (pip compiles it: gcc, the headers of Python and Linux)'
        )
    import evdev

    names = [path] if path else sorted(evdev.list_devices())
    others = []
    for name in names:
        try:
            device = evdev.InputDevice(name)
        except OSError as error:
            if path:
                raise CnoidControlError(
                    f'the gamepad {path} cannot be read: {error}; is the user in the group input?'
                ) from error
            others.append(f'{name}: {error}')
            continue
        layout = layout_of(device)
        if layout.is_gamepad:
            return Gamepad(device, layout)
        others.append(f'{name}: {device.name}')
        device.close()
    what = '; '.join(others) or 'no input device can be read; is the user in the group input?'
    raise CnoidControlError(f'{path or "there"} is no gamepad: {what}')
