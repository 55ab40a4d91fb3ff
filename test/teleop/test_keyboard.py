"""The keyboard in a real pseudo-terminal: keys, time, and the terminal given back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from terminal_rig import TerminalRig

pytest.importorskip('sshkeyboard', reason='needs sshkeyboard')

SHOW = ['-m', 'cnoid_control.cli.main', 'teleop']
REST = 'axes +0.00 +0.00 +0.00 +0.00 +0.00  buttons none'
AHEAD = 'axes +0.00 +1.00 +0.00 +0.00 +0.00  buttons 4'


def released_while_held(rig: TerminalRig, duration: float) -> int:
    """How often a key that is held for some time [s] was taken for released."""
    before, start = rig.output.count(REST), time.monotonic()
    assert rig.hold('w', lambda: time.monotonic() - start > duration)
    return rig.output.count(REST) - before


def test_keys_are_heard_held_and_released() -> None:
    """A held key counts until it is not repeated any more; arrows, digits and the stop count."""
    rig = TerminalRig(*SHOW)
    assert rig.wait_for(REST), rig.output
    assert rig.settings[3] != rig.before[3]
    assert rig.hold('w', lambda: AHEAD in rig.output)
    # Longer than the pause before a keyboard begins to repeat. A hand on a busy machine may slip.
    assert any(not released_while_held(rig, 1.2) for _ in range(5))
    assert rig.wait_for(AHEAD + '\r\n' + REST), rig.output
    rig.press('\x1b[D')
    assert rig.wait_for('axes +0.00 +0.00 +0.00 +1.00 +0.00  buttons 4'), rig.output
    rig.press('7')
    assert rig.wait_for('buttons 7'), rig.output
    rig.press(' ')
    assert rig.wait_for('STOP\r\n'), rig.output
    rig.press('\x1b')
    assert rig.wait_for('the keyboard was left'), rig.output
    rig.process.wait(10.0)
    assert rig.settings == rig.before
    assert rig.close() == 0


def test_latched_keys() -> None:
    """Each press counts, however quickly they follow each other."""
    rig = TerminalRig(*SHOW, 'keyboard:latched')
    assert rig.wait_for(REST), rig.output
    for _ in range(3):
        rig.press('w')
        time.sleep(0.1)
    assert rig.wait_for('axes +0.00 +0.30 +0.00 +0.00 +0.00  buttons 4'), rig.output
    rig.press('x')
    assert rig.wait_for('buttons 4\r\n' + REST), rig.output
    rig.press('\x1b')
    assert rig.close() == 0


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_terminal_is_given_back_after_a_signal(number: signal.Signals) -> None:
    """To the process alone, as `kill` sends it; where it cannot, the one that listens does it."""
    rig = TerminalRig(*SHOW)
    assert rig.wait_for(REST), rig.output
    rig.process.send_signal(number)
    rig.process.wait(10.0)
    deadline = time.monotonic() + 10.0
    while rig.settings != rig.before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert rig.settings == rig.before
    rig.close()


def test_a_lost_terminal_releases_the_keys(tmp_path) -> None:
    """The one who holds a key may be cut off: it counts as released, and the end is told."""
    script = tmp_path / 'held.py'
    out = tmp_path / 'out.txt'
    script.write_text(
        'import signal, sys, time\n'
        'from cnoid_control.teleop import open_device\n'
        'signal.signal(signal.SIGHUP, signal.SIG_IGN)\n'
        'device = open_device("keyboard")\n'
        f'out = open({str(out)!r}, "w", buffering=1)\n'
        'while not device.end:\n'
        '    print(device.read().axes.tolist(), file=out)\n'
        '    time.sleep(0.02)\n'
        'print("end", device.read().axes.tolist(), device.end, file=out)\n'
    )
    rig = TerminalRig(str(script))
    assert rig.hold('w', lambda: out.is_file() and '1.0' in out.read_text()), rig.output
    rig.hang_up()
    rig.process.wait(20.0)
    assert (
        out.read_text().splitlines()[-1] == 'end [0.0, 0.0, 0.0, 0.0, 0.0] the keyboard was left'
    )
    rig.close()


def test_keyboard_needs_a_terminal() -> None:
    """Without one it is refused by name, with the exit status of an error."""
    done = subprocess.run(
        [sys.executable, *SHOW], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert 'the keyboard needs a terminal, and the standard input is none' in done.stderr


def test_what_is_nothing_to_steer_by_is_refused() -> None:
    """With the choices."""
    done = subprocess.run([sys.executable, *SHOW, 'mouse'], capture_output=True, text=True)
    assert "'mouse' is nothing to steer by; choose from: keyboard, keyboard:latched" in done.stderr


def test_a_missing_library_is_named(tmp_path) -> None:
    """With how to install it: a keyboard without sshkeyboard, a gamepad without evdev."""
    script = (
        'import sys, importlib.util\n'
        'found = importlib.util.find_spec\n'
        'importlib.util.find_spec = lambda name, *rest: (\n'
        '    None if name in ("sshkeyboard", "evdev") else found(name, *rest))\n'
        'from cnoid_control.cli.main import main\n'
        'sys.exit(main(["teleop", sys.argv[1]]))\n'
    )
    for device, words in (
        ('keyboard', "the keyboard needs sshkeyboard: pip install 'cnoid_control[teleop]'"),
        ('gamepad', "a gamepad needs evdev: pip install 'cnoid_control[teleop]'"),
    ):
        done = subprocess.run(
            [sys.executable, '-c', script, device], capture_output=True, text=True, env=os.environ
        )
        assert done.returncode == 1
        assert words in done.stderr
