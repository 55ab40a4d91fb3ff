"""The keyboard of the terminal that the program was started from."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import subprocess
import sys
import termios
import threading

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.plugin.mailbox import Joy
from cnoid_control.teleop.device import TeleopDevice
from cnoid_control.teleop.keys import STOP, KeySticks, help_text

# Time that the process has to end when it is told to [s].
PATIENCE = 2.0


class Keyboard(TeleopDevice):
    """Keys of a terminal, heard by a process of its own; see `KeySticks` for what they mean."""

    name = 'keyboard'
    ends_run = True

    def __init__(self, latched: bool = False, terminal: str = '') -> None:
        """Take the keys one by one, without their being shown.

        Args:
            latched: whether sticks stay where keys have moved them.
            terminal: device file of the terminal; that of the standard input where empty.

        Raises:
            CnoidControlError: there is no terminal, or sshkeyboard is not installed.
        """
        super().__init__()
        if importlib.util.find_spec('sshkeyboard') is None:
            raise CnoidControlError(
                "the keyboard needs sshkeyboard: pip install 'cnoid_control[teleop]', or "
                'pip install sshkeyboard'
            )
        self.help = help_text(latched)
        self._file = -1
        try:
            self._file = os.open(terminal or os.ttyname(sys.stdin.fileno()), os.O_RDWR)
            self._before = termios.tcgetattr(self._file)
        except (OSError, ValueError, termios.error) as error:
            self._close_file()
            raise CnoidControlError(
                f'the keyboard needs a terminal, and the standard input is none ({error})'
            ) from error
        name = terminal or os.ttyname(self._file)
        self._sticks = KeySticks(latched)
        self._joy = self._sticks.joy
        words = ['-m', 'cnoid_control.teleop.keyboard_process', name]
        self._process = subprocess.Popen(
            [sys.executable, *words, 'latched' if latched else 'held'],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        # The terminal is given back however the program ends.
        atexit.register(self.close)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._hear, name='keyboard', daemon=True)
        self._thread.start()

    def wait_until_ready(self, timeout: float = 10.0) -> bool:
        """Wait until keys are heard; False where that does not come."""
        return self._ready.wait(timeout) and not self._end

    def _hear(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            what, _, key = line.rstrip('\n').partition(' ')
            if what == 'press':
                if key == STOP:
                    self._stop.set()
                self._sticks.press(key)
                if key == 'esc':
                    break
            elif what == 'release':
                self._sticks.release(key)
            self._joy = self._sticks.joy
            self._ready.set()
        self._sticks.release_all()
        self._joy = self._sticks.joy
        self._end = 'the keyboard was left'
        self._ready.set()

    def read(self) -> Joy:
        """Sticks and buttons by the keys that are held."""
        return self._joy

    def close(self) -> None:
        """End the process and give the terminal back as it was."""
        if self._file < 0:
            return
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.join(PATIENCE)
        # Also where the process could not.
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self._file, termios.TCSANOW, self._before)
        self._close_file()
        atexit.unregister(self.close)

    def _close_file(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
