"""Succession: who takes over when a controller ends or fails, and that it does so smoothly."""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_hardware import FakeHardware, two_joint_body

pytest.importorskip('mujoco', reason='needs MuJoCo')

from cnoid_control import Simulation
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.hardware.exceptions import HardwareError
from cnoid_control.parameters import ParameterError
from cnoid_control.runtime import succession as succession_module
from cnoid_control.runtime.build import make_controllers, make_loop
from cnoid_control.runtime.config import RunConfig, parse_config
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.hot_swap import HotSwap
from cnoid_control.runtime.recorder import Recorder
from cnoid_control.runtime.replay import replay
from cnoid_control.runtime.succession import Succession, follow_succession

CLIP = f'{Path(__file__).with_name("succession_controllers.py")}:Clip'
RATE = 100.0
# Ticks of a hot swap and of a hand-over from the safe state.
SWAP, RESUME = 30, 50
TICKS = 20
# Efforts that hardly move the arm [N m].
FIRST, SECOND = 0.002, -0.003


def smooth(s: np.ndarray) -> np.ndarray:
    """The blend, from its formula."""
    return 3.0 * s**2 - 2.0 * s**3


def config(**changes: Any) -> RunConfig:
    """An arm; `first` ends after 20 ticks, and `second` takes over."""
    values: dict[str, Any] = {
        'robot': {'model': 'arm', 'base': 'fixed'},
        'rate': RATE,
        'controller': 'first',
        'then': 'second',
        'standby': {'first': {'type': CLIP}, 'second': {'type': CLIP}},
        'first': {'effort': FIRST, 'ticks': TICKS},
        'second': {'effort': SECOND, 'ticks': 0},
        'hardware': {'mujoco': {'gravity': 0.0}},
    }
    for key, value in changes.items():
        values[key] = {**values.get(key, {}), **value} if isinstance(value, dict) else value
    return parse_config(values, 'succession')


def efforts(sim: Simulation, ticks: int) -> np.ndarray:
    """Efforts of the first joint that are sent in these ticks [N m]."""
    sent = []
    for _ in range(ticks):
        sim.step()
        sent.append(sim.robot.u[0])
    return np.array(sent)


def test_the_successor_of_one_that_ends_is_blended_in() -> None:
    """The one that has ended is called on; no step is larger than the blend allows."""
    out = io.StringIO()
    sim = Simulation(config(), os=out)
    sent = efforts(sim, 100)
    np.testing.assert_allclose(sent[: TICKS + 1], FIRST)
    part = smooth(np.arange(1, SWAP + 1) / SWAP)
    blended = FIRST + part * (SECOND - FIRST)
    np.testing.assert_allclose(sent[TICKS + 1 : TICKS + 1 + SWAP], blended, atol=1e-12)
    np.testing.assert_allclose(sent[TICKS + 1 + SWAP :], SECOND)
    # 1.5 is the steepest slope of the blend.
    assert np.abs(np.diff(sent)).max() <= 1.5 / SWAP * (FIRST - SECOND)
    summary = sim.summary()
    assert (summary['exit'], summary['controller']) == ('completed', 'second')
    (change,) = summary['took_over']
    assert change == {
        'time': pytest.approx(TICKS / RATE),
        'before': 'first',
        'after': 'second',
        'reason': 'it has ended',
    }
    assert 'second takes over' in out.getvalue()
    sim.close()


@pytest.mark.parametrize('how', ['raise', 'nan', 'huge'])
def test_the_successor_of_one_that_fails_is_blended_in_from_a_hold(how: str) -> None:
    """In the tick of the failure the robot is held; the run goes on, and says what happened."""
    sim = Simulation(config(first={'end': how}), os=io.StringIO())
    sent = efforts(sim, 120)
    np.testing.assert_allclose(sent[:TICKS], FIRST)
    failed = TICKS + (0 if how == 'raise' else np.flatnonzero(sent[TICKS:] != FIRST)[0])
    # What holds an arm that hardly moves is small; from it the part of the successor grows.
    assert abs(sent[failed]) < 2.0 * FIRST
    part = smooth(np.arange(1, RESUME + 1) / RESUME)
    held = sent[failed + 1 : failed + 1 + RESUME] - part * SECOND
    assert (np.abs(held) < (1.0 - part) * 2.0 * FIRST + 1e-12).all()
    np.testing.assert_allclose(sent[failed + RESUME + 1 :], SECOND, atol=1e-12)
    summary = sim.summary()
    assert (summary['exit'], summary['controller']) == ('completed', 'second')
    assert ('broken' if how == 'raise' else 'effort') in summary['took_over'][0]['reason']
    sim.close()


