"""Velocity commands: who is heard, for how long, within which ranges, and how fast they change."""

from __future__ import annotations

import io as streams
from typing import Any

import numpy as np
import pytest

from cnoid_control.body import Body
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.controllers.velocity_command import (
    VelocityCommand,
    VelocityParameters,
    sticks_to_velocity,
)
from cnoid_control.parameters import ParameterError, parse_parameters
from cnoid_control.plugin import ControllerIO
from cnoid_control.plugin.mailbox import Joy, Twist

PERIOD = 0.1
TRAINED = np.array([-0.5, -0.3, -1.0]), np.array([1.0, 0.3, 2.0])


class Rig:
    """A command of a controller, read once in a period."""

    def __init__(self, trained: bool = True, allows_scripts: bool = True, **options: Any) -> None:
        """Make it; `trained` for the ranges of a policy."""
        body = Body(BodyDescription('b', [LinkDescription('root')]))
        self.out = streams.StringIO()
        self.io = ControllerIO('c', body, PERIOD, os=self.out, allows_scripts=allows_scripts)
        given = parse_parameters(VelocityParameters, options, 'velocity')
        ranges = TRAINED if trained else (None, None)
        self.command = VelocityCommand(self.io, given, 'velocity', *ranges)
        self.tick = 0

    def twist(self, vx: float, vy: float = 0.0, yaw: float = 0.0) -> None:
        """Post a twist."""
        twist = Twist(linear=np.array([vx, vy, 0.0]), angular=np.array([0.0, 0.0, yaw]))
        self.io.mailboxes['cmd_vel'].post(twist)

    def joy(self, *axes: float, held: bool = True) -> None:
        """Post sticks, with the enabling button held or not."""
        buttons = (0, 0, 0, 0, int(held))
        self.io.mailboxes['joy'].post(Joy(axes=np.array(axes), buttons=buttons))

    def read(self, times: int = 1) -> list[list[float]]:
        """Velocities of the next periods."""
        seen = []
        for _ in range(times):
            value = self.command.read(self.tick * PERIOD, PERIOD)
            seen.append(value.round(9).tolist())
            self.tick += 1
        return seen


STILL = [0.0, 0.0, 0.0]


def test_a_twist_counts_until_the_timeout_and_within_the_ranges() -> None:
    """Then the velocity is zero, and stays so."""
    rig = Rig(timeout=0.25)
    rig.twist(3.0, -0.1, -5.0)
    assert rig.read(4) == [[1.0, -0.1, -1.0]] * 3 + [STILL]
    assert rig.command.clamped == 3
    # Options narrow the ranges that the policy was trained for.
    rig = Rig(lower=[-0.2, -0.2, -0.2], upper=[0.2, 0.2, 0.2])
    rig.twist(-3.0, 0.1, 3.0)
    assert rig.read() == [[-0.2, 0.1, 0.2]]


def test_standing_still_is_allowed_beyond_the_ranges() -> None:
    """A policy that was trained for going ahead alone is told to stand where nothing comes."""
    rig = Rig(lower=[0.3, 0.0, 0.0], upper=[1.0, 0.0, 0.0], timeout=0.05)
    rig.twist(0.1)
    assert rig.read(2) == [[0.3, 0.0, 0.0], STILL]


def test_sticks_ask_for_the_ranges_while_the_button_is_held() -> None:
    """Full stick is the end of the range on its side; released, or silent, it is zero."""
    rig = Rig(joystick={'timeout': 0.15})
    rig.joy(1.0, 0.5, 0.0, -1.0)
    assert rig.read() == [[0.5, 0.3, -1.0]]
    rig.joy(-1.0, -1.0, 0.0, 0.5)
    assert rig.read() == [[-0.5, -0.3, 1.0]]
    rig.joy(1.0, 1.0, 0.0, 1.0, held=False)
    assert rig.read() == [STILL]
    rig.joy(1.0, 1.0)
    assert rig.read(3) == [[1.0, 0.3, 0.0]] * 2 + [STILL]


