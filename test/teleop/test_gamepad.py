"""A gamepad by its events: recorded input_event structs through a pipe, read by evdev."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.teleop.gamepad import (
    EV_ABS,
    EV_KEY,
    EV_SYN,
    SYN_DROPPED,
    Gamepad,
    GamepadLayout,
    GamepadState,
    layout_of,
    open_gamepad,
)

# As a gamepad of the Xbox family describes itself: sticks, triggers, cross; eleven buttons.
STICK, TRIGGER, CROSS = (-32768, 32767), (0, 255), (-1, 1)
AXES = {0: STICK, 1: STICK, 2: TRIGGER, 3: STICK, 4: STICK, 5: TRIGGER, 16: CROSS, 17: CROSS}
SOUTH, EAST, LEFT_SHOULDER = 0x130, 0x131, 0x136
BUTTONS = (SOUTH, EAST, 0x133, 0x134, LEFT_SHOULDER, 0x137, 0x13A, 0x13B, 0x13C, 0x13D, 0x13E)
LAYOUT = GamepadLayout(AXES, BUTTONS)
# struct input_event of the kernel: seconds, microseconds, type, code, value.
EVENT = struct.Struct('llHHi')


def wait_for(condition: Callable[[], bool], timeout: float = 10.0) -> bool:
    """Wait until something is so."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def test_axes_and_buttons_are_counted_as_on_ros() -> None:
    """In the order of their codes; left and up positive; triggers rest at one end."""
    state = GamepadState(LAYOUT)
    assert state.joy.axes.tolist() == [0.0] * 8
    assert state.take(EV_ABS, 0, 32767) is None
    state.take(EV_ABS, 1, -32768)
    state.take(EV_ABS, 3, -16384)
    state.take(EV_ABS, 5, 255)
    state.take(EV_ABS, 17, -1)
    # An axis that it does not have.
    state.take(EV_ABS, 40, 7)
    assert state.joy.axes.round(3).tolist() == [-1.0, 1.0, 0.0, 0.5, 0.0, -1.0, 0.0, 1.0]
    assert state.take(EV_KEY, LEFT_SHOULDER, 1) == 4
    assert state.take(EV_KEY, EAST, 1) == 1
    assert state.joy.buttons == (0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0)
    # Held, the kernel repeats it; released, it is no press.
    assert state.take(EV_KEY, EAST, 2) is None
    assert state.take(EV_KEY, EAST, 0) is None
    assert state.joy.buttons == (0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0)


def test_layout_is_asked_of_the_device() -> None:
    """Sticks and buttons are taken, other codes of the device are not; a mouse is no gamepad."""
    info = SimpleNamespace
    absolute = [(code, info(min=low, max=high)) for code, (low, high) in AXES.items()]
    absolute.append((40, info(min=0, max=1)))
    pad = SimpleNamespace(
        capabilities=lambda absinfo: {EV_ABS: absolute, EV_KEY: [*BUTTONS, 0x1C]}
    )
    assert layout_of(pad) == LAYOUT
    assert LAYOUT.is_gamepad
    mouse = SimpleNamespace(capabilities=lambda absinfo: {EV_KEY: [0x110, 0x111]})
    assert not layout_of(mouse).is_gamepad


@pytest.fixture
def pipe_gamepad():
    """Return a gamepad whose device file is a pipe, and a function that writes events."""
    evdev = pytest.importorskip('evdev', reason='needs evdev')
    reader, writer = os.pipe()
    # What opens a device asks the kernel about it, which knows nothing of a pipe.
    device = object.__new__(evdev.InputDevice)
    device.fd, device.name, device.path = reader, 'recorded', 'pipe'
    gamepad = Gamepad(device, LAYOUT)

    def write(*events: tuple[int, int, int]) -> None:
        os.write(writer, b''.join(EVENT.pack(1, 2, *event) for event in events))

    yield gamepad, write, writer
    gamepad.close()


def test_events_set_sticks_and_ask_for_a_stop(pipe_gamepad) -> None:
    """The last word counts; the stop is told once."""
    gamepad, write, _ = pipe_gamepad
    write((EV_KEY, LEFT_SHOULDER, 1), (EV_ABS, 1, -32768), (0, 0, 0))
    assert wait_for(lambda: gamepad.read().axes[1] == 1.0)
    assert gamepad.read().buttons[4] == 1
    assert not gamepad.take_stop()
    write((EV_KEY, EAST, 1), (0, 0, 0))
    assert wait_for(lambda: gamepad.read().buttons[1] == 1)
    assert gamepad.take_stop()
    assert not gamepad.take_stop()
    assert gamepad.end == ''


def test_an_unplugged_gamepad_is_released(pipe_gamepad) -> None:
    """Whatever was held when it went, and it is told."""
    gamepad, write, writer = pipe_gamepad
    write((EV_KEY, LEFT_SHOULDER, 1), (EV_ABS, 1, -32768), (0, 0, 0))
    assert wait_for(lambda: gamepad.read().axes[1] == 1.0)
    os.close(writer)
    assert wait_for(lambda: bool(gamepad.end))
    assert not gamepad.read().axes.any()
    assert not any(gamepad.read().buttons)


def test_lost_events_release_what_was_held(pipe_gamepad) -> None:
    """The kernel says that it has dropped some: among them the button may have come up."""
    gamepad, write, _ = pipe_gamepad
    write((EV_KEY, LEFT_SHOULDER, 1), (EV_ABS, 1, -32768), (0, 0, 0))
    assert wait_for(lambda: gamepad.read().axes[1] == 1.0)
    write((EV_SYN, SYN_DROPPED, 0))
    assert wait_for(lambda: gamepad.read().axes[1] == 0.0)
    assert not any(gamepad.read().buttons)


def test_no_gamepad_is_told_by_name() -> None:
    """What is there instead, or the file that cannot be read."""
    pytest.importorskip('evdev', reason='needs evdev')
    with pytest.raises(CnoidControlError, match=r'the gamepad /nowhere/event0 cannot be read'):
        open_gamepad('/nowhere/event0')
    done = subprocess.run(
        [sys.executable, '-m', 'cnoid_control.cli.main', 'teleop', 'gamepad:/dev/null'],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert '/dev/null cannot be read' in done.stderr
