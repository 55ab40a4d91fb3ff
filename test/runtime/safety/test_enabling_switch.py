"""The enabling switch: controllers command while it is held, and the robot is held while not."""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cnoid_control import SimpleController, Simulation, StateFlag
from cnoid_control.body import Body
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.cli.main import main
from cnoid_control.plugin.mailbox import Joy
from cnoid_control.runtime.safety.enabling_switch import EnableParameters, EnablingSwitch

SPEED = 0.5
HELD = Joy(buttons=(0, 0, 0, 0, 1))
RELEASED = Joy(buttons=(0, 0, 0, 0, 0))
WHY = 'the enabling switch is not held (joy, button 4)'


class Mover(SimpleController):
    """Turns the first joint at a constant speed, by positions."""

    def initialize(self, io: Any) -> bool:
        """Hold the others where they are."""
        self.io, self.body = io, io.body
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_DISPLACEMENT
            io.enable_io(joint)
        self.goal = io.body.q.copy()
        self.calls: list[str] = []
        return True

    def control(self) -> bool:
        """One step on."""
        self.calls.append('control')
        self.goal[0] += SPEED * self.io.time_step
        self.body.q_target[:] = self.goal
        return True

    def pause(self) -> None:
        """Note it."""
        self.calls.append('pause')

    def resume(self) -> bool:
        """Go on from where the robot is."""
        self.calls.append('resume')
        self.goal[:] = self.body.q
        return True


def make(controller: Any = Mover, **changes: Any) -> tuple[Simulation, Any]:
    """Make an arm that waits for its switch, and a function that posts what the joystick says."""
    given = {'enable.topic': 'joy', 'enable.timeout': 0.1}
    given |= {key.replace('__', '.'): value for key, value in changes.items()}
    simulation = Simulation('pd', controller, changes=given, os=io.StringIO())
    switch = simulation.loop.enabling
    assert switch is not None
    return simulation, switch.io.mailboxes['joy'].post


def run(simulation: Simulation, post: Any, message: Joy | None, duration: float) -> None:
    """Take ticks while the joystick repeats a message; None for silence."""
    for tick in range(round(duration / simulation.time_step)):
        if message is not None and tick % 10 == 0:
            post(message)
        assert simulation.step()


def test_without_a_topic_there_is_no_switch() -> None:
    """Nothing must be held where nothing was asked for."""
    assert Simulation('pd', Mover).loop.enabling is None


def test_the_robot_moves_while_the_button_is_held() -> None:
    """At the start, when released and when silent it is held, with the reason; a run goes on."""
    simulation, post = make()
    robot, safe_state = simulation.robot, simulation.loop.safe_state
    run(simulation, post, None, 0.2)
    calls = simulation.controller.calls
    assert calls == ['pause']
    assert (safe_state.is_engaged, safe_state.reason) == (True, WHY)
    start = robot.q[0]
    run(simulation, post, HELD, 1.0)
    assert calls[:3] == ['pause', 'resume', 'control']
    assert not safe_state.is_engaged
    # Half a second of it is the take-over.
    assert robot.q[0] - start > 0.5 * SPEED
    for message, pauses in ((RELEASED, 2), (None, 3)):
        before = robot.q[0]
        run(simulation, post, HELD, 1.0)
        assert robot.q[0] - before > 0.5 * SPEED
        run(simulation, post, message, 0.1)
        before, controls = robot.q[0], calls.count('control')
        # Held where it was.
        for _ in range(5):
            run(simulation, post, message, 0.1)
            assert abs(robot.q[0] - before) < 0.005
        assert calls.count('control') == controls
        assert calls.count('pause') == pauses
    assert simulation.summary()['exit'] == 'completed'


def test_a_message_counts_for_the_timeout() -> None:
    """To the tick."""
    simulation, post = make()
    simulation.step()
    post(HELD)
    held = 0
    for _ in range(200):
        simulation.step()
        held += not simulation.loop.safe_state.is_engaged
    assert held == pytest.approx(0.1 / simulation.time_step, abs=1.01)


