"""A run of the loop: its pace, its pauses and its ends."""

from __future__ import annotations

import threading

import pytest
from fake_hardware import FakeHardware, Scripted, fake_loop, two_joint_body

from cnoid_control.hardware.exceptions import HardwareError
from cnoid_control.runtime import loop as loop_module
from cnoid_control.runtime.exceptions import InSafeState
from cnoid_control.runtime.loop import SPIN_TIME, ControlLoop
from cnoid_control.runtime.safety.hang_monitor import begin_call
from cnoid_control.runtime.safety.watchdog import WatchdogParameters


class Clock:
    """Time that goes on when somebody sleeps, and a little whenever it is asked for."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def perf_counter(self) -> float:
        """Time [s]."""
        self.now += 1e-6
        return self.now

    def sleep(self, duration: float) -> None:
        """Go on."""
        self.slept.append(duration)
        self.now += duration


@pytest.fixture
def clock(monkeypatch) -> Clock:
    """Return the loop's clock."""
    made = Clock()
    monkeypatch.setattr(loop_module, 'time', made)
    return made


class Noting(Scripted):
    """Notes pauses."""

    def __init__(self, tick: int = -1, act=None) -> None:
        super().__init__(tick, act)
        self.calls: list[str] = []

    def pause(self) -> None:
        """Note it."""
        self.calls.append('pause')

    def resume(self) -> bool:
        """Note it."""
        self.calls.append('resume')
        return True


def told_of_ticks(loop: ControlLoop) -> list[float]:
    """Where the durations of ticks go that the watchdog is told."""
    told: list[float] = []
    loop.watchdog.tick_took = lambda duration, period: told.append(duration)
    return told


def test_what_is_observed_is_measured_too():
    """Devices that somebody watches though no controller reads them."""
    loop = fake_loop(Scripted())
    loop.observed = {'imu'}
    loop.open()
    assert loop.hardware.request.devices == {'imu'}


def test_the_states_are_watched_from_the_start():
    """Where they can fail to arrive; nothing is watched any more after the end."""
    loop = fake_loop(Scripted())
    loop.hardware.feeds_watchdog = True
    loop.open()
    assert 'state_timeout' in loop.watchdog._ages
    assert loop.watchdog._grace_end < float('inf')
    loop.request_safe_state('too late')
    loop.close()
    assert loop.watchdog.check() is None


def test_an_advance_goes_on_where_the_last_one_ended():
    """The loop stays open between them."""
    loop = fake_loop(Scripted())
    loop.begin()
    assert loop.advance(0.05).ticks == 5
    outcome = loop.advance(0.03)
    assert (outcome.exit, outcome.ticks) == ('completed', 8)
    assert not loop.has_ended
    loop.close()
    assert loop.has_ended


@pytest.mark.parametrize(
    ('real_time', 'simulated', 'paced'),
    [(True, True, True), (False, True, False), (True, False, False), (False, False, False)],
)
@pytest.mark.parametrize('way', ['run', 'advance'])
def test_only_a_simulation_is_held_to_the_clock(way, real_time, simulated, paced, clock):
    """A robot sets the pace itself."""
    loop = fake_loop(Scripted())
    loop.hardware.is_simulated = simulated
    told = told_of_ticks(loop)
    if way == 'run':
        loop.run(0.05, real_time)
    else:
        loop.begin()
        loop.advance(0.05, real_time)
        loop.close()
    assert len(told) == (5 if paced else 0)
    assert bool(clock.slept) == paced


@pytest.mark.parametrize(('speed', 'period'), [(0.5, 0.02), (4.0, 0.0025)])
def test_the_pace_follows_the_speed(speed, period, clock):
    """From the tick on in which it changes; the watchdog is told of ticks in real time alone."""
    controller = Scripted(2, lambda _: setattr(loop, 'speed', speed) is None)
    loop = fake_loop(controller)
    told = told_of_ticks(loop)
    loop.run(0.06, real_time=True)
    assert len(told) == 1
    assert clock.slept[-1] == pytest.approx(period - SPIN_TIME, abs=2e-4)


def test_a_run_without_pace_can_be_given_one(clock):
    """And loses no tick for it."""
    loop = fake_loop(Scripted(3, lambda _: setattr(loop, 'speed', 1.0) is None))
    outcome = loop.run(0.08)
    assert outcome.overruns == 0
    assert len(clock.slept) == 6