def test_without_a_successor_it_is_as_before() -> None:
    """The end ends the run, and a failure fails it."""
    for end, exit_ in (('end', 'finished'), ('raise', 'failed')):
        sim = Simulation(config(then='', first={'end': end}), os=io.StringIO())
        assert sim.run(1.0)['exit'] == exit_
        assert 'took_over' not in sim.summary()
        sim.close()


def test_successors_may_have_successors() -> None:
    """Each its own, else the run's; nobody is his own."""
    standby = {
        'first': {'type': CLIP, 'then': 'third'},
        'second': {'type': CLIP},
        'third': {'type': CLIP},
    }
    options = {'second': {'ticks': 5}, 'third': {'ticks': TICKS}}
    sim = Simulation(config(standby=standby, **options), os=io.StringIO())
    summary = sim.run(3.0)
    assert summary['exit'] == 'finished'
    names = [(change['before'], change['after']) for change in summary['took_over']]
    assert names == [('first', 'third'), ('third', 'second')]
    sim.close()


def test_a_successor_that_cannot_take_over_changes_nothing() -> None:
    """The end is the end, and the failure a failure; why, is said."""
    for end, exit_ in (('end', 'finished'), ('raise', 'failed')):
        out = io.StringIO()
        sim = Simulation(config(first={'end': end}, second={'refuse': True}), os=out)
        assert sim.run(1.0)['exit'] == exit_
        assert 'error: second: cannot take over' in out.getvalue()
        assert sim.config.controller_name == 'first'
        sim.close()


@pytest.mark.parametrize('end', ['end', 'raise'])
def test_one_that_fails_while_it_takes_over(end: str) -> None:
    """After an end the one before has the robot again, and has no more to do; else it is held."""
    second = {'ticks': 3, 'end': 'raise'}
    sim = Simulation(config(first={'end': end}, second=second, then='second'), os=io.StringIO())
    summary = sim.run(1.0)
    assert summary['exit'] == ('finished' if end == 'end' else 'failed')
    assert len(summary['took_over']) == 1
    sim.close()


def test_after_a_successor_was_given_up_a_reset_begins_with_the_one_before() -> None:
    """One that fails while it is blended in has never had the robot alone."""
    sim = Simulation(config(second={'ticks': 5, 'end': 'raise'}), os=io.StringIO())
    assert len(sim.run(1.0)['took_over']) == 1
    assert sim.config.controller_name == 'first'
    sim.reset()
    sim.step()
    assert sim.loop.host.controllers[0].name == 'first'
    sim.close()


def test_controllers_of_standby_are_named_as_others() -> None:
    """At the start, in a swap and as the fallback; their options are checked at the start."""
    sim = Simulation(config(first={'ticks': 0}), os=io.StringIO())
    sim.run(0.1)
    sim.swap('second')
    sim.run(0.5)
    assert sim.robot.u[0] == pytest.approx(SECOND)
    sim.swap('first')
    sim.run(0.5)
    assert sim.robot.u[0] == pytest.approx(FIRST)
    sim.close()
    with pytest.raises(ParameterError, match=r'second\.speed'):
        Simulation(config(second={'speed': 1.0}))
    with pytest.raises(CnoidControlError, match='nowhere'):
        Simulation(config(standby={'second': {'type': 'nowhere'}}))


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'then': 'third'}, r"then: 'third' is not allowed; choose from: first, second.*pd"),
        ({'standby': {'first': {'type': CLIP, 'then': 'x'}}}, r"standby\.first\.then: 'x'"),
        ({'standby': {'rate': {'type': CLIP}}}, "standby: 'rate' is not allowed"),
        ({'standby': {'first': {'kind': CLIP}}}, r'standby\.first\.kind'),
    ],
)
def test_what_does_not_exist_is_refused_by_name(changes: dict, message: str) -> None:
    """With what there is."""
    with pytest.raises(ParameterError, match=message):
        config(**changes)


