"""Runs in which somebody moves the robot by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from terminal_rig import TerminalRig

from cnoid_control import SimpleController, Simulation
from cnoid_control.plugin.mailbox import Joy, Twist
from cnoid_control.teleop.device import TeleopDevice
from cnoid_control.teleop.embedded import EmbeddedTeleop

RUN = ['-m', 'cnoid_control.cli.main', 'run']
# A busy machine is no hazard here.
PATIENT = {'watchdog.control_timeout': 10.0}


def summary_of(rig: TerminalRig) -> dict[str, Any]:
    """Return the JSON object that the run has printed at its end."""
    assert rig.wait_for('}\r\n'), rig.output
    # A key that is pressed when the terminal was given back is shown before it.
    _, _, text = rig.output.partition('{"config"')
    return json.JSONDecoder().raw_decode('{"config"' + text)[0]


def started(*words: str) -> TerminalRig:
    """Start a run by the keyboard, and wait until keys are heard."""
    rig = TerminalRig(*RUN, *words, '--teleop', 'keyboard', '--json')
    assert rig.wait_for('space STOPS', timeout=60.0), rig.output
    return rig


def test_keys_drive_the_tank() -> None:
    """In the place of its script, for as long as they are held; the terminal is given back."""
    pytest.importorskip('sshkeyboard', reason='needs sshkeyboard')
    rig = started('tank', '--duration', '4', '--set', 'hardware.mujoco.camera_renderer=rays')
    assert rig.hold('w', lambda: rig.settings == rig.before, timeout=90.0)
    rig.process.wait(60.0)
    summary = summary_of(rig)
    assert summary['exit'] == 'completed'
    # Straight ahead, where the script would have turned, at half a metre a second at most.
    assert 0.2 < summary['root_position'][0] <= 2.0
    assert abs(summary['root_position'][1]) < 0.02
    assert summary['real_time_factor'] < 1.1
    assert rig.settings == rig.before
    assert rig.close() == 0


def test_a_run_by_hand_ends_when_the_keyboard_is_left() -> None:
    """A duration need not be given."""
    pytest.importorskip('sshkeyboard', reason='needs sshkeyboard')
    rig = started('car')
    rig.press('\x1b')
    rig.process.wait(60.0)
    summary = summary_of(rig)
    assert (summary['exit'], summary['interrupted']) == ('completed', True)
    assert rig.settings == rig.before
    assert rig.close() == 0


def test_the_space_bar_stops_the_run() -> None:
    """By the safe state, with the reason; the exit status says it."""
    pytest.importorskip('sshkeyboard', reason='needs sshkeyboard')
    rig = started('car')
    rig.press(' ')
    rig.process.wait(60.0)
    summary = summary_of(rig)
    assert (summary['exit'], summary['reason']) == ('failed', 'stopped by the keyboard')
    assert rig.settings == rig.before
    assert rig.close() == 1


def test_a_controller_that_cannot_be_steered_is_named() -> None:
    """Keys that nobody hears are not accepted silently."""
    pytest.importorskip('sshkeyboard', reason='needs sshkeyboard')
    rig = started('pd')
    rig.process.wait(60.0)
    reason = summary_of(rig)['reason']
    assert reason.startswith('pd: no controller has a mailbox for Joy or Twist'), reason
    assert rig.close() == 1


SLOW = """
import time
from cnoid_control import SimpleController
from cnoid_control.plugin.mailbox import Joy

class Slow(SimpleController):
    def initialize(self, io):
        self.joy, self.ticks = io.mailbox('joy', Joy), 0
        io.enable_io(io.body.joint(0))
        return True

    def control(self):
        self.ticks += 1
        time.sleep(0.3 if self.ticks == 20 else 0.0)
        return self.ticks < 50
"""


@pytest.mark.parametrize(('words', 'end'), [([], 'finished'), (['--real-time'], 'failed')])
def test_a_late_tick_does_not_end_a_run_by_hand(tmp_path, words, end) -> None:
    """Unless the time limits of a robot were asked for, as `--real-time` does."""
    pytest.importorskip('sshkeyboard', reason='needs sshkeyboard')
    file = tmp_path / 'slow.py'
    file.write_text(SLOW)
    rig = started('pendulum', '--controller', f'{file}:Slow', *words)
    rig.process.wait(60.0)
    assert summary_of(rig)['exit'] == end, rig.output
    rig.close()


class Held(TeleopDevice):
    """Full left stick ahead, held."""

    name = help = 'hand'

    def read(self) -> Joy:
        """As it is held."""
        return Joy(axes=np.array([0.0, 1.0]), buttons=(0, 0, 0, 0, 1))

    def leave(self) -> None:
        """Say that nothing comes any more."""
        self._end = 'it was left'

    def close(self) -> None:
        """Say that it was closed."""
        self._end = 'closed'


class Follower(SimpleController):
    """Takes twists alone, and finishes with the first one that is not zero."""

    def initialize(self, io: Any) -> bool:
        """Open a mailbox."""
        self.mailbox = io.mailbox('velocity', Twist)
        io.enable_io(io.body.joint(0))
        return True

    def control(self) -> bool:
        """Wait for a twist."""
        twist = self.mailbox.take_latest()
        self.got = twist.linear.tolist() if twist is not None else None
        return not (twist is not None and twist.linear.any())


def test_who_takes_twists_gets_twists() -> None:
    """By the velocities at full stick; the device is closed, and a lost one ends no run."""
    simulation = Simulation('pendulum', Follower, changes=PATIENT)
    device, told = Held(), []
    device.leave()
    with EmbeddedTeleop(simulation.loop, device, told.append):
        summary = simulation.complete(30.0, real_time=True)
    assert summary['exit'] == 'finished'
    assert simulation.controller.got == [0.5, 0.0, 0.0]
    assert told == ['hand: hand', 'it was left']
    assert device.end == 'closed'


def test_the_enabling_switch_is_held_by_the_device() -> None:
    """A controller that hears nothing else is let go on; left, the device holds nothing."""
    simulation = Simulation(
        'pd', changes={**PATIENT, 'enable.topic': 'joy', 'enable.timeout': 1.0}
    )
    device = Held()
    with EmbeddedTeleop(simulation.loop, device, lambda line: None):
        summary = simulation.complete(1.5, real_time=True)
    assert summary['exit'] == 'completed'
    # Of 0.3 rad that the first joint is to go.
    assert simulation.robot.q[0] > 0.1
    switch = simulation.loop.enabling
    assert switch is not None
    assert switch.is_held


def test_a_device_that_holds_nothing_lets_nothing_move() -> None:
    """The same run, with the button up: nothing is commanded but to hold."""
    simulation = Simulation('pd', changes={**PATIENT, 'enable.topic': 'joy'})
    device = Held()
    device.read = Joy  # type: ignore[method-assign, assignment]
    with EmbeddedTeleop(simulation.loop, device, lambda line: None):
        summary = simulation.complete(0.5, real_time=True)
    assert summary['exit'] == 'completed'
    assert simulation.loop.safe_state.is_pause
    assert abs(simulation.robot.q[0]) < 1e-3