def test_a_robot_that_fails_ends_an_advance():
    """With the reason, and for good."""
    loop = fake_loop(Scripted())
    loop.begin()

    def fail() -> None:
        raise HardwareError('the cable is out')

    loop.hardware.write = fail
    outcome = loop.advance(0.05)
    assert (outcome.exit, outcome.reason, outcome.ticks) == ('failed', 'the cable is out', 0)
    assert loop.has_ended


@pytest.mark.parametrize('why', ['exhausted', 'finished', '_stop_requested', '_is_closed'])
def test_each_end_is_an_end(why):
    """No more ticks can be taken then."""
    loop = fake_loop(Scripted())
    loop.open()
    assert not loop.has_ended
    setattr(loop, why, True)
    assert loop.has_ended


def test_the_robot_is_left_whatever_is_raised():
    """An error that nobody expected reaches the caller of run()."""
    loop = fake_loop(Scripted())

    def fail() -> bool:
        raise ZeroDivisionError

    loop.hardware.read = fail
    with pytest.raises(ZeroDivisionError):
        loop.run()
    assert loop.hardware.calls == ['open', 'close']


def test_gains_are_asked_of_controllers_that_can_answer():
    """Where a joint is known; a controller that was left behind is not asked."""
    controller = Scripted()
    controller.gains_of = lambda joint: {'kp': 3.0}
    loop = fake_loop(controller)
    assert loop._gains_of('joint0') == {'a': {'kp': 3.0}}
    assert loop._gains_of('') == {}
    loop.host.abandon()
    assert loop._gains_of('joint0') == {}


def test_the_pace_is_kept_by_sleep_and_spin(clock):
    """A sleeper is woken early, and spins until the time has come; what is late is not chased."""
    loop = fake_loop(Scripted())
    deadline = clock.now + 0.1
    assert loop._keep_pace(deadline) == deadline
    assert clock.slept == pytest.approx([0.1 - SPIN_TIME], abs=2e-6)
    assert deadline <= clock.now < deadline + 1e-5
    deadline = clock.now + 0.5 * SPIN_TIME
    assert loop._keep_pace(deadline) == deadline
    assert len(clock.slept) == 1
    assert deadline <= clock.now < deadline + 1e-5
    assert loop.overruns == 0
    assert loop._keep_pace(clock.now - 0.3) == clock.now
    assert loop.overruns == 1


def test_the_watchdog_is_told_how_long_ticks_take(clock):
    """From when a tick was due to its end; a late one is not followed by a burst."""
    loop = fake_loop(Scripted(2, lambda one: clock.sleep(0.5) or True), time_step=0.1)
    told = []
    loop.watchdog.tick_took = lambda duration, period: told.append((duration, period))
    outcome = loop.run(0.4, real_time=True)
    assert [duration for duration, _ in told] == pytest.approx([0.0, 0.5, 0.0, 0.0], abs=1e-3)
    assert {period for _, period in told} == {0.1}
    assert outcome.overruns == 1
    assert outcome.wall_time == pytest.approx(0.8, abs=1e-3)


def test_the_wall_time_is_that_of_the_ticks_without_pauses(clock, monkeypatch):
    """A run that is paused for a while is not longer for that."""
    loop = fake_loop(Scripted(3, lambda one: loop.pause() or clock.sleep(0.1) or True))
    tell = loop.host.pause

    def pause():
        tell()
        clock.sleep(0.3)
        loop.resume()

    monkeypatch.setattr(loop.host, 'pause', pause)
    outcome = loop.run(0.05)
    assert outcome.wall_time == pytest.approx(0.1, abs=1e-3)
    assert clock.now > 100.4


def test_the_wall_time_of_a_run_that_goes_on(clock):
    """Asked for in the midst of it."""
    seen = []
    loop = None

    def look(controller):
        clock.sleep(0.25)
        seen.append(loop.outcome().wall_time)
        return True

    loop = fake_loop(Scripted(2, look))
    loop.run(0.04)
    assert seen == pytest.approx([0.25], abs=1e-3)


