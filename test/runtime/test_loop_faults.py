"""What goes wrong in the loop engages the safe state, and every tick has a command."""

from __future__ import annotations

import io
import math
import threading
import time

import numpy as np
import pytest
from fake_hardware import Scripted, fake_loop

from cnoid_control import SimpleController, StateFlag
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.exceptions import InSafeState
from cnoid_control.runtime.hot_swap import HotSwap, SwapState
from cnoid_control.runtime.loop import ControlLoop
from cnoid_control.runtime.loop_thread import LoopThread
from cnoid_control.runtime.managed_controller import ManagedController
from cnoid_control.runtime.safety.hang_monitor import Abandoned, begin_call
from cnoid_control.runtime.safety.limits import CommandLimiter, LimitsParameters
from cnoid_control.runtime.safety.safe_state import SafeStateParameters
from cnoid_control.runtime.safety.watchdog import WatchdogParameters


def make_loop(controller: SimpleController, **watchdog) -> ControlLoop:
    """Loop on a fake robot, opened; it holds on a fault, and effort is zero in the safe state."""
    loop = fake_loop(
        controller,
        time_step=0.002,
        on_fault='hold',
        watchdog=WatchdogParameters(grace=0.0, **watchdog),
        safe_state=SafeStateParameters(effort='zero'),
    )
    loop.open()
    return loop


def commands(loop: ControlLoop) -> list[float]:
    """Efforts of the first joint so far."""
    return [written['u'][0] for written in loop.hardware.written]


def broken(controller: Scripted) -> bool:
    """Raise."""
    raise RuntimeError('broken')


def no_number(controller: Scripted) -> bool:
    """Command NaN from now on."""
    controller.tick += 1
    controller.body.u[:] = math.nan
    return True


