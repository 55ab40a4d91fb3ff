"""The loop: order of a tick, ends of a run, and that closing is always reached."""

from __future__ import annotations

import dataclasses
import io
import math
import threading
import time

import numpy as np
import pytest
from fake_hardware import FakeHardware, Scripted, fake_loop, two_joint_body

from cnoid_control import CnoidControlError, SimpleController, StateFlag
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.runtime import loop as loop_module
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.hot_swap import HotSwap
from cnoid_control.runtime.loop import ControlLoop
from cnoid_control.runtime.loop_thread import LoopThread
from cnoid_control.runtime.managed_controller import ManagedController
from cnoid_control.runtime.safety.limits import LimitsParameters
from cnoid_control.runtime.safety.watchdog import WatchdogParameters
from cnoid_control.runtime.trace import TickTrace


class Counter(SimpleController):
    """Torque that counts ticks; ends after `last` of them."""

    def __init__(self, last: int = 10**9) -> None:
        self.last = last
        self.ticks = 0
        self.calls: list[str] = []

    def initialize(self, io) -> bool:
        """Command torques and read angles."""
        self.io = io
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_TORQUE
            io.enable_io(joint)
        return True

    def control(self) -> bool:
        """Count."""
        self.ticks += 1
        self.io.body.u[:] = self.ticks
        return self.ticks < self.last

    def stop(self) -> None:
        """Note it."""
        self.calls.append('stop')

    def pause(self) -> None:
        """Note it."""
        self.calls.append('pause')

    def resume(self) -> bool:
        """Note it."""
        self.calls.append('resume')
        return True


def make_loop(*controllers: SimpleController, **options) -> ControlLoop:
    """Loop on a fake robot that moves by a radian each tick; controllers are named a, b, ..."""
    return fake_loop(*controllers, states=options.pop('states', 1000), **options)


def test_runs_for_the_duration():
    """A duration is turned into ticks; the exit is 'completed'."""
    controller = Counter()
    loop = make_loop(controller)
    outcome = loop.run(duration=0.25)
    assert (outcome.exit, outcome.ticks, controller.ticks) == ('completed', 25, 25)
    assert not outcome.interrupted
    assert loop.hardware.calls == ['open', 'close']
    np.testing.assert_array_equal(loop.hardware.written[-1]['u'], [25.0, 25.0])


def test_finishes_when_every_controller_has_no_more_to_do():
    """With active control only, the tick in which all return False is written and the last."""
    short, long = Counter(3), Counter(7)
    loop = make_loop(short, long)
    outcome = loop.run()
    assert (outcome.exit, outcome.ticks) == ('finished', 7)
    assert short.ticks == 7, 'a controller that returned False is still called'
    assert len(loop.hardware.written) == 7


def test_false_is_ignored_without_active_control_only():
    """control() may return False for ever where the run does not depend on it."""
    controller = Counter(1)
    outcome = make_loop(controller, active_control_only=False).run(duration=0.1)
    assert (outcome.exit, controller.ticks) == ('completed', 10)


def test_ends_with_the_hardware():
    """A robot that has no next state completes the run."""
    outcome = make_loop(Counter(), states=5).run()
    assert (outcome.exit, outcome.ticks) == ('completed', 5)


def test_failing_controller_is_named_and_stopped():
    """An exception in control() fails the run, names controller, phase and tick, and stops."""

    class Failing(Counter):
        def control(self) -> bool:
            if self.ticks == 4:
                raise ValueError('lost my way')
            return super().control()

    good, bad = Counter(), Failing()
    loop = make_loop(good, bad)
    outcome = loop.run(duration=1.0)
    assert outcome.exit == 'failed'
    assert outcome.reason.startswith(
        "controller 'b', control() at tick 4: raised ValueError: lost my way (test_loop.py:"
    )
    assert good.calls == bad.calls == ['stop']
    assert loop.hardware.calls == ['open', 'close']
    assert len(loop.hardware.written) == 5, 'the tick in which it fails has the safe command'


def test_result_that_is_no_bool_fails_the_run():
    """A forgotten return statement is not taken for an answer."""

    class Forgetful(Counter):
        def control(self):
            super().control()

    outcome = make_loop(Forgetful()).run()
    assert outcome.exit == 'failed'
    assert 'returned None; it must return True or False' in outcome.reason
    assert outcome.ticks == 1, 'that tick has the safe command'


def test_numpy_bools_are_bools():
    """A comparison of array elements is a good result."""

    class Numpy(Counter):
        def control(self):
            super().control()
            return np.float64(self.ticks) < 3

    assert make_loop(Numpy()).run().ticks == 3


