"""The joystick: messages, script, keyboard and gamepad."""

from __future__ import annotations

import io
import os
import pty
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

from cnoid_control.body import Body
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.controllers.vehicles.gamepad import Gamepad
from cnoid_control.controllers.vehicles.joystick import (
    Joystick,
    JoystickParameters,
    ScriptStage,
)
from cnoid_control.controllers.vehicles.keyboard import Keyboard, split_keys
from cnoid_control.parameters import ParameterError
from cnoid_control.plugin import ControllerIO
from cnoid_control.plugin.mailbox import Joy, message_from_text, message_to_text


def make_joystick(**options: object) -> tuple[Joystick, ControllerIO]:
    """Make a joystick of a controller that stands at time 0."""
    controller_io = ControllerIO('c', Body(BodyDescription('b', [LinkDescription('root')])), 0.01)
    return Joystick(controller_io, JoystickParameters(**options), 'c.joystick'), controller_io  # type: ignore[arg-type]


def test_message_counts_until_the_timeout() -> None:
    """Sticks stand as the last message said, and are released when messages stop coming."""
    joystick, controller_io = make_joystick(timeout=0.2)
    mailbox = controller_io.mailboxes['joy']
    assert mailbox.topic == 'joy'
    joystick.read()
    assert joystick.axis(1) == 0.0
    mailbox.post(Joy(axes=np.array([0.1, 0.8]), buttons=(0, 1)))
    joystick.read()
    # The first stick is in the dead zone, the third does not exist.
    assert [joystick.axis(i) for i in range(3)] == [0.0, 0.8, 0.0]
    assert joystick.state.buttons == {1}
    assert joystick.was_pressed(1)
    controller_io.current_time = 0.19
    joystick.read()
    assert (joystick.axis(1), joystick.is_down(1), joystick.was_pressed(1)) == (0.8, True, False)
    controller_io.current_time = 0.21
    joystick.read()
    assert (joystick.axis(1), joystick.is_down(1)) == (0.0, False)


def test_message_takes_over_from_the_script() -> None:
    """The stages follow each other; after a message the script is over for good."""
    stages = {
        'back': ScriptStage(at=1.0, axes=[0.0, -1.0]),
        'ahead': ScriptStage(at=0.5, axes=[0.0, 1.0], buttons=[3]),
    }
    joystick, controller_io = make_joystick(source='script', script=stages)
    seen = []
    for time in (0.0, 0.5, 0.9, 1.0, 9.0):
        controller_io.current_time = time
        joystick.read()
        seen.append((joystick.axis(1), joystick.was_pressed(3)))
    assert seen == [(0.0, False), (1.0, True), (1.0, False), (-1.0, False), (-1.0, False)]
    controller_io.mailboxes['joy'].post(Joy(axes=np.array([0.0, 0.5])))
    joystick.read()
    assert joystick.axis(1) == 0.5
    controller_io.current_time = 20.0
    joystick.read()
    assert joystick.axis(1) == 0.0


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        ({'source': 'script'}, r'c\.joystick\.script: a script needs at least one stage'),
        (
            {'source': 'script', 'script': {'a': ScriptStage(), 'b': ScriptStage()}},
            r"script\.b\.at: 0\.0 s is when 'a' begins",
        ),
        ({'source': 'gamepad', 'device': '/nowhere/js0'}, r'the gamepad cannot be read.*nowhere'),
    ],
)
def test_what_cannot_be_read_is_refused(options: dict[str, object], words: str) -> None:
    """The option is named, and what is wrong with it."""
    with pytest.raises(ParameterError, match=words):
        make_joystick(**options)


def test_gamepad_is_read_by_its_events(tmp_path: Path) -> None:
    """Events of the kernel, cut anywhere, set sticks (left and up positive) and buttons."""
    pipe = tmp_path / 'js0'
    os.mkfifo(pipe)
    gamepad = Gamepad(str(pipe))
    writer = os.open(pipe, os.O_WRONLY)

    def event(value: int, kind: int, number: int) -> bytes:
        return struct.pack('=IhBB', 7, value, kind, number)

    data = event(-32767, 0x82, 1) + event(16384, 2, 3) + event(1, 1, 4) + event(1, 0x81, 0)
    os.write(writer, data[:11])
    assert gamepad.read(0.0).axes.tolist() == [0.0, 1.0]
    os.write(writer, data[11:] + event(0, 1, 0))
    state = gamepad.read(0.0)
    np.testing.assert_allclose(state.axes, [0.0, 1.0, 0.0, -0.5], atol=1e-4)
    assert state.buttons == {4}
    gamepad.close()
    os.close(writer)


def test_keyboard_is_read_by_its_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Letters are the left stick, arrows the right one, digits buttons; then they fade."""
    master, slave = pty.openpty()
    terminal = os.fdopen(slave)
    monkeypatch.setattr(sys, 'stdin', terminal)
    monkeypatch.setattr(sys, 'stderr', io.StringIO())
    times = iter([0.0, 0.1, 0.4, 0.8])
    keyboard = Keyboard(0.5)
    monkeypatch.setattr(
        'cnoid_control.controllers.vehicles.keyboard.clock.monotonic', lambda: next(times)
    )
    os.write(master, b'wa\x1b[A\x1b[C7')
    state = keyboard.read(0.0)
    assert state.axes.tolist() == [1.0, 1.0, 0.0, -1.0, 1.0]
    assert state.buttons == {7}
    os.write(master, b'w')
    keyboard.read(0.0)
    assert keyboard.read(0.0).buttons == {7}
    assert keyboard.read(0.0).axes.tolist() == [0.0] * 5
    keyboard.close()
    os.close(master)
    terminal.close()


def test_keyboard_needs_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one it is refused by name."""
    monkeypatch.setattr(sys, 'stdin', io.StringIO())
    with pytest.raises(ParameterError, match=r'joystick\.source: the keyboard.*no terminal'):
        make_joystick(source='keyboard')


def test_keys_are_told_apart() -> None:
    """Arrows are three characters."""
    assert split_keys('w\x1b[Ad') == ['w', '\x1b[A', 'd']


def test_joy_survives_a_log() -> None:
    """The message is written to a log and read from it."""
    message = Joy(stamp=1.5, axes=np.array([0.25, -1.0]), buttons=(0, 1))
    again = message_from_text(Joy, message_to_text(message))
    np.testing.assert_array_equal(again.axes, message.axes)
    assert (again.stamp, again.buttons) == (1.5, (0, 1))


def test_a_file_that_never_runs_dry_does_not_keep_the_tick() -> None:
    """A device that is none, such as /dev/zero, is read a little in each tick."""
    gamepad = Gamepad('/dev/zero')
    assert gamepad.read(0.0).buttons == frozenset()
    gamepad.close()