def test_a_controller_that_raises_is_stopped_in_that_tick() -> None:
    """The tick in which it raises has the safe command, and so have all later ones."""
    loop = make_loop(Scripted(3, broken))
    for _ in range(6):
        assert loop.step()
    assert commands(loop) == [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert 'broken' in loop.safe_state.reason


def test_no_number_is_ever_sent() -> None:
    """NaN is replaced, and ends in the safe state after the set number of ticks."""
    loop = make_loop(Scripted(3, no_number))
    for _ in range(8):
        loop.step()
    assert commands(loop) == [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert 'implausible' in loop.safe_state.reason


def test_the_tick_in_which_a_controller_is_stopped_is_held() -> None:
    """It has the safe command already, not only none of the controller's."""
    holding = SafeStateParameters(effort='hold', kp=100.0, kd=2.0)
    loop = fake_loop(Scripted(3, no_number), on_fault='hold', safe_state=holding)
    loop.open()
    for _ in range(5):
        loop.step()
    assert loop.safe_state.is_engaged
    assert commands(loop)[-1] == pytest.approx(-2.0 * loop.hardware.body.dq[0])
    assert loop.hardware.body.dq[0] == -4.0


def test_a_trip_of_the_watchdog_enters_the_safe_state() -> None:
    """The tick after something is found has the safe command; a warning changes nothing."""
    loop = make_loop(Scripted())
    loop.step()
    loop.watchdog.trip('a', 'warn', 'a warning')
    loop.step()
    loop.watchdog.trip('b', 'safe', 'a reason')
    loop.step()
    assert commands(loop) == [1.0, 1.0, 0.0]
    assert loop.safe_state.reason == 'a reason'


def test_the_end_of_the_controllers_is_safe_too() -> None:
    """Controllers that have no more to do leave the robot to the safe state."""
    loop = make_loop(Scripted(2, lambda controller: False))
    for _ in range(3):
        loop.step()
    assert commands(loop) == [1.0, 0.0, 0.0]
    assert loop.finished


def test_controllers_are_not_called_on_old_states() -> None:
    """Where the robot has only given up waiting for a state, the last command is sent again."""
    controller = Scripted()
    loop = make_loop(controller)
    loop.step()
    loop.hardware.is_due = False
    loop.step()
    assert controller.ticks == 1
    assert commands(loop) == [1.0, 1.0]
    loop.hardware.is_due = True
    loop.step()
    assert controller.ticks == 2


class Run:
    """A loop that is run in a thread of its own."""

    def __init__(self, loop: ControlLoop) -> None:
        """Start it."""
        self.loop = loop
        self.ends = threading.Event()
        self.thread = LoopThread(loop, self._take_ticks)
        self.thread.start(paced=True)

    def _take_ticks(self) -> None:
        while not self.ends.is_set():
            self.loop.step()
            time.sleep(0.001)

    def wait_for_ticks(self, count: int) -> None:
        """Wait for so many more ticks."""
        goal = self.loop.tick + count
        wait_for(lambda: self.loop.tick >= goal)

    def end(self) -> bool:
        """End it; whether the robot had to be taken from the thread."""
        self.ends.set()
        return self.thread.stop()


def wait_for(condition) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + 20.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


class Notes(Scripted):
    """Notes the threads and the end of its life."""

    def __init__(self, tick: int = -1, act=None) -> None:
        super().__init__(tick, act)
        self.stopped = threading.Event()
        self.busy = False
        self.stopped_while_busy = False

    def control(self) -> bool:
        """Command 1, or act."""
        self.busy = True
        try:
            return super().control()
        finally:
            self.busy = False

    def stop(self) -> None:
        """Note it."""
        self.stopped_while_busy = self.busy
        self.stopped.set()


def test_a_controller_that_waits_for_ever_is_left_behind() -> None:
    """Another thread sends the safe command; what comes when it returns goes nowhere."""
    release = threading.Event()
    controller = Notes(3, lambda one: release.wait() or one.body.u.fill(9.0) or True)
    loop = make_loop(controller, control_timeout=0.02)
    run = Run(loop)
    wait_for(lambda: loop.safe_state.is_engaged)
    run.wait_for_ticks(20)
    assert 'control() exceeded its 20 ms time limit' in loop.safe_state.reason
    assert not controller.stopped.is_set()
    release.set()
    assert controller.stopped.wait(20.0), 'its own thread stops it when it returns at last'
    run.wait_for_ticks(20)
    assert not run.end()
    loop.close()
    assert not controller.stopped_while_busy
    values = commands(loop)
    assert values[:2] == [1.0, 1.0]
    assert set(values[2:]) == {0.0}
    assert 'restart the process' in loop.host.os.getvalue()


def test_an_endless_loop_is_left_behind_too() -> None:
    """A controller that loops in Python does not keep the robot."""
    ends = threading.Event()

    def loop_for_ever(controller: Scripted) -> bool:
        while not ends.is_set():
            controller.body.u[:] = 5.0
        return True

    loop = make_loop(Scripted(3, loop_for_ever), control_timeout=0.02)
    run = Run(loop)
    wait_for(lambda: loop.safe_state.is_engaged)
    run.wait_for_ticks(5)
    ends.set()
    run.end()
    assert 'time limit' in str(loop.failure)
    assert set(commands(loop)[2:]) == {0.0}


def test_messages_that_fail_do_not_keep_the_robot_from_its_command() -> None:
    """A take-over goes on whatever is raised by those who are told of it."""
    release = threading.Event()
    loop = make_loop(Scripted(3, lambda controller: release.wait() or True), control_timeout=0.02)

    def fail(*values) -> None:
        raise ValueError('the log is gone')

    loop.safe_state._report = loop.watchdog._report = fail
    loop.host.os = None
    run = Run(loop)
    wait_for(lambda: loop.safe_state.is_engaged)
    run.wait_for_ticks(5)
    release.set()
    run.end()
    assert set(commands(loop)[2:]) == {0.0}


@pytest.mark.parametrize('action', ['warn', 'ignore'])
def test_hangs_may_be_reported_only(action: str) -> None:
    """With a warning, or without a watch, a slow controller keeps the robot."""
    loop = make_loop(
        Scripted(3, lambda controller: time.sleep(0.1) or True),
        control_timeout=0.01,
        control_action=action,
    )
    run = Run(loop)
    run.wait_for_ticks(10)
    assert not run.end()
    assert not loop.safe_state.is_engaged
    assert np.all(np.array(commands(loop)) == 1.0)
    found = ['control_timeout'] * (action == 'warn')
    assert [trip.watch for trip in loop.watchdog.trips if trip.watch != 'late_ticks'] == found


def test_whoever_ends_the_run_takes_the_robot_from_a_controller_that_hangs() -> None:
    """Also where hangs are not watched: nothing else touches the robot afterwards."""
    release = threading.Event()
    controller = Notes(3, lambda one: release.wait() or True)
    loop = make_loop(controller, control_action='ignore')
    run = Run(loop)
    wait_for(lambda: controller.ticks == 3)
    run.ends.set()
    assert run.thread.stop(timeout=0.05)
    loop.close()
    assert not controller.stopped.is_set(), 'it is not stopped while it computes'
    ticks = loop.tick
    release.set()
    assert controller.stopped.wait(20.0)
    assert not controller.stopped_while_busy
    assert loop.tick == ticks


class Mover(SimpleController):
    """Commands positions far away."""

    def initialize(self, io) -> bool:
        """Command positions."""
        self.body = io.body
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_DISPLACEMENT
            io.enable_io(joint)
        return True

    def control(self) -> bool:
        """Command more than can be reached."""
        self.body.q_target[:] = 2.0
        return True


@pytest.mark.parametrize(('dt', 'step'), [(0.0002, 0.0002), (0.002, 0.002), (0.1, 0.002)])
def test_states_that_come_too_fast_do_not_make_the_robot_faster(dt: float, step: float) -> None:
    """A step of the commanded position is what the joint's speed allows since the last state."""
    loop = make_loop(Mover(), state_action='ignore')
    loop.limiter.limits.dq_upper[:] = 3.0
    loop.limiter.restart()
    loop.hardware.dt = dt
    for _ in range(5):
        loop.step()
    targets = np.array([written['q_target'][0] for written in loop.hardware.written])
    assert np.diff(targets)[1:] == pytest.approx(3.0 * step)


def test_an_emergency_stop_gets_past_a_controller_that_hangs() -> None:
    """While another thread takes the ticks with a hold, it takes the stop over too."""
    release = threading.Event()
    loop = make_loop(Scripted(3, lambda controller: release.wait() or True), control_timeout=0.02)
    run = Run(loop)
    wait_for(lambda: loop.safe_state.is_engaged)
    assert not loop.safe_state.is_estop
    loop.request_safe_state('the button', estop=True)
    wait_for(lambda: loop.safe_state.is_estop)
    assert loop.safe_state.reason == 'the button'
    run.end()
    release.set()


def test_what_controllers_do_between_ticks_is_watched_too() -> None:
    """A method that does not return between two ticks costs its controllers the robot."""
    release = threading.Event()
    controller = Notes()
    loop = make_loop(controller, control_timeout=0.02)
    ends = threading.Event()
    asked = iter([True])

    def take_ticks() -> None:
        while not ends.is_set():
            if loop.tick > 2 and next(asked, False):
                loop.watched(release.wait, 'update_parameters')
                pytest.fail('it has lost the robot')
            loop.step()
            time.sleep(0.001)

    thread = LoopThread(loop, take_ticks)
    thread.start(paced=True)
    wait_for(lambda: loop.safe_state.is_engaged)
    before = loop.tick
    wait_for(lambda: loop.tick > before + 5)
    assert 'update_parameters() exceeded' in loop.safe_state.reason
    release.set()
    assert controller.stopped.wait(20.0)
    ends.set()
    thread.stop()
    assert thread.error is None
    assert set(commands(loop)[3:]) == {0.0}


def test_two_findings_in_one_tick_both_count() -> None:
    """That nobody takes the commands is seen beside a stop of the same tick."""
    loop = make_loop(Scripted())
    loop.step()
    loop.request_safe_state('stopped')
    loop.watchdog.command_controller_lost('legs')
    loop.hardware.body.q[:] = 0.5
    loop.step()
    assert loop.safe_state.reason == 'stopped'
    loop.hardware.body.q[:] = 0.7
    loop.step()
    np.testing.assert_allclose(loop.hardware.body.q_target, loop.hardware.body.q)


@pytest.mark.parametrize('bad', [1e6, math.nan])
def test_what_cannot_be_meant_is_not_mixed_in(bad: float) -> None:
    """While a controller takes over again, it does not get its way little by little."""
    controller = Scripted()
    loop = make_loop(controller)
    body, dt = loop.hardware.body, loop.hardware.time_step
    loop.limiter = CommandLimiter(body, LimitsParameters(max_effort=100.0), dt)
    for _ in range(2):
        loop.step()
    loop.safe_state.enter('because')
    loop.step()
    loop.safe_state.reset()
    assert loop.safe_state.is_handing_over
    controller.tick = controller.ticks + 1

    def act(controller: Scripted) -> bool:
        controller.body.u[:] = bad
        return True

    controller.act = act
    loop.step()
    assert 'implausible' in loop.safe_state.reason
    assert commands(loop)[-1] == 0.0


class Placed(Scripted):
    """Commands positions."""

    def initialize(self, io) -> bool:
        """Command positions."""
        super().initialize(io)
        for joint in self.body.joints:
            joint.actuation_mode = StateFlag.JOINT_DISPLACEMENT
        return True

    def control(self) -> bool:
        """Stay."""
        self.body.q_target[:] = self.body.q
        return True


def start_beside(loop: ControlLoop, controller: SimpleController) -> ControllerHost:
    """Controllers that are started and have never had the robot."""
    body, dt = loop.hardware.body, loop.hardware.time_step
    host = ControllerHost([ManagedController('two', controller)], body, dt, io.StringIO())
    host.configure()
    host.initialize(standby=True)
    host.start()
    return host


def test_a_swap_that_comes_too_late_does_not_take_place() -> None:
    """Once the robot is held nothing takes over; the takers of its commands are as before."""
    loop = make_loop(Scripted(), state_action='ignore')
    loop.step()
    loop.request_safe_state('the button')
    transition = HotSwap(loop).begin([ManagedController('two', Placed())])
    loop.step()
    assert isinstance(transition.error, InSafeState)
    assert 'the button' in str(transition.error)
    assert transition.winner is transition.old
    assert loop.transition is None
    transition.clean_up.join(10.0)


def test_a_restart_in_the_middle_of_a_swap_gets_what_it_needs() -> None:
    """The robot is made ready for the controllers that are started, not for those before."""
    loop = make_loop(Scripted(), state_action='ignore')
    loop.step()
    driving = []
    swap = HotSwap(loop, 1.0, on_hosts_changed=lambda *hosts: driving.append(hosts))
    transition = swap.begin([ManagedController('two', Placed())])
    for _ in range(3):
        loop.step()
    assert transition.state is SwapState.BLENDING
    loop.request_safe_state('the button')
    loop.step()
    new = start_beside(loop, Placed())
    loop.restart(new)
    loop.step()
    assert loop.host is new
    assert loop.transition is None
    assert set(loop.hardware.request.outputs.values()) == {StateFlag.JOINT_DISPLACEMENT}
    modes = {joint.actuation_mode for joint in loop.hardware.body.joints}
    assert modes == {StateFlag.JOINT_DISPLACEMENT}
    transition.clean_up.join(10.0)
    # Nobody is told that the old ones have the robot again.
    assert driving == [(transition.old, transition.new)]


def test_a_hold_that_wants_more_than_the_limits_gets_what_they_allow() -> None:
    """It is clamped, and not taken for a command that cannot be meant."""
    loop = make_loop(Scripted(), state_action='ignore')
    loop.safe_state.parameters.effort = 'hold'
    loop.limiter.limits.u_lower[:], loop.limiter.limits.u_upper[:] = -5.0, 5.0
    loop.limiter.restart()
    loop.step()
    loop.request_safe_state('the button')
    # The robot runs away: it moves by a radian in each tick.
    for _ in range(10):
        loop.step()
    assert loop.limiter.bad_commands == 0
    assert commands(loop)[-1] == -5.0


def test_who_was_left_behind_is_unconfigured_too() -> None:
    """In its own thread, after its stop."""
    release, ended = threading.Event(), threading.Event()
    controller = Notes(3, lambda one: release.wait() or True)
    controller.unconfigure = ended.set
    loop = make_loop(controller, control_timeout=0.02)
    run = Run(loop)
    wait_for(lambda: loop.safe_state.is_engaged)
    assert not ended.is_set()
    release.set()
    assert ended.wait(20.0)
    run.end()
    loop.close()


@pytest.mark.parametrize(
    ('waits', 'paced', 'limit'), [(True, False, 10.0), (True, True, 0.02), (False, False, 0.02)]
)
def test_the_time_limit_is_long_only_where_time_stands_still(waits, paced, limit) -> None:
    """Neither in real time nor on a robot that goes on meanwhile."""
    loop = make_loop(Scripted())
    loop.watchdog.parameters.control_timeout = 0.0
    loop.hardware.waits_for_commands = waits
    thread = LoopThread(loop, lambda: None)
    thread.start(paced=paced)
    thread.join(20.0)
    loop.monitor.stop()
    assert loop.monitor.limit == limit
    loop.close()


def test_late_ticks_of_a_run_in_real_time_are_told() -> None:
    """The watchdog counts them."""

    def linger(controller: Scripted) -> bool:
        time.sleep(0.005)
        return True

    loop = fake_loop(Scripted(2, linger), states=4, time_step=0.001)
    told = []
    loop.watchdog.tick_took = lambda duration, period: told.append((duration, period))
    loop.run(duration=0.003, real_time=True)
    assert [period for _, period in told] == [0.001] * len(told)
    assert len(told) >= 2
    assert told[1][0] > 0.005


def test_a_take_over_is_a_trip_of_the_watchdog_and_told_to_whoever_waits() -> None:
    """Once per hang, with the time that it took; the tick is finished in the monitor's thread."""
    release = threading.Event()
    loop = make_loop(Scripted(3, lambda one: release.wait() or True), control_timeout=0.02)
    told: list = []
    ends = threading.Event()

    def take_ticks() -> None:
        while not ends.is_set():
            loop.step()
            time.sleep(0.001)

    thread = LoopThread(loop, take_ticks, told.append)
    thread.start(paced=True)
    wait_for(lambda: told)
    assert 'exceeded its 20 ms time limit' in str(told[0])
    assert loop.monitor.hangs == 1
    assert [trip.action for trip in loop.watchdog.trips if trip.watch == 'control_timeout'] == [
        'safe'
    ]
    release.set()
    ends.set()
    thread.stop()
    loop.close()


def test_the_tick_of_a_take_over_is_finished_at_once() -> None:
    """By whoever takes the robot over, before another thread is there."""
    loop = make_loop(Scripted())
    loop.step()
    loop.hardware.read()
    call = begin_call(loop.host, 'control', True)
    loop.take_over(call, 0.5)
    assert loop.tick == 2
    assert len(loop.hardware.written) == 2
    assert commands(loop)[-1] == 0.0
    loop.close()


def test_the_time_of_a_call_that_is_taken_at_the_end_is_told() -> None:
    """It began less than a minute ago."""
    release = threading.Event()
    loop = make_loop(Scripted(2, lambda one: release.wait() or True), control_timeout=10.0)
    controller = loop.host.controllers[0].controller
    run = Run(loop)
    wait_for(lambda: controller.ticks == 2)
    run.ends.set()
    assert run.thread.stop(0.05)
    seconds = float(str(loop.failure).rsplit('(', 1)[1].split(' ms')[0]) / 1e3
    assert 0.0 < seconds < 60.0
    release.set()
    loop.close()


def test_who_ends_well_is_not_waited_for_any_longer() -> None:
    """The end of the thread is the end of the wait; nothing is taken, nor watched any more."""
    loop = make_loop(Scripted())
    run = Run(loop)
    wait_for(lambda: loop.tick >= 3)
    assert loop.monitor._thread is not None
    assert not run.end()
    assert not run.thread.is_running
    assert loop.monitor._thread is None
    assert loop.failure is None
    loop.close()


def test_who_hangs_in_no_controller_is_not_waited_for_for_ever() -> None:
    """Nobody can take the robot from a driver that does not return: the wait ends all the same."""
    release = threading.Event()
    loop = make_loop(Scripted())
    thread = LoopThread(loop, release.wait)
    thread.start(paced=True)
    assert not thread.stop(timeout=0.02)
    assert thread.is_running
    release.set()
    assert thread.join(20.0)
    loop.close()


def test_the_reason_is_in_the_message() -> None:
    """Whoever asks something of a robot that is held is told why it is."""
    assert str(InSafeState('the button')) == 'the robot is in the safe state: the button'
    assert 'taken over during control()' in str(Abandoned(begin_call(None, 'control', True)))