def test_a_pause_does_not_make_the_next_tick_late(clock, monkeypatch):
    """The pace goes on from where it was."""
    loop = fake_loop(Scripted(3, lambda one: loop.pause() or True))
    pause = loop.host.pause

    def resume_later() -> None:
        pause()
        clock.sleep(0.3)
        loop.resume()

    monkeypatch.setattr(loop.host, 'pause', resume_later)
    outcome = loop.run(0.05, real_time=True)
    assert outcome.overruns == 0
    assert outcome.wall_time == pytest.approx(0.05, abs=1e-4)
    assert clock.now == pytest.approx(100.0 + 0.05 + 0.3, abs=1e-3)


@pytest.mark.parametrize(
    ('abandoned', 'stops', 'calls'),
    [
        (False, False, ['pause', 'resume']),
        (False, True, ['pause']),
        (True, False, []),
        (True, True, []),
    ],
)
def test_who_is_told_of_a_pause(abandoned, stops, calls):
    """Not those who were left behind; of its end only where the run goes on."""
    controller = Noting()
    loop = fake_loop(controller)
    loop.open()
    if abandoned:
        loop.host.abandon()
    if stops:
        loop.request_stop()
    loop._wait_for_resume()
    assert controller.calls == calls


def test_a_pause_lasts_until_its_end():
    """However often the loop is woken."""
    loop = fake_loop(Scripted())
    loop.open()
    loop.pause()
    waited = threading.Event()
    wait_for = loop._requests.wait_for

    def tell(condition) -> None:
        assert not condition()
        waited.set()
        wait_for(condition)

    loop._requests.wait_for = tell
    thread = threading.Thread(target=loop._wait_for_resume, daemon=True)
    thread.start()
    assert waited.wait(20.0)
    loop.resume()
    thread.join(20.0)
    assert not thread.is_alive()


def test_what_controllers_raise_between_ticks_reaches_the_caller():
    """They keep the robot; those that were left behind are not called."""
    loop = fake_loop(Scripted(), on_fault='hold')
    loop.open()

    def fail() -> None:
        raise ValueError('no')

    with pytest.raises(ValueError, match='no'):
        loop.watched(fail, 'update_parameters')
    loop.safe_state.enter('the button')
    loop.host.abandon()
    with pytest.raises(InSafeState, match='the button'):
        loop.watched(fail, 'update_parameters')


@pytest.mark.parametrize('action', ['safe', 'estop'])
def test_a_hang_stops_the_robot_as_configured(action):
    """As a stop, or as an emergency stop."""
    watchdog = WatchdogParameters(control_action=action)
    loop = fake_loop(Scripted(), on_fault='hold', watchdog=watchdog)
    loop.open()
    loop.take_over(begin_call(loop.host, 'control', False), 0.5)
    assert loop.safe_state.is_engaged
    assert loop.safe_state.is_estop == (action == 'estop')
    assert [trip.action for trip in loop.watchdog.trips] == [action]


def test_a_hang_between_two_ticks_ends_a_run_that_fails():
    """No tick is taken any more."""
    release = threading.Event()
    controller = Scripted(3, lambda one: loop.pause() or True)
    controller.pause = release.wait
    limit = WatchdogParameters(control_timeout=0.05)
    loop = fake_loop(controller, on_fault='fail', watchdog=limit)
    outcome = loop.run(0.1)
    release.set()
    assert (outcome.exit, outcome.ticks) == ('failed', 3)
    assert 'pause() exceeded' in outcome.reason


class Breaking(FakeHardware):
    """Does not take the commands of its third tick."""

    def write(self) -> None:
        """Fail in one tick."""
        if self.tick == 3:
            raise HardwareError('the cable is out')
        super().write()


def test_what_fails_while_a_tick_is_finished_for_another_ends_the_run():
    """The thread that goes on raises what the one that took the robot over has met."""
    release = threading.Event()
    controller = Scripted(3, lambda one: release.wait() or True)
    limit = WatchdogParameters(control_timeout=0.05)
    hardware = Breaking(two_joint_body())
    loop = fake_loop(controller, hardware=hardware, on_fault='fail', watchdog=limit)
    outcome = loop.run(0.1)
    release.set()
    assert (outcome.exit, outcome.reason) == ('failed', 'the cable is out')
    assert (outcome.ticks, hardware.tick) == (2, 3)
