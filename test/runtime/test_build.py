"""What `make_loop` makes is what a user runs: with watchdog, safe state and hang monitor."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from fake_hardware import FakeHardware, Scripted, fake_loop, two_joint_body

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.faults.testbed import FaultyHardware
from cnoid_control.hardware.exceptions import HardwareError
from cnoid_control.parameters import ParameterError
from cnoid_control.runtime.build import make_controllers, make_loop
from cnoid_control.runtime.config import load_config, parse_config
from cnoid_control.runtime.safety.safe_state import SafeStateParameters
from cnoid_control.runtime.safety.watchdog import WatchdogParameters


def fail(controller: Scripted) -> bool:
    """Raise."""
    raise RuntimeError('broken')


@pytest.mark.parametrize('kind', ['mujoco', 'kinematic'])
def test_the_embedded_loop_has_everything(kind: str) -> None:
    """Watchdog, safe state and monitor, as the configuration wants them."""
    pytest.importorskip('mujoco', reason='needs MuJoCo')
    overrides = {
        'hardware.type': kind,
        'watchdog.control_timeout': 0.5,
        'safe_state.effort': 'damping',
        'limits.max_effort': 100.0,
    }
    loop = make_loop(load_config('sr1_pd', overrides))
    assert loop.watchdog.parameters.control_timeout == 0.5
    assert loop.safe_state.parameters.effort == 'damping'
    assert loop.on_fault == 'fail'
    assert loop.hardware.is_simulated


def test_a_fault_ends_a_simulated_run_with_its_reason() -> None:
    """The tick of the fault has the safe command, and is the last one."""
    loop = fake_loop(Scripted(5, fail), safe_state=SafeStateParameters(effort='zero'))
    outcome = loop.run(duration=1.0)
    assert (outcome.exit, outcome.ticks) == ('failed', 5)
    assert 'broken' in outcome.reason
    assert [written['u'][0] for written in loop.hardware.written] == [1.0, 1.0, 1.0, 1.0, 0.0]


def test_a_fault_may_hold_the_robot_in_a_simulated_run_too() -> None:
    """`on_fault: hold` goes on with the safe command to the end; the outcome tells."""
    loop = fake_loop(
        Scripted(5, fail), on_fault='hold', safe_state=SafeStateParameters(effort='zero')
    )
    outcome = loop.run(duration=0.2)
    assert (outcome.exit, outcome.ticks) == ('failed', 20)
    assert 'broken' in outcome.reason
    assert {written['u'][0] for written in loop.hardware.written[4:]} == {0.0}


def test_a_robot_is_held() -> None:
    """Where time is not simulated, `hold` is the default; `fail` is honoured."""

    class Robot(FakeHardware):
        is_simulated = False
        waits_for_commands = False

    assert fake_loop(Scripted(), hardware=Robot(two_joint_body())).on_fault == 'hold'
    loop = fake_loop(Scripted(5, fail), hardware=Robot(two_joint_body()), on_fault='fail')
    assert loop.run(duration=1.0).ticks == 5


def test_controllers_that_have_finished_are_held_on_a_robot_only() -> None:
    """A run ends as finished; a robot gets the safe command in that tick."""

    class Robot(FakeHardware):
        is_simulated = False

    loop = fake_loop(Scripted(3, lambda controller: False))
    assert (loop.run().exit, loop.hardware.written[-1]['u'][0]) == ('finished', 1.0)
    safe_state = SafeStateParameters(effort='zero')
    loop = fake_loop(
        Scripted(3, lambda controller: False),
        hardware=Robot(two_joint_body()),
        safe_state=safe_state,
    )
    assert (loop.run().exit, loop.hardware.written[-1]['u'][0]) == ('finished', 0.0)


def test_a_controller_that_never_returns_ends_a_run() -> None:
    """The run fails with the reason, while the controller still has not returned."""
    release = threading.Event()
    given = WatchdogParameters(control_timeout=0.05)
    loop = fake_loop(Scripted(5, lambda controller: release.wait() or True), watchdog=given)
    outcome = loop.run(duration=1.0)
    assert outcome.exit == 'failed'
    assert outcome.reason.startswith('control() exceeded its 50 ms time limit')
    assert loop.hardware.calls == ['open', 'close']
    assert outcome.ticks == 5, 'the tick that it was in has the safe command'
    release.set()


def test_a_pause_that_never_returns_ends_a_run() -> None:
    """Hooks between two ticks are watched as control() is."""
    release = threading.Event()

    class Pausing(Scripted):
        def pause(self) -> None:
            release.wait()

    loop = fake_loop(Pausing(), watchdog=WatchdogParameters(control_timeout=0.05))
    loop.pause()
    outcome = loop.run(duration=1.0)
    assert outcome.exit == 'failed'
    assert outcome.reason.startswith('pause() exceeded')
    release.set()


def test_what_another_exception_leaves_is_closed() -> None:
    """A mistake of the hardware is raised by run(), when everything is closed."""

    class Broken(FakeHardware):
        def write(self) -> None:
            raise ZeroDivisionError

    loop = fake_loop(Scripted(), hardware=Broken(two_joint_body()))
    with pytest.raises(ZeroDivisionError):
        loop.run(duration=1.0)
    assert loop.hardware.calls == ['open', 'close']


def test_the_time_limit_depends_on_whether_time_stands_still() -> None:
    """Patient where the robot waits; a given one is honoured; one that is too short is refused."""
    shipped = WatchdogParameters()
    assert shipped.control_limit(stands_still=False, period=1e-3) == 0.02
    assert shipped.control_limit(stands_still=False, period=0.1) == 0.1
    assert shipped.control_limit(stands_still=True, period=1e-3) == 10.0
    assert WatchdogParameters(control_timeout=0.3).control_limit(True, 1e-3) == 0.3
    with pytest.raises(ParameterError, match='control_timeout'):
        load_config('sr1_pd', {'watchdog.control_timeout': 1e-4})


def test_wrong_faults_are_refused() -> None:
    """Only what takes effect is accepted."""
    with pytest.raises(ParameterError, match='on_fault'):
        load_config('sr1_pd', {'on_fault': 'ignore'})


@pytest.fixture
def faulty():
    """Return a loop on a simulated robot whose states can fail to arrive."""
    mujoco = pytest.importorskip('cnoid_control.hardware.mujoco.hardware', reason='needs MuJoCo')
    from cnoid_control.runtime.defaults import make_robot

    config = load_config('sr1_pd', {'watchdog.grace': 0.0, 'watchdog.state_timeout': 0.0105})
    body = make_robot(config.parameters.robot, config.folder)
    simulated = mujoco.MujocoHardware(body, config.hardware_parameters, config.time_step)
    loop = make_loop(config, FaultyHardware(simulated))
    yield loop
    loop.close()


def test_states_that_stop_end_an_embedded_run(faulty) -> None:
    """By the robot's own clock: after the configured age, to the tick."""
    faulty.open()
    for _ in range(20):
        assert faulty.step()
    faulty.hardware.corrupt = lambda body: False
    ticks = 0
    while faulty.step():
        ticks += 1
    assert 'no joint states for' in faulty.safe_state.reason
    assert ticks == 10