@pytest.mark.parametrize('end', ['end', 'raise'])
def test_a_replay_has_the_same_successors(tmp_path: Path, end: str) -> None:
    """Every command of both controllers and of what is between them, to the bit."""
    given = config(first={'end': end})
    loop = make_loop(given, os=io.StringIO())
    follow_succession(loop, given)
    loop.recorder = Recorder(tmp_path / 'log.mcap', loop.hardware.body, given.to_text())
    loop.run(1.0)
    assert len(loop.succession.history) == 1
    result = replay(tmp_path / 'log.mcap', io.StringIO())
    assert (result.ticks, result.recorded_ticks, result.differing_ticks) == (100, 100, 0)


# --- on a robot: time goes on while the successor is brought up -----------------------------


class Robot(FakeHardware):
    """A robot that does not wait for anybody."""

    is_simulated = False
    waits_for_commands = False

    def read(self) -> bool:
        """Stand still."""
        going = super().read()
        self.body.q[:], self.body.dq[:] = 0.5, 0.0
        return going


def robot_loop(**changes: Any):
    """Loop on a robot, and what has been said."""
    given = config(on_fault='hold', **changes)
    hardware = Robot(two_joint_body(), 10**6, 1.0 / RATE)
    out = io.StringIO()
    loop = make_loop(given, hardware, os=out)
    told = []
    swapper = HotSwap(loop, SWAP / RATE)
    configs = {loop.host: given}

    def took_over(host, config) -> None:
        configs[host] = config
        told.append(config.controller_name)

    Succession(loop, swapper, lambda: configs.get(loop.host, given), took_over)
    loop.open()
    return loop, hardware, told, out


def step_until(loop, condition) -> None:
    """Take ticks, a millisecond apart, until something is so."""
    for _ in range(5000):
        loop.step()
        if condition():
            return
        time.sleep(0.001)
    raise AssertionError('it never came')


@pytest.mark.parametrize('end', ['end', 'raise'])
def test_the_loop_does_not_wait_for_a_successor(end: str) -> None:
    """It is brought up in a thread of its own, while the robot goes on, or is held."""
    loop, hardware, told, _ = robot_loop(first={'end': end})
    step_until(loop, lambda: hardware.tick > TICKS)
    step_until(loop, lambda: told == ['second'])
    step_until(loop, lambda: abs(hardware.written[-1]['u'][0] - SECOND) < 1e-9)
    sent = np.array([row['u'][0] for row in hardware.written])
    assert np.abs(np.diff(sent)).max() <= FIRST
    assert not loop.safe_state.is_engaged
    assert loop.host.controllers[0].name == 'second'
    loop.close()


def test_a_reset_overrules_the_successor() -> None:
    """Who has reset the robot has it: one that comes up later does not take it away."""
    loop, _, told, out = robot_loop(first={'end': 'raise'})
    waiting: list = []
    loop.succession._beside = waiting.append
    for _ in range(TICKS + 1):
        loop.step()
    assert loop.succession.is_pending
    fresh = ControllerHost(make_controllers(config()), loop.hardware.body, 1.0 / RATE, out)
    fresh.configure()
    fresh.initialize(standby=True)
    fresh.start()
    loop.restart(fresh)
    waiting[0]()
    for _ in range(10):
        loop.step()
    assert loop.host is fresh
    assert told == []
    loop.close()


def test_a_stop_overrules_the_successor() -> None:
    """Whoever has stopped the robot is not overruled by one that comes up later."""
    loop, _, told, _ = robot_loop(first={'end': 'raise'})
    for _ in range(TICKS):
        loop.step()
    loop.request_safe_state('stopped by hand')
    # In this tick it would fail: the stop comes first.
    loop.step()
    for _ in range(100):
        loop.step()
        time.sleep(0.001)
    assert loop.safe_state.reason == 'stopped by hand'
    assert told == []
    loop.close()


