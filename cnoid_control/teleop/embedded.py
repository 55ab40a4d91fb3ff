"""A device that moves the robot of a run in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from cnoid_control.controllers.velocity_command import FULL_STICK
from cnoid_control.plugin.mailbox import Joy, Mailbox, Twist
from cnoid_control.runtime.loop import ControlLoop
from cnoid_control.teleop.device import TeleopDevice
from cnoid_control.teleop.twists import twist_of

# Time between two messages [s].
PERIOD = 0.02


class EmbeddedTeleop:
    """Gives what a device says to the controllers of a loop, in a thread of its own.

    A controller that has a mailbox for `Joy` gets sticks and buttons, one that has a mailbox for
    `Twist` alone gets velocities. The enabling switch is held as the device says. Who asks for a
    stop gets the safe state.
    """

    def __init__(
        self, loop: ControlLoop, device: TeleopDevice, tell: Callable[[str], None]
    ) -> None:
        """Take a loop and a device; nothing is sent before it is entered.

        Args:
            loop: the loop.
            device: what it is moved by; closed at the end.
            tell: told in one line what happens.
        """
        self._loop = loop
        self._device = device
        self._tell = tell
        self._stop = threading.Event()
        self._is_over = False
        self._thread = threading.Thread(target=self._run, name='teleop', daemon=True)

    def __enter__(self) -> EmbeddedTeleop:
        self._tell(f'{self._device.name}: {self._device.help}')
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()
        self._device.close()

    def _run(self) -> None:
        while not self._stop.wait(PERIOD):
            self._pass_on()

    def _pass_on(self) -> None:
        loop, device = self._loop, self._device
        if device.take_stop():
            loop.request_safe_state(f'stopped by the {device.name}')
        if device.end and not self._is_over:
            self._is_over = True
            self._tell(device.end)
            if device.ends_run:
                loop.request_stop()
        ios = [managed.io for managed in loop.host.members()]
        if loop.enabling is not None:
            ios.append(loop.enabling.io)
        boxes = [list(io.mailboxes.values()) for io in ios if io is not None]
        joy = device.read()
        sent = [send_joy(mailboxes, joy) for mailboxes in boxes]
        # Before all are initialized nobody can say what there will be.
        if len(boxes) == len(ios) and not any(sent) and loop.tick > 0:
            names = ', '.join(managed.name for managed in loop.host.members())
            loop.request_safe_state(
                f'{names}: no controller has a mailbox for Joy or Twist that could be steered by '
                f'the {device.name}'
            )
            self._stop.set()


def send_joy(mailboxes: list[Mailbox[Any]], joy: Joy) -> bool:
    """Give a controller what it takes; whether it takes anything."""
    sticks = [mailbox for mailbox in mailboxes if mailbox.kind is Joy]
    for mailbox in sticks:
        mailbox.post(joy)
    if sticks:
        return True
    twists = [mailbox for mailbox in mailboxes if mailbox.kind is Twist]
    twist = twist_of(joy, FULL_STICK)
    for mailbox in twists:
        mailbox.post(twist or Twist())
    return bool(twists)