def test_fails_when_no_controller_is_left():
    """A run without a controller does not begin, and says why."""

    class Refusing(Counter):
        def initialize(self, io) -> bool:
            return False

    outcome = make_loop(Refusing()).run()
    assert outcome.exit == 'failed'
    assert outcome.reason == (
        "no controller is left to run: controller 'a', initialize(): returned False"
    )


def test_stops_on_request():
    """A request from within or outside ends the run after the tick, as completed."""

    class Stopping(Counter):
        def control(self) -> bool:
            if self.ticks == 8:
                loop.request_stop()
            return super().control()

    loop = make_loop(Stopping())
    outcome = loop.run()
    assert (outcome.exit, outcome.ticks, outcome.interrupted) == ('completed', 9, True)


def test_a_stop_wakes_a_robot_that_waits_for_a_state():
    """A run is ended though no state comes any more."""

    class Waiting(FakeHardware):
        def __init__(self) -> None:
            super().__init__(two_joint_body())
            self.reading = threading.Event()
            self.halted = threading.Event()

        def read(self) -> bool:
            if self.tick == 3:
                self.reading.set()
                return self.halted.wait(30.0) and False
            return super().read()

        def halt(self) -> None:
            self.halted.set()

    hardware = Waiting()
    loop = make_loop(Counter(), hardware=hardware)
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(loop.run()), daemon=True)
    thread.start()
    assert hardware.reading.wait(10.0)
    loop.request_stop()
    assert hardware.halted.is_set(), 'who waits for a state is woken'
    thread.join(10.0)
    assert [(one.exit, one.ticks, one.interrupted) for one in outcomes] == [('completed', 3, True)]


def test_pause_halts_and_resume_goes_on():
    """Controllers hear of the pause when the loop has halted, and of its end."""
    reached = threading.Event()

    class Pausing(Counter):
        def control(self) -> bool:
            if self.ticks == 3:
                loop.pause()
            return super().control()

        def pause(self) -> None:
            super().pause()
            reached.set()

    controller = Pausing()
    loop = make_loop(controller)
    thread = threading.Thread(target=loop.run, args=(0.1,))
    thread.start()
    assert reached.wait(5.0)
    assert controller.ticks == 4
    loop.resume()
    thread.join(5.0)
    assert controller.ticks == 10
    assert controller.calls == ['pause', 'resume', 'stop']


def test_stop_ends_a_pause():
    """A paused run can be stopped; it is not resumed first."""
    controller = Counter()
    loop = make_loop(controller)
    loop.pause()
    note = controller.pause

    def stopped_then():
        note()
        threading.Timer(0.01, loop.request_stop).start()

    controller.pause = stopped_then
    assert loop.run().ticks == 0
    assert controller.calls == ['pause', 'stop']


def test_the_limiter_works_on_the_commands():
    """What the controllers command goes through the limits before it is written."""
    loop = make_loop(Counter(), limits=LimitsParameters(max_effort=3.0))
    loop.run(duration=0.05)
    assert [written['u'][0] for written in loop.hardware.written] == [1, 2, 3, 3, 3]


def test_implausible_commands_end_the_run():
    """Commands that are not finite are never written, and fail the run."""

    class Broken(Counter):
        def control(self) -> bool:
            super().control()
            self.io.body.u[:] = np.nan
            return True

    loop = make_loop(Broken())
    outcome = loop.run()
    assert outcome.exit == 'failed'
    assert outcome.reason.startswith(
        "controller 'a', control() at tick 0: implausible command (not finite, or far beyond its "
        "limit), 3 ticks in a row: effort nan of joint 'joint0', whose limits are "
    )
    assert all(np.isfinite(written['u']).all() for written in loop.hardware.written)


@pytest.mark.parametrize(('ticks', 'sizes'), [(3, [3]), (256, [256]), (300, [256, 44])])
def test_tape_has_a_row_for_each_tick(ticks, sizes):
    """Every tick is on the trace: full blocks and the last, shorter one."""
    loop = make_loop(Counter(ticks))
    loop.trace = TickTrace(loop.hardware.body, detailed=True)
    blocks: list[np.ndarray] = []
    loop.trace.listeners.append(blocks.append)
    loop.run()
    assert [len(block) for block in blocks] == sizes
    rows = np.concatenate(blocks)
    columns = loop.trace.columns
    assert len(rows) == ticks
    np.testing.assert_allclose(rows[:, columns['time']].ravel(), np.arange(ticks) * 0.01)
    np.testing.assert_array_equal(rows[:, columns['q']][:, 0], np.arange(ticks))
    np.testing.assert_array_equal(rows[:, columns['u']][:, 0], 1 + np.arange(ticks))