def test_a_finding_of_the_watchdog_says_that_nobody_takes_over() -> None:
    """Whoever has named a successor waits for it; a stop by hand explains itself."""
    loop, _, told, out = robot_loop()
    loop.step()
    loop.request_safe_state('stopped by hand')
    loop.step()
    assert 'does not take over' not in out.getvalue()
    loop.watchdog.trip('control', 'safe', 'control() is late')
    loop.step()
    line = 'second does not take over, the robot is held: control() is late\n'
    assert out.getvalue().count(line) == 1
    for _ in range(5):
        loop.step()
    assert out.getvalue().count(line) == 1
    assert told == []
    loop.close()


@pytest.mark.parametrize('end', ['end', 'raise'])
def test_a_stop_overrules_a_successor_that_is_being_brought_up(end: str) -> None:
    """It does not get the robot, its command controllers are left alone, nobody is told of it."""
    loop, hardware, told, _ = robot_loop(first={'end': end})
    waiting: list = []
    prepared: list = []
    loop.succession._beside = waiting.append
    hardware.prepare = prepared.append
    for _ in range(TICKS + 1):
        loop.step()
    loop.request_safe_state('stopped by hand')
    loop.step()
    waiting[0]()
    assert loop.transition is None
    for _ in range(10):
        loop.step()
    assert loop.safe_state.is_engaged
    assert (told, loop.succession.history, prepared) == ([], [], [])
    loop.close()


def failing_loop():
    """Loop whose controller fails; what is to be done beside it, and the hosts brought up."""
    loop, hardware, told, out = robot_loop(first={'end': 'raise'})
    succession = loop.succession
    beside: list = []
    succession._beside = beside.append
    made: list[ControllerHost] = []
    bring_up = succession._swapper.bring_up

    def keep(controllers) -> ControllerHost:
        made.append(bring_up(controllers))
        return made[-1]

    succession._swapper.bring_up = keep
    for _ in range(TICKS + 1):
        loop.step()
    assert succession.is_pending
    assert len(beside) == 1
    return loop, hardware, told, out, beside[0], made


def refuse(request) -> bool:
    """Do not get ready."""
    raise HardwareError('no such interface')


@pytest.mark.parametrize('end', ['end', 'raise'])
def test_a_scale_that_changes_while_a_successor_is_brought_up(end: str) -> None:
    """One that it cannot slow down does not take over; the limits of the robot stay in force."""
    loop, _, _, _ = robot_loop(first={'end': end}, second={'by': 'position'})
    loop.succession._beside = lambda function: function()
    for _ in range(TICKS + 1):
        loop.step()
    loop.limiter.set_scale(0.5)
    for _ in range(3):
        loop.step()
    assert loop.host.controllers[0].name == 'first'
    assert loop.safe_state.is_engaged
    loop.hardware.body.u[:] = np.nan
    loop.limiter.apply(1.0 / RATE)
    assert np.isfinite(loop.hardware.body.u).all()
    loop.close()


def test_a_reset_that_the_scale_cannot_slow_down_is_refused() -> None:
    """The robot stays held, within its limits, by those that had it."""
    loop, _, _, out = robot_loop()
    before = loop.host
    loop.limiter.set_scale(0.5)
    made = make_controllers(config(first={'by': 'position'}))
    fresh = ControllerHost(made, loop.hardware.body, 1.0 / RATE, out)
    fresh.configure()
    fresh.initialize(standby=True)
    fresh.start()
    with pytest.raises(ParameterError, match='no speed limit to scale'):
        loop.restart(fresh)
    assert loop.host is before
    loop.hardware.body.u[:] = np.nan
    loop.limiter.apply(1.0 / RATE)
    assert np.isfinite(loop.hardware.body.u).all()
    loop.close()


