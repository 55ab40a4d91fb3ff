"""The fallback controller: it commands in the safe state, and its failures end in holding."""

from __future__ import annotations

import io
import threading
import time

import pytest
from fake_hardware import FakeHardware, fake_loop, two_joint_body

from cnoid_control import SimpleController, StateFlag
from cnoid_control.runtime.build import fallback_maker
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.defaults import make_robot
from cnoid_control.runtime.loop import ControlLoop
from cnoid_control.runtime.loop_thread import LoopThread
from cnoid_control.runtime.managed_controller import ManagedController
from cnoid_control.runtime.safety.hang_monitor import begin_call
from cnoid_control.runtime.safety.safe_state import SafeStateParameters


class Constant(SimpleController):
    """Commands a value; raises in a tick or a phase where it is told to."""

    def __init__(self, value: float, fail: str = '', mode=StateFlag.JOINT_TORQUE) -> None:
        self.value, self.fail, self.mode = value, fail, mode
        self.ticks = 0
        self.stops = 0

    def initialize(self, io) -> bool:
        """Command all joints."""
        self.body = io.body
        self.q_start = io.body.q.copy()
        for joint in io.body.joints:
            joint.actuation_mode = self.mode
            io.enable_io(joint)
        return self.fail != 'initialize'

    def control(self) -> bool:
        """Command the value."""
        self.ticks += 1
        if self.fail == 'control' and self.ticks > 3:
            raise RuntimeError('broken')
        self.body.u[:] = float('nan') if self.fail == 'nan' and self.ticks > 3 else self.value
        return True

    def stop(self) -> None:
        """Count it."""
        self.stops += 1


def make_loop(fallback: Constant) -> ControlLoop:
    """Loop on a fake robot; in the safe state efforts are zero but for the fallback's."""
    hardware = FakeHardware(two_joint_body(), states=10**9, time_step=0.002)
    managed = ManagedController('fallback', fallback)
    loop = fake_loop(
        Constant(1.0),
        hardware=hardware,
        on_fault='hold',
        safe_state=SafeStateParameters(effort='zero', resume_blend_time=0.02),
        make_fallback=lambda: ControllerHost([managed], hardware.body, 0.002, io.StringIO()),
    )
    loop.open()
    return loop


def step_until(loop: ControlLoop, condition) -> None:
    """Take ticks until something holds."""
    deadline = time.monotonic() + 20.0
    while not condition():
        assert time.monotonic() < deadline
        loop.step()
        time.sleep(0.0005)


def last(loop: ControlLoop) -> float:
    """Last effort of the first joint."""
    return loop.hardware.written[-1]['u'][0]


def test_it_takes_over_in_the_safe_state_and_gives_back() -> None:
    """From holding its commands are blended in; a reset gives the robot back and stops it."""
    fallback = Constant(5.0)
    loop = make_loop(fallback)
    loop.step()
    loop.safe_state.enter('because')
    loop.step()
    assert last(loop) < 1.0
    step_until(loop, lambda: last(loop) == 5.0)
    efforts = [written['u'][0] for written in loop.hardware.written[1:]]
    assert efforts == sorted(efforts), 'it is blended in'
    assert fallback.q_start[0] > 0.0, 'it starts from the state measured then'
    loop.safe_state.reset()
    step_until(loop, lambda: fallback.stops == 1)
    step_until(loop, lambda: last(loop) == 1.0)


@pytest.mark.parametrize('fail', ['initialize', 'control', 'nan'])
def test_its_failures_end_in_holding(fail: str) -> None:
    """A fallback that fails in any way leaves the robot to be held."""
    fallback = Constant(5.0, fail)
    loop = make_loop(fallback)
    loop.step()
    loop.safe_state.enter('because')
    step_until(loop, lambda: loop.fallback.error is not None)
    loop.step()
    assert last(loop) == 0.0
    for _ in range(50):
        loop.step()
    assert last(loop) == 0.0
    assert loop.fallback.host is None
    if fail != 'initialize':
        step_until(loop, lambda: fallback.stops == 1)


def test_another_mode_is_refused() -> None:
    """A fallback that would have to switch the robot's mode is not used."""
    loop = make_loop(Constant(5.0, mode=StateFlag.JOINT_DISPLACEMENT))
    loop.step()
    loop.safe_state.enter('because')
    step_until(loop, lambda: loop.fallback.error is not None)
    assert 'another mode' in str(loop.fallback.error)


def test_the_emergency_stop_has_no_fallback() -> None:
    """After an emergency stop nothing commands an effort."""
    fallback = Constant(5.0)
    loop = make_loop(fallback)
    loop.safe_state.enter('button', estop=True)
    for _ in range(50):
        loop.step()
        time.sleep(0.0005)
    assert fallback.ticks == 0
    assert last(loop) == 0.0


def test_one_that_comes_up_too_late_is_stopped() -> None:
    """When the safe state is over by then, or has begun again, it does not get the robot."""
    made, may_start = threading.Event(), threading.Event()

    class Slow(Constant):
        def start(self) -> bool:
            made.set()
            return may_start.wait(20.0)

    fallback = Slow(5.0)
    loop = make_loop(fallback)
    loop.step()
    loop.safe_state.enter('because')
    loop.step()
    assert made.wait(20.0)
    loop.safe_state.reset()
    loop.step()
    may_start.set()
    step_until(loop, lambda: fallback.stops == 1)
    assert loop.fallback.host is None