@pytest.mark.parametrize('message', [Joy(), Joy(buttons=(1, 1, 1, 1, 0, 1)), Joy(buttons=(1,))])
def test_other_buttons_do_not_count(message: Joy) -> None:
    """Nor does a joystick that has no such button."""
    simulation, post = make()
    run(simulation, post, message, 0.1)
    assert 'control' not in simulation.controller.calls


def test_another_button_by_option() -> None:
    """Its number is in the reason."""
    simulation, post = make(enable__button=1)
    run(simulation, post, HELD, 0.05)
    assert simulation.loop.safe_state.reason.endswith('(joy, button 1)')
    run(simulation, post, Joy(buttons=(0, 1)), 0.05)
    assert not simulation.loop.safe_state.is_engaged


@pytest.mark.parametrize('estop', [False, True])
def test_a_stop_while_it_is_not_held_is_for_good(estop: bool) -> None:
    """Who takes the switch in his hand again does not undo it."""
    simulation, post = make(on_fault='hold')
    run(simulation, post, None, 0.05)
    simulation.loop.request_safe_state('somebody is near', estop)
    run(simulation, post, HELD, 0.3)
    safe_state = simulation.loop.safe_state
    assert (safe_state.is_engaged, safe_state.is_estop) == (True, estop)
    assert safe_state.reason == 'somebody is near'
    assert 'control' not in simulation.controller.calls


def test_a_pause_of_somebody_else_is_not_ended_by_it() -> None:
    """Who paused the robot lets it go on."""
    simulation, post = make()
    run(simulation, post, HELD, 0.1)
    simulation.loop.safe_state.enter('somebody pauses', pause=True)
    run(simulation, post, HELD, 0.1)
    assert simulation.loop.safe_state.reason == 'somebody pauses'


def test_a_fault_ends_a_run_whether_it_is_held_or_not() -> None:
    """The switch alone does not."""
    simulation, post = make()
    run(simulation, post, None, 0.05)
    simulation.loop.request_safe_state('somebody is near')
    assert not simulation.step()
    assert simulation.summary()['reason'] == 'somebody is near'


def test_a_controller_that_hangs_when_it_is_released_loses_the_robot() -> None:
    """The tick in which the switch is released is finished by the monitor."""

    class Hanging(Mover):
        def pause(self) -> None:
            if 'control' in self.calls:
                time.sleep(1.0)

    simulation, post = make(Hanging, on_fault='hold', watchdog__control_timeout=0.1)
    loop = simulation.loop
    post(HELD)
    outcome = loop.run(0.3)
    assert outcome.reason.startswith('pause() exceeded its 100 ms time limit')
    assert outcome.exit == 'failed'
    assert outcome.ticks == round(0.3 / simulation.time_step)


def test_an_old_message_is_not_new_when_a_loop_was_halted() -> None:
    """On a robot the age counts from the arrival, not from the tick that takes it."""
    body = Body(BodyDescription('b', [LinkDescription('root')]))
    switch = EnablingSwitch(EnableParameters('joy', 0, 0.05), body, 0.01)
    switch.io.mailboxes['joy'].post(Joy(buttons=(1,)))
    assert switch.check()
    switch.io.mailboxes['joy'].post(Joy(buttons=(1,)))
    time.sleep(0.06)
    assert not switch.check()


def test_a_recorded_run_is_replayed_with_its_switch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the joystick said is in the log: the same ticks are held again."""
    from cnoid_control.runtime.recorder import Recorder

    file = tmp_path / 'mover.py'
    file.write_text(Path(__file__).read_text())
    simulation, post = make(f'{file}:Mover')
    config, loop = simulation.config, simulation.loop
    loop.recorder = Recorder(
        str(tmp_path / 'run.mcap'), loop.hardware.body, config.to_text(), {}, False
    )
    for message in (None, HELD, RELEASED, HELD):
        run(simulation, post, message, 0.1)
    simulation.close()
    assert np.any(simulation.recorded.q[-1] != simulation.recorded.q[0])
    assert main(['replay', str(tmp_path / 'run.mcap')]) == 0, capsys.readouterr().out


def test_a_run_in_which_nobody_can_hold_it_is_refused(capsys) -> None:
    """With what to do instead."""
    assert main(['run', 'pd', '--set', 'enable.topic=joy']) == 1
    assert "enable.topic is 'joy': nobody can hold the enabling switch" in capsys.readouterr().err
