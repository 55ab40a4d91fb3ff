"""Robots moved by hand: keyboard and gamepad as sticks and buttons, for a run in this process."""

from cnoid_control.teleop.device import TeleopDevice
from cnoid_control.teleop.gamepad import Gamepad, GamepadLayout
from cnoid_control.teleop.keyboard import Keyboard
from cnoid_control.teleop.keys import KeySticks
from cnoid_control.teleop.open_device import open_device

__all__ = [
    'Gamepad',
    'GamepadLayout',
    'KeySticks',
    'Keyboard',
    'TeleopDevice',
    'open_device',
]