def test_the_configuration_names_it() -> None:
    """`safe_state.fallback` makes a host with that controller; without it there is none."""
    config = load_config('sr1_walk', {'safe_state.fallback': 'sr1_minimum'})
    body = make_robot(config.parameters.robot, config.folder)
    make = fallback_maker(config, body)
    assert make is not None
    assert [managed.name for managed in make().controllers] == ['sr1_minimum']
    assert fallback_maker(load_config('sr1_walk'), body) is None


def test_it_is_unconfigured_when_it_is_not_needed_any_more() -> None:
    """Its whole life cycle is gone through."""
    fallback = Constant(5.0)
    ended = threading.Event()
    fallback.unconfigure = ended.set
    loop = make_loop(fallback)
    loop.safe_state.enter('test')
    step_until(loop, lambda: fallback.ticks > 2)
    loop.safe_state.reset()
    step_until(loop, ended.is_set)
    assert fallback.stops == 1


def test_one_that_hangs_is_left_behind_and_the_reason_stays() -> None:
    """The robot is held; why it is in the safe state is what was said first."""
    release = threading.Event()
    fallback = Constant(5.0)
    control = fallback.control
    fallback.control = lambda: control() and (fallback.ticks < 3 or release.wait())
    loop = make_loop(fallback)
    loop.safe_state.enter('test')
    loop.watchdog.parameters.control_timeout = 0.05
    thread = LoopThread(loop, lambda: step_until(loop, release.is_set))
    thread.start(paced=True)
    try:
        deadline = time.monotonic() + 20.0
        while loop.fallback.error is None:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        assert 'exceeded its 50 ms time limit' in str(loop.fallback.error)
        assert loop.failure is None
        assert loop.safe_state.reason == 'test'
    finally:
        release.set()
        thread.stop()


def test_it_goes_through_its_whole_life_cycle() -> None:
    """configure() comes first, and an end of the run ends it."""
    fallback = Constant(5.0)
    calls: list[str] = []
    fallback.configure = lambda config: calls.append('configure') or True
    loop = make_loop(fallback)
    loop.safe_state.enter('test')
    step_until(loop, lambda: fallback.ticks > 2)
    assert calls == ['configure']
    loop.close()
    assert loop.fallback.host is None
    deadline = time.monotonic() + 20.0
    while not fallback.stops:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_one_that_cannot_start_is_stopped() -> None:
    """What it has configured is undone."""
    fallback = Constant(5.0, fail='initialize')
    ended = threading.Event()
    fallback.unconfigure = ended.set
    loop = make_loop(fallback)
    loop.safe_state.enter('test')
    step_until(loop, lambda: loop.fallback.error is not None)
    assert ended.wait(20.0)


def test_it_comes_in_smoothly() -> None:
    """From zero, by a little more in every tick, to all that it commands."""
    loop = make_loop(Constant(5.0))
    loop.safe_state.enter('test')
    loop.step()
    step_until(loop, lambda: last(loop) == pytest.approx(5.0))
    efforts = [row['u'][0] for row in loop.hardware.written]
    rising = [value for value in efforts if 0.0 < value < 5.0]
    assert len(rising) >= 8
    assert rising == sorted(rising)


def test_implausible_commands_end_it() -> None:
    """Where the limiter refuses what is sent, the fallback is not asked again."""
    fallback = Constant(5.0)
    loop = make_loop(fallback)
    loop.safe_state.enter('test')
    step_until(loop, lambda: fallback.ticks > 2)
    apply = loop.limiter.apply
    answers = iter([False])
    loop.limiter.apply = lambda dt: next(answers, apply(dt))
    loop.step()
    assert "controller 'fallback', control()" in str(loop.fallback.error)
    assert 'implausible' in str(loop.fallback.error)
    assert loop.fallback.host is None
    assert loop.safe_state.reason == 'test'
    assert loop.failure is None


def test_before_it_is_there_the_controllers_are_named() -> None:
    """Whose commands are implausible is told; a pause is more than that from then on."""
    loop = make_loop(Constant(5.0))
    loop.step()
    loop.safe_state.enter('paused', pause=True)
    loop.fallback.begin = lambda: None
    apply = loop.limiter.apply
    answers = iter([False])
    loop.limiter.apply = lambda dt: next(answers, apply(dt))
    loop.step()
    assert loop.safe_state.reason.startswith("controller 'a', control()")
    assert not loop.safe_state.is_pause


def test_a_controller_that_hangs_is_not_taken_for_the_fallback() -> None:
    """It costs the controllers the robot; the fallback may still come."""
    loop = make_loop(Constant(5.0))
    loop.step()
    loop.take_over(begin_call(loop.host, 'control', False), 0.5)
    assert 'time limit' in str(loop.failure)
    assert loop.fallback.error is None
    step_until(loop, lambda: last(loop) == 5.0)