def test_full_stick_by_option_or_by_default() -> None:
    """Without ranges there is a speed all the same, which the option changes."""
    rig = Rig(trained=False)
    rig.joy(1.0, -1.0, 0.0, 1.0)
    assert rig.read() == [[-0.5, 0.5, 1.0]]
    rig = Rig(full_stick=[0.2, 0.1, 0.4], enable_button=-1, axes=[0, 1, -1])
    rig.joy(1.0, -1.0, 0.0, 1.0, held=False)
    assert rig.read() == [[0.2, -0.1, 0.0]]


def test_a_twist_wins_over_the_sticks_and_both_end_the_script() -> None:
    """The script counts until anybody has come."""
    script = {'go': {'time': 0.1, 'velocity': [0.4, 0.0, 0.0]}}
    rig = Rig(script=script, timeout=0.05, joystick={'timeout': 0.25})
    assert rig.read(2) == [STILL, [0.4, 0.0, 0.0]]
    rig.joy(0.0, 1.0)
    rig.twist(0.2)
    assert rig.read(4) == [[0.2, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], STILL]
    assert not rig.command.joystick.state.buttons


def test_velocities_change_as_fast_as_they_may() -> None:
    """Up and down, also when nothing comes any more; 0 is at once."""
    rig = Rig(acceleration=[2.0, 0.0, 1.0], timeout=0.25)
    rig.twist(0.5, 0.2, 0.15)
    assert rig.read(3) == [[0.2, 0.2, 0.1], [0.4, 0.2, 0.15], [0.5, 0.2, 0.15]]
    assert rig.read(3) == [[0.3, 0.0, 0.05], [0.1, 0.0, 0.0], STILL]


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        ({'lower': [1.0]}, r'velocity\.lower.*it needs vx, vy and'),
        ({'lower': [2.0, 0.0, 0.0]}, r'velocity\.lower.*it is above velocity\.upper'),
        ({'axes': [1, 2]}, r'velocity\.axes.*it needs vx, vy and'),
        ({'acceleration': [1.0]}, r'velocity\.acceleration.*it needs vx, vy and'),
        ({'full_stick': [1.0]}, r'velocity\.full_stick.*it needs vx, vy and'),
        ({'script': {'a': {'velocity': [1.0]}}}, r'velocity\.script\.a\.velocity.*it needs vx'),
        ({'message': 'Pose'}, r"velocity\.message.*'Pose'.*Twist"),
        ({'joystick': {'source': 'script'}}, r'velocity\.joystick\.script: a script needs'),
    ],
)
def test_what_cannot_be_used_is_refused(options: dict[str, Any], words: str) -> None:
    """The option is named, and what is wrong with it."""
    with pytest.raises(ParameterError, match=words):
        Rig(**options)


def test_a_stick_in_the_middle_says_zero() -> None:
    """Whatever the velocities at its ends are."""
    back, ahead = np.array([0.3, -1.0, -1.0]), np.array([1.0, 1.0, 2.0])
    assert sticks_to_velocity([0.0, -0.5, 0.5], back, ahead).tolist() == [0.0, -0.5, 1.0]


def test_a_script_sets_no_robot_off_where_it_is_not_allowed() -> None:
    """It is said once; twists count as ever, and a script that comes later does neither."""
    script = {'walk': {'time': 0.1, 'velocity': [0.4, 0.0, 0.0]}}
    rig = Rig(allows_scripts=False, timeout=0.05, script=script)
    assert rig.read(5) == [STILL] * 5
    assert rig.out.getvalue().startswith('warning: c.velocity.script does not count: ')
    assert 'hardware.ros2_control.allow_scripts: true' in rig.out.getvalue()
    rig.twist(0.2)
    assert rig.read(2) == [[0.2, 0.0, 0.0], STILL]
    changed = {'walk': {'time': 0.0, 'velocity': [0.5, 0.0, 0.0]}}
    rig.command.use(parse_parameters(VelocityParameters, {'script': changed}, 'velocity'))
    assert rig.read(2) == [STILL] * 2
    assert rig.out.getvalue().count('\n') == 1
    # Nothing is said of a script that is not there.
    assert not Rig(allows_scripts=False).out.getvalue()
    sticks = {'source': 'script', 'script': {'ahead': {'axes': [0.0, 1.0]}}}
    rig = Rig(allows_scripts=False, joystick=sticks)
    assert rig.read(3) == [STILL] * 3
    assert 'c.velocity.joystick.script does not count: ' in rig.out.getvalue()
