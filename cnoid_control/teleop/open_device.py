"""Devices by what the command line calls them."""

from __future__ import annotations

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.teleop.device import TeleopDevice
from cnoid_control.teleop.gamepad import open_gamepad
from cnoid_control.teleop.keyboard import Keyboard

# Time for which the keyboard may not be there yet [s].
START_TIMEOUT = 20.0


CHOICES = 'keyboard, keyboard:latched, gamepad, gamepad:/dev/input/eventN'


def open_device(text: str) -> TeleopDevice:
    """Device that a text names.

    Args:
        text: 'keyboard', 'keyboard:latched', 'gamepad' or 'gamepad:/dev/input/eventN'.

    Raises:
        CnoidControlError: the text names none, or the device cannot be used.
    """
    if text in ('keyboard', 'keyboard:latched'):
        keyboard = Keyboard(text.endswith(':latched'))
        if not keyboard.wait_until_ready(START_TIMEOUT):
            keyboard.close()
            raise CnoidControlError('the keyboard cannot be heard: its process has ended')
        return keyboard
    kind, _, path = text.partition(':')
    if kind != 'gamepad':
        raise CnoidControlError(f'{text!r} is nothing to steer by; choose from: {CHOICES}')
    return open_gamepad(path)
