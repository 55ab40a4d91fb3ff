"""A plain function control(robot, t) as controller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cnoid_control import Simulation, run
from cnoid_control.cli.main import main
from cnoid_control.exceptions import CnoidControlError


def torque(robot: Any, t: float, size: float = 2.0) -> Any:
    """Return the same torque for ever."""
    return [size]


def written(robot: Any, t: float) -> None:
    """Write the same torque into the robot."""
    robot.u[:] = 2.0


def test_a_torque_by_newton(folder: Path) -> None:
    """Returned or written, it accelerates the arm: I = 0.05 + 2 * 0.25^2."""
    inertia = 0.05 + 2.0 * 0.25**2
    for function in (torque, written):
        # A command acts from the next tick on: 19 of 20 periods of 5 ms.
        recorded = run(folder / 'arm.yaml', function, 0.105).recorded
        assert recorded.dq[-1, 0] == pytest.approx(2.0 / inertia * 0.095, rel=1e-6)
    wanted = run(folder / 'arm.yaml', torque, 0.105, options={'size': 4.0}).recorded.dq[-1, 0]
    assert wanted == pytest.approx(2.0 * recorded.dq[-1, 0], rel=1e-3)


@pytest.mark.parametrize(('command', 'array'), [('position', 'q'), ('velocity', 'dq')])
def test_positions_and_velocities(folder: Path, command: str, array: str) -> None:
    """The option says what the number is."""
    options = {'command': command}
    done = run(folder / 'arm.yaml', lambda robot, time: [0.2], 1.0, options=options)
    assert getattr(done.recorded, array)[-1, 0] == pytest.approx(0.2, abs=0.01)


def test_it_sees_state_and_time_and_ends_the_run(folder: Path) -> None:
    """False ends it; what it saw is what was recorded."""
    seen = []

    def control(robot: Any, t: float) -> bool:
        seen.append((t, float(robot.q[0]), float(robot.dq[0])))
        robot.u[:] = 1.0
        return t < 0.05

    done = run(folder / 'arm.yaml', control, 1.0)
    assert done.summary()['exit'] == 'finished'
    recorded = done.recorded
    rows = np.column_stack([recorded.time, recorded.q[:, 0], recorded.dq[:, 0]])
    assert np.array_equal(seen, rows)


def test_the_root_of_a_floating_robot_is_live() -> None:
    """Nobody has to enable it."""
    heights = []

    def fall(robot: Any, t: float) -> None:
        heights.append(float(robot.root_link.p[2]))
        robot.u[:] = 0.0

    done = run('sr1_pd', fall, 0.3)
    assert np.array_equal(heights, done.recorded.root_position[:, 2])
    assert heights[-1] < heights[0] - 0.02


def test_options_change_while_it_runs(folder: Path) -> None:
    """What the function is called with, but not what it commands."""
    with Simulation(folder / 'arm.yaml', torque) as simulation:
        simulation.run(0.1)
        managed = simulation.loop.host.controllers[0]
        for given, words in ({'size': -2.0}, ''), ({'command': 'position'}, 'read-only'):
            parameters = managed.check(given)
            if words:
                with pytest.raises(CnoidControlError, match=words):
                    managed.change_options(given, parameters)
            else:
                managed.change_options(given, parameters)
        simulation.run(0.02)
        assert simulation.recorded.u[-1, 0] == -2.0


@pytest.mark.parametrize(
    ('function', 'words'),
    [
        (lambda robot, t: 'x', "returned 'x'; expected None, True, False, or one effort per"),
        (lambda robot, t: [1.0, 2.0], r'returned \[1.0, 2.0\]; .* 1 values'),
        (lambda robot, t: 1.0 / 0.0, 'ZeroDivisionError'),
    ],
)
def test_what_is_no_command_ends_the_run(folder: Path, function: Any, words: str) -> None:
    """With what was returned, and what was expected."""
    import re

    assert re.search(words, run(folder / 'arm.yaml', function, 0.1).summary()['reason'])


@pytest.mark.parametrize(
    ('function', 'words'),
    [
        (lambda: None, r'control\(robot, t\) or make\(robot'),
        (lambda robot, t, command=1: None, "'command' has the name of an option"),
    ],
)
def test_what_is_no_function_of_robot_and_time(folder: Path, function: Any, words: str) -> None:
    """It is refused before anything is built."""
    with pytest.raises(CnoidControlError, match=words):
        Simulation(folder / 'arm.yaml', function)


def test_what_returns_nothing_may_be_meant_as_one(folder: Path) -> None:
    """The message says how such a function looks."""
    done = run(folder / 'arm.yaml', lambda robot: None, 0.1)
    assert 'be a function of robot and time: control(robot, t)' in done.summary()['reason']


def test_on_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file's function, with options."""
    (folder / 'mine.py').write_text('def push(robot, t, size: float = 1.0):\n    return [size]\n')
    arguments = ['run', str(folder / 'arm.yaml'), '--controller', f'{folder}/mine.py:push']
    assert main([*arguments, '--option', 'size=0.5', '--duration', '0.1', '--json']) == 0
    assert '"controller": "push"' in capsys.readouterr().out