def test_close_is_reached_whatever_fails():
    """A controller that fails in stop keeps nobody from being stopped."""

    class Failing(Counter):
        def stop(self) -> None:
            raise RuntimeError('no')

    bad, good = Failing(), Counter()
    loop = make_loop(bad, good)
    outcome = loop.run(duration=0.02)
    assert outcome.exit == 'completed'
    assert good.calls == ['stop']
    assert loop.hardware.calls == ['open', 'close']
    (error,) = loop.host.errors
    assert str(error).startswith("controller 'a', stop(): raised RuntimeError: no (test_loop.py:")


class Interrupting(LoopThread):
    """Is interrupted while it is waited for, as by Ctrl-C."""

    def join(self, timeout=None):
        """Wait for a few ticks, then be interrupted."""
        deadline = time.monotonic() + 20.0
        while self._loop.tick < 3 and time.monotonic() < deadline:
            time.sleep(0.001)
        raise KeyboardInterrupt


def test_an_interrupt_ends_the_run(monkeypatch):
    """The controllers are stopped, the robot is closed, and nobody watches any more."""
    monkeypatch.setattr(loop_module, 'LoopThread', Interrupting)
    loop = fake_loop(Scripted())
    with pytest.raises(KeyboardInterrupt):
        loop.run()
    assert loop._stop_requested
    deadline = time.monotonic() + 20.0
    while 'close' not in loop.hardware.calls and time.monotonic() < deadline:
        time.sleep(0.001)
    assert loop.hardware.calls[-1] == 'close'
    assert loop.monitor._thread is None


def test_nobody_watches_after_a_run():
    """The monitor's thread has ended."""
    loop = fake_loop(Scripted())
    loop.run(0.05)
    assert loop.monitor._thread is None
    assert not any(one.name == 'hang monitor' for one in threading.enumerate())


@pytest.mark.parametrize(('slow', 'overruns'), [(-1, 0), (2, 1)])
def test_overruns_are_counted(slow, overruns):
    """A tick that ends late is one, and the next ones are not chased."""

    def linger(controller):
        time.sleep(0.3)
        return True

    patient = WatchdogParameters(control_timeout=10.0)
    loop = fake_loop(Scripted(slow, linger), time_step=0.1, watchdog=patient)
    assert loop.run(0.4, real_time=True).overruns == overruns


def test_a_restart_takes_the_modes_of_the_new_controllers():
    """The robot's joints are commanded by what they say."""
    loop = fake_loop(Scripted())
    loop.open()
    managed = ManagedController('new', ByPosition())
    host = ControllerHost([managed], loop.hardware.body, 0.01, io.StringIO())
    host.configure()
    host.initialize(standby=True)
    host.start()
    modes = lambda: {joint.actuation_mode for joint in loop.hardware.body.joints}  # noqa: E731
    assert modes() == {StateFlag.JOINT_EFFORT}
    loop.restart(host)
    assert modes() == {StateFlag.JOINT_DISPLACEMENT}


class ByPosition(Scripted):
    """Commands positions."""

    def initialize(self, io):
        """Command positions."""
        super().initialize(io)
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_DISPLACEMENT
        return True


@pytest.mark.parametrize(
    ('feeds', 'simulated', 'waits', 'watched'),
    [
        (True, True, True, True),
        (True, True, False, True),
        (True, False, False, True),
        (True, False, True, False),
        (False, True, True, False),
        (False, False, False, False),
    ],
)
def test_devices_are_watched_where_they_can_fail_to_arrive(feeds, simulated, waits, watched):
    """Not where nothing arrives, nor where they are waited for."""
    loop = fake_loop(Scripted())
    loop.open()
    hardware = loop.hardware
    hardware.feeds_watchdog, hardware.is_simulated = feeds, simulated
    hardware.waits_for_commands = waits
    loop.host.request = lambda: IORequest(devices={'imu'})
    loop.watch_devices_of(loop.host)
    assert ('device_timeout:imu' in loop.watchdog._ages) == watched


def test_implausible_commands_are_replaced_by_limited_ones():
    """What holds the robot in their place is limited as every command is."""
    loop = fake_loop(Scripted(1, lambda one: one.body.u.fill(math.nan) or True), on_fault='hold')
    loop.open()
    applied = []
    apply = loop.limiter.apply
    loop.limiter.apply = lambda dt: applied.append(dt) or (apply(dt) and len(applied) > 1)
    loop.step()
    assert applied == [0.01, 0.01]
    assert loop.safe_state.is_engaged