@pytest.mark.parametrize('method', ['prepare', 'open'])
def test_a_successor_that_the_robot_is_not_made_for_is_stopped(method: str) -> None:
    """The robot stays held, with why; nobody waits for it any more."""
    loop, hardware, told, out, bring_up, made = failing_loop()
    setattr(hardware, method, refuse)
    bring_up()
    loop.step()
    assert 'error: second: cannot take over: no such interface' in out.getvalue()
    assert not loop.succession.is_pending
    assert told == []
    assert loop.safe_state.is_engaged
    step_until(loop, lambda: not made[0].controllers[0].configured)
    assert not made[0].controllers[0].started
    loop.close()


@pytest.mark.parametrize('when', ['while it comes up', 'when it is ready'])
def test_a_successor_that_is_not_wanted_any_more_is_stopped(when: str) -> None:
    """It does not get the robot, and is not left running."""
    loop, _, told, _, bring_up, made = failing_loop()
    if when == 'while it comes up':
        loop.succession.cancel()
        bring_up()
    else:
        bring_up()
        loop.succession.cancel()
    step_until(loop, lambda: not made[0].controllers[0].configured)
    assert not made[0].controllers[0].started
    assert told == []
    assert loop.safe_state.is_engaged
    loop.close()


def test_the_one_that_has_failed_is_stopped_when_its_successor_has_the_robot() -> None:
    """The successor is not."""
    loop, _, told, _, bring_up, made = failing_loop()
    old = loop.host
    bring_up()
    loop.step()
    assert told == ['second']
    assert loop.host is made[0]
    step_until(loop, lambda: not old.controllers[0].configured)
    assert made[0].controllers[0].started
    loop.close()


def test_why_there_is_no_successor_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its configuration may have become wrong."""

    def fail(config) -> None:
        raise CnoidControlError('no such option')

    monkeypatch.setattr(succession_module, 'successor_config', fail)
    loop, _, told, out = robot_loop(first={'end': 'raise'})
    for _ in range(TICKS + 3):
        loop.step()
    assert 'error: no such option' in out.getvalue()
    assert told == []
    loop.close()


class HeldByHand:
    """An enabling switch in the hand of the test."""

    reason = 'the enabling switch is not held'

    def __init__(self) -> None:
        self.is_held = True

    def check(self) -> bool:
        """Whether it is held."""
        return self.is_held


@pytest.mark.parametrize('end', ['end', 'raise'])
@pytest.mark.parametrize('when', ['while it comes up', 'when it is ready'])
def test_a_switch_that_is_released_does_not_lose_the_successor(end: str, when: str) -> None:
    """The robot is held meanwhile; held again, the switch lets the successor take over."""
    loop, hardware, told, _ = robot_loop(first={'end': end})
    loop.enabling = switch = HeldByHand()
    beside: list = []
    loop.succession._beside = beside.append
    for _ in range(TICKS + 1):
        loop.step()
    assert len(beside) == 1
    if when == 'when it is ready':
        beside.pop()()
    switch.is_held = False
    loop.step()
    if beside:
        beside.pop()()
    for _ in range(5):
        loop.step()
        assert loop.safe_state.is_engaged
    loop.succession._beside = lambda function: function()
    switch.is_held = True
    step_until(loop, lambda: abs(hardware.written[-1]['u'][0] - SECOND) < 1e-9)
    assert not loop.safe_state.is_engaged
    assert loop.host.controllers[0].name == 'second'
    assert told[-1] == 'second'
    assert not loop.finished
    loop.close()


def test_a_swap_that_somebody_asked_for_is_refused_while_the_switch_is_not_held() -> None:
    """It is answered, and does not begin later, when nobody expects it."""
    loop, _, _, _ = robot_loop(first={'ticks': 0})
    loop.enabling = switch = HeldByHand()
    loop.step()
    transition = HotSwap(loop, SWAP / RATE).begin(
        make_controllers(config(controller='second', first={'ticks': 0}))
    )
    switch.is_held = False
    loop.step()
    assert 'not held' in str(transition.error)
    switch.is_held = True
    for _ in range(3):
        loop.step()
    assert loop.host.controllers[0].name == 'first'
    loop.close()