def test_stalls_of_the_machine_are_no_stale_states(faulty, monkeypatch) -> None:
    """The wall clock does not count where the robot's does not go on."""
    faulty.open()
    faulty.step()
    monkeypatch.setattr('time.monotonic', lambda: 1e9)
    assert faulty.step()
    assert not faulty.safe_state.is_engaged


HANGING = """
from cnoid_control.controllers.sr1.minimum import SR1MinimumController


class Hanging(SR1MinimumController):
    ticks = 0

    def control(self):
        self.ticks += 1
        while self.ticks == 10:
            pass
        return super().control()
"""


def test_the_command_line_gets_rid_of_a_controller_that_hangs(tmp_path: Path) -> None:
    """`cnoid_control run` fails with the reason, and the process ends."""
    pytest.importorskip('mujoco', reason='needs MuJoCo')
    path = tmp_path / 'hanging.py'
    path.write_text(HANGING)
    config = tmp_path / 'hanging.yaml'
    config.write_text(
        '/**:\n  ros__parameters:\n    robot: {model: sr1.urdf}\n'
        f'    controller: {path}:Hanging\n    watchdog: {{control_timeout: 0.2}}\n'
    )
    command = [sys.executable, '-m', 'cnoid_control.cli.main', 'run', str(config), '--json']
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 1, done.stderr
    summary = json.loads(done.stdout)
    assert summary['exit'] == 'failed'
    assert 'control() exceeded its 200 ms time limit' in summary['reason']
    assert 'restart the process' in done.stderr
    assert np.isfinite(summary['root_position']).all()