@pytest.mark.parametrize(('on_fault', 'ended'), [('fail', True), ('hold', False)])
def test_a_run_in_the_safe_state_has_ended_only_where_a_fault_ends_it(on_fault, ended):
    """One that holds the robot goes on, and one that is well has not ended."""
    loop = fake_loop(Scripted(), on_fault=on_fault)
    loop.open()
    loop.step()
    assert not loop.has_ended
    loop.safe_state.enter('test')
    assert loop.has_ended == ended


def test_a_restart_arms_the_watchdog_again():
    """For the new controllers; what was found before is forgotten."""
    loop = fake_loop(Scripted(), on_fault='hold')
    loop.open()
    loop.watchdog.trip('x', 'safe', 'found')
    armed = []
    loop.start_watchdog = lambda: armed.append(loop.host)
    host = ControllerHost(
        [ManagedController('new', Scripted())], loop.hardware.body, 0.01, io.StringIO()
    )
    host.configure()
    host.initialize(standby=True)
    host.start()
    loop.restart(host)
    assert armed == [host]


class Seized(LoopThread):
    """Is interrupted, and the robot has to be taken from it."""

    def join(self, timeout=None):
        """Be interrupted."""
        deadline = time.monotonic() + 20.0
        while self._loop.tick < 2 and time.monotonic() < deadline:
            time.sleep(0.001)
        raise KeyboardInterrupt

    def stop(self, timeout=0.05):
        """Do not wait for long."""
        return super().stop(timeout)


def test_whoever_takes_the_robot_at_the_end_leaves_it(monkeypatch):
    """A controller hangs while the run is interrupted: the robot is closed all the same."""
    release = threading.Event()
    monkeypatch.setattr(loop_module, 'LoopThread', Seized)
    loop = fake_loop(Scripted(3, lambda one: release.wait() or True))
    with pytest.raises(KeyboardInterrupt):
        loop.run()
    assert loop.hardware.calls[-1] == 'close'
    release.set()


def test_a_restart_makes_robot_and_limits_ready_for_the_new_controllers():
    """Their channels are opened, and limits go on from the measured state."""
    loop = fake_loop(Scripted(), on_fault='hold')
    loop.open()
    loop.step()
    managed = ManagedController('new', ByPosition())
    host = ControllerHost([managed], loop.hardware.body, 0.01, io.StringIO())
    host.configure()
    host.initialize(standby=True)
    host.start()
    restarts = []
    loop.limiter.restart = lambda: restarts.append(loop.host)
    loop.failure, loop.finished = CnoidControlError('x'), True
    loop.restart(host)
    assert loop.hardware.request == host.request()
    assert loop.hardware.calls.count('open') == 2
    assert restarts == [host]
    assert loop.failure is None
    assert not loop.finished


def test_devices_are_watched_from_the_first_tick_on():
    """Those that the controllers read."""
    loop = fake_loop(Scripted())
    loop.hardware.feeds_watchdog = True
    request = loop.host.request
    loop.host.request = lambda: dataclasses.replace(request(), devices={'imu'})
    loop.open()
    assert 'device_timeout:imu' in loop.watchdog._ages


def test_a_hand_over_makes_the_robot_ready_and_is_watched_on():
    """A swap in progress is aborted for others; ages and findings go on as they are."""
    loop = fake_loop(Scripted(), on_fault='hold')
    loop.hardware.feeds_watchdog = True
    loop.open()
    loop.step()
    transition = HotSwap(loop).begin([ManagedController('other', Scripted())])
    loop.safe_state.enter('test')
    loop.failure = CnoidControlError('x')
    host = ControllerHost(
        [ManagedController('new', ByPosition())], loop.hardware.body, 0.01, io.StringIO()
    )
    host.configure()
    host.initialize(standby=True)
    host.start()
    request = dataclasses.replace(host.request(), devices={'imu'})
    host.request = lambda: request
    restarts, armed = [], []
    loop.limiter.restart = lambda: restarts.append(loop.host)
    loop.start_watchdog = lambda: armed.append(loop.host)
    loop.hand_over(host)
    assert transition.is_replaced
    assert loop.transition is None
    assert loop.hardware.request is request
    modes = {joint.actuation_mode for joint in loop.hardware.body.joints}
    assert modes == {StateFlag.JOINT_DISPLACEMENT}
    assert (restarts, armed) == ([host], [])
    assert 'device_timeout:imu' in loop.watchdog._ages
    assert loop.failure is None
    assert not loop.safe_state.is_engaged
    transition.clean_up.join(10.0)