def test_a_robot_that_fails_in_a_take_over_ends_the_run() -> None:
    """What it raises then comes out of the run, and everything is closed."""
    release = threading.Event()

    class Broken(FakeHardware):
        def write(self) -> None:
            super().write()
            if len(self.written) == 5:
                raise HardwareError('no more')

    controller = Scripted(5, lambda controller: release.wait() or True)
    given = WatchdogParameters(control_timeout=0.05)
    loop = fake_loop(controller, hardware=Broken(two_joint_body()), watchdog=given)
    outcome = loop.run(duration=1.0)
    assert (outcome.exit, outcome.reason) == ('failed', 'no more')
    assert loop.hardware.calls == ['open', 'close']
    release.set()


def test_a_sub_controller_without_its_parent_is_told_the_choices() -> None:
    """Itself is none of them."""
    values = {
        'robot': {'model': 'arm.urdf'},
        'controller': 'pd',
        'other_controllers': {'child': {'type': 'pd', 'parent': 'nobody'}},
    }
    with pytest.raises(CnoidControlError, match=r"parent 'nobody'.*choose from: pd$"):
        make_controllers(parse_config(values))


@pytest.mark.parametrize('own', [True, False])
def test_hardware_is_closed_where_the_loop_cannot_be_made(monkeypatch, own: bool) -> None:
    """Where it was made for the loop; somebody else's is left to them."""
    closed: list[bool] = []
    values = {
        'robot': {'model': 'arm.urdf'},
        'controller': 'pd',
        'limits': {'joints': {'no_such_joint': {'max_velocity': 1.0}}},
        'hardware': {'type': 'kinematic'},
    }
    config = parse_config(values)
    hardware = make_loop(parse_config({**values, 'limits': {}})).hardware
    monkeypatch.setattr(type(hardware), 'close', lambda self: closed.append(True))
    with pytest.raises(CnoidControlError, match='no_such_joint'):
        make_loop(config, None if own else hardware)
    assert closed == [True] * own


@pytest.mark.parametrize(
    ('hardware', 'expected'),
    [
        ({'type': 'kinematic'}, True),
        ({'type': 'ros2_control'}, False),
        ({'type': 'ros2_control', 'ros2_control': {'allow_scripts': True}}, True),
    ],
)
def test_scripts_are_for_simulations_unless_allowed(hardware: dict, expected: bool) -> None:
    """The control node runs on the kind ros2_control, whatever the file says."""
    values = {'robot': {'model': 'arm.urdf'}, 'controller': 'pd', 'hardware': hardware}
    values['other_controllers'] = {'low': {'type': 'pd', 'parent': 'pd'}}
    managed = make_controllers(parse_config(values))[0]
    managed.initialize(two_joint_body(), two_joint_body(), 0.01, sys.stderr, {})
    assert managed.allows_scripts is expected
    assert [child.allows_scripts for child in managed.children] == [expected]
    assert managed.io is not None
    assert managed.io.allows_scripts is expected
