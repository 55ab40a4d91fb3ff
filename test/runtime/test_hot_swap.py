"""Hot swap: take-over without a bump, and no harm from controllers that fail."""

from __future__ import annotations

import math
import threading
import time

import numpy as np
import pytest
from fake_hardware import fake_loop

from cnoid_control import SimpleController, StateFlag
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.exceptions import SwapFailed, SwapInProgress
from cnoid_control.runtime.hot_swap import ENDED, HotSwap, SwapState, Transition, _covers, _join
from cnoid_control.runtime.managed_controller import ManagedController
from cnoid_control.runtime.safety.limits import CommandLimiter, LimitsParameters
from cnoid_control.runtime.safety.safe_state import SafeStateParameters
from cnoid_control.runtime.safety.watchdog import WatchdogParameters

DURATION = 0.1
TICKS = 10


class Constant(SimpleController):
    """Commands the same value in every tick, and notes its calls; fails where it is told to."""

    def __init__(
        self,
        value: float,
        mode: StateFlag = StateFlag.JOINT_TORQUE,
        fail: str = '',
        how: str = 'raise',
        joints: int = 2,
    ) -> None:
        self.value, self.mode, self.fail, self.how = value, mode, fail, how
        self.num_joints = joints
        self.calls: list[str] = []
        self.threads: set[str] = set()
        self.ticks = 0

    def _phase(self, name: str) -> bool:
        self.calls.append(name)
        self.threads.add(threading.current_thread().name)
        if self.fail == name:
            if self.how == 'raise':
                raise RuntimeError(f'broken {name}')
            return self.how != 'refuse'
        return True

    def configure(self, config) -> bool:
        """Note it."""
        return self._phase('configure')

    def initialize(self, io) -> bool:
        """Command all joints."""
        self.body = io.body
        for joint in self.body.joints[: self.num_joints]:
            joint.actuation_mode = self.mode
            io.enable_io(joint)
        return self._phase('initialize')

    def start(self) -> bool:
        """Note it."""
        return self._phase('start')

    def control(self) -> bool:
        """Command the value."""
        self.ticks += 1
        array = {
            StateFlag.JOINT_TORQUE: self.body.u,
            StateFlag.JOINT_DISPLACEMENT: self.body.q_target,
            StateFlag.JOINT_VELOCITY: self.body.dq_target,
        }[self.mode]
        array[:] = self.value
        if self.fail == f'tick {self.ticks}':
            if self.how == 'nan':
                array[:] = math.nan
            else:
                raise RuntimeError('broken tick')
        return True

    def stop(self) -> None:
        """Note it."""
        self._phase('stop')

    def unconfigure(self) -> None:
        """Note it."""
        self._phase('unconfigure')


class Rig:
    """Loop on a fake robot with one controller, stepped by hand."""

    def __init__(self, controller: SimpleController) -> None:
        # A busy machine is no fault here.
        self.loop = fake_loop(controller, watchdog=WatchdogParameters(control_timeout=10.0))
        self.hardware = self.loop.hardware
        self.swap = HotSwap(self.loop, DURATION, SafeStateParameters(kp=10.0, kd=1.0))
        self.loop.open()

    def steps(self, count: int, channel: str = 'u') -> list[float]:
        """Commands of the first joint in so many ticks."""
        for _ in range(count):
            assert self.loop.step()
        return [written[channel][0] for written in self.hardware.written[-count:]]

    def begin(self, controller: SimpleController):
        """Begin a swap to a controller."""
        return self.swap.begin([ManagedController('new', controller)])


def test_commands_move_from_the_old_to_the_new() -> None:
    """Same channel: a smooth interpolation over the set time, the old one called to its end."""
    old, new = Constant(1.0), Constant(3.0)
    rig = Rig(old)
    assert rig.steps(3) == [1.0, 1.0, 1.0]
    transition = rig.begin(new)
    assert transition.state is SwapState.WAITING
    values = rig.steps(TICKS + 2)
    s = np.arange(1, TICKS + 1) / TICKS
    np.testing.assert_allclose(values[:TICKS], 1.0 + 2.0 * (3 * s**2 - 2 * s**3))
    assert values[TICKS:] == [3.0, 3.0]
    assert transition.error is None
    assert rig.loop.host is transition.new
    assert (old.ticks, new.ticks) == (3 + TICKS, TICKS + 2)
    assert rig.hardware.calls == ['open'], 'nothing new is read or commanded'


def test_the_old_one_is_stopped_after_its_last_tick() -> None:
    """Stop and unconfigure come once, outside the loop's thread, when it is called no more."""
    old, new = Constant(1.0), Constant(3.0)
    rig = Rig(old)
    old.threads.clear()
    transition = rig.begin(new)
    rig.steps(TICKS - 1)
    assert 'stop' not in old.calls
    rig.steps(1)
    transition.clean_up.join(5.0)
    assert transition.state is SwapState.DONE
    assert old.calls == ['configure', 'initialize', 'start', 'stop', 'unconfigure']
    assert threading.current_thread().name not in old.threads
    assert new.calls == ['configure', 'initialize', 'start']


@pytest.mark.parametrize('phase', ['configure', 'initialize', 'start'])
@pytest.mark.parametrize('how', ['raise', 'refuse'])
def test_failure_before_the_first_tick_changes_nothing(phase: str, how: str) -> None:
    """The swap is refused with the reason, the old one has every tick, the new one is undone."""
    old, new = Constant(1.0), Constant(3.0, StateFlag.JOINT_DISPLACEMENT, phase, how)
    rig = Rig(old)
    with pytest.raises(SwapFailed, match=rf"'new' could not take over.*{phase}"):
        rig.begin(new)
    assert rig.steps(5) == [1.0] * 5
    assert old.ticks == 5
    assert rig.hardware.body.joints[0].actuation_mode == StateFlag.JOINT_TORQUE
    assert ('unconfigure' in new.calls) == (phase != 'configure')
    assert 'stop' not in new.calls


@pytest.mark.parametrize('how', ['raise', 'nan'])
@pytest.mark.parametrize('tick', [1, 4])
@pytest.mark.parametrize('mode', [StateFlag.JOINT_TORQUE, StateFlag.JOINT_DISPLACEMENT])
def test_failure_in_a_tick_gives_the_robot_back(how: str, tick: int, mode: StateFlag) -> None:
    """Whenever the new one fails while taking over, the old one's command is sent in that tick."""
    old, new = Constant(1.0), Constant(3.0, mode, f'tick {tick}', how)
    rig = Rig(old)
    transition = rig.begin(new)
    values = rig.steps(8)
    assert values[tick - 1 :] == [1.0] * (9 - tick)
    assert old.ticks == 8
    assert new.ticks == tick
    assert transition.error is not None
    assert rig.loop.host is transition.old
    assert rig.hardware.body.joints[0].actuation_mode == StateFlag.JOINT_TORQUE
    assert rig.hardware.request.outputs['arm0'] == StateFlag.JOINT_TORQUE
    assert transition.state is SwapState.ABORTED


def test_far_too_much_is_not_mixed_in() -> None:
    """A new one whose commands cannot be meant is given up before a part of them is sent."""
    rig = Rig(Constant(1.0))
    body, dt = rig.hardware.body, rig.hardware.time_step
    rig.loop.limiter = CommandLimiter(body, LimitsParameters(max_effort=100.0), dt)
    transition = rig.begin(Constant(1e6))
    assert rig.steps(4) == [1.0] * 4
    assert 'implausible' in str(transition.error)
    assert "effort 1e+06 of joint 'joint0', whose limits are -100 to 100" in str(transition.error)


def test_old_one_that_fails_meanwhile_is_blended_out() -> None:
    """The last command of an old one that breaks during the take-over serves to its end."""
    old, new = Constant(1.0, fail='tick 4'), Constant(3.0)
    rig = Rig(old)
    rig.begin(new)
    values = rig.steps(TICKS)
    s = np.arange(1, TICKS + 1) / TICKS
    np.testing.assert_allclose(values, 1.0 + 2.0 * (3 * s**2 - 2 * s**3))


def test_change_of_channel_starts_from_the_measured_posture() -> None:
    """Torque to position: the mode is switched in one tick, targets leave from the state."""
    old, new = Constant(1.0), Constant(50.0, StateFlag.JOINT_DISPLACEMENT)
    rig = Rig(old)
    rig.steps(3)
    rig.begin(new)
    values = rig.steps(TICKS, 'q_target')
    measured = 3.0  # the fake robot's q counts ticks
    s = np.arange(1, TICKS + 1) / TICKS
    np.testing.assert_allclose(values, measured + (50.0 - measured) * (3 * s**2 - 2 * s**3))
    assert rig.hardware.body.joints[0].actuation_mode == StateFlag.JOINT_DISPLACEMENT
    assert rig.hardware.request.outputs['arm0'] == StateFlag.JOINT_DISPLACEMENT


def test_change_to_torque_starts_from_holding() -> None:
    """Position to torque: efforts leave from those of a spring and a damper."""
    old, new = Constant(0.0, StateFlag.JOINT_DISPLACEMENT), Constant(7.0)
    rig = Rig(old)
    rig.steps(3)
    rig.begin(new)
    values = rig.steps(TICKS)
    tick = np.arange(TICKS)
    holding = 10.0 * -tick + 1.0 * (3.0 + tick)
    s = (tick + 1) / TICKS
    np.testing.assert_allclose(values, holding + (7.0 - holding) * (3 * s**2 - 2 * s**3))


def test_joints_that_nobody_commands_any_more_come_to_rest() -> None:
    """The effort of a joint that the new one does not command fades to zero."""
    old, new = Constant(1.0), Constant(3.0, joints=1)
    rig = Rig(old)
    rig.begin(new)
    rig.steps(TICKS + 3)
    values = [written['u'][1] for written in rig.hardware.written]
    assert np.all(np.diff(values) <= 0.0)
    assert values[TICKS - 1 :] == [0.0] * 4


def test_one_swap_at_a_time() -> None:
    """A second swap is refused while the first one is under way, and possible afterwards."""
    rig = Rig(Constant(1.0))
    rig.begin(Constant(2.0))
    rig.steps(2)
    with pytest.raises(SwapInProgress, match="'new'"):
        rig.begin(Constant(3.0))
    rig.steps(TICKS)
    rig.begin(Constant(3.0))
    assert rig.steps(TICKS)[-1] == 3.0


def test_swap_waits_for_the_first_good_tick() -> None:
    """swap() returns when the new one commands, and raises when its first tick fails."""
    rig = Rig(Constant(1.0))
    thread = threading.Thread(target=rig.loop.run, args=(math.inf, True))
    rig.loop.host.stop()
    rig.loop.host.unconfigure()
    thread.start()
    try:
        rig.swap.swap([ManagedController('new', Constant(2.0))], 0.0)
        # That tick may not be over yet.
        deadline = time.monotonic() + 10.0
        while rig.loop.transition is not None and time.monotonic() < deadline:
            time.sleep(0.001)
        assert rig.loop.host.controllers[0].name == 'new'
        with pytest.raises(SwapFailed, match=r"'bad' could not take over.*broken tick"):
            rig.swap.swap([ManagedController('bad', Constant(5.0, fail='tick 1'))])
        assert rig.loop.host.controllers[0].name == 'new'
    finally:
        rig.loop.request_stop()
        thread.join()


def test_swap_gives_up_on_a_loop_that_stands() -> None:
    """Without ticks the swap is taken back after the time-out."""
    rig = Rig(Constant(1.0))
    new = Constant(3.0)
    with pytest.raises(SwapFailed, match='took no tick'):
        rig.swap.swap([ManagedController('new', new)], timeout=0.01)
    assert rig.steps(3) == [1.0, 1.0, 1.0]
    assert new.ticks == 0


def test_end_of_the_run_ends_the_swap() -> None:
    """Closing the loop in the middle stops both."""
    old, new = Constant(1.0), Constant(3.0)
    rig = Rig(old)
    transition = rig.begin(new)
    rig.steps(3)
    rig.loop.close()
    assert transition.wait_for(ENDED, 5.0)
    assert 'the run has ended' in str(transition.error)
    transition.clean_up.join(5.0)
    for controller in (old, new):
        assert controller.calls.count('stop') == 1
        assert controller.calls.count('unconfigure') == 1


def test_robot_that_refuses_the_new_channels_goes_on_with_the_old() -> None:
    """An error of the hardware when it is opened for the new ones undoes the swap."""
    from cnoid_control.hardware.exceptions import HardwareError

    rig = Rig(Constant(1.0))
    opened = rig.hardware.open

    def refuse(request) -> None:
        if request.outputs['arm0'] == StateFlag.JOINT_VELOCITY:
            raise HardwareError('no velocity interface')
        opened(request)

    rig.hardware.open = refuse
    transition = rig.begin(Constant(3.0, StateFlag.JOINT_VELOCITY))
    assert rig.steps(3) == [1.0, 1.0, 1.0]
    assert 'no velocity interface' in str(transition.error)
    assert rig.hardware.body.joints[0].actuation_mode == StateFlag.JOINT_TORQUE


def test_who_may_have_the_robot_is_told() -> None:
    """Both while a swap goes on, and the one that has it at its end."""
    told: list[tuple[ControllerHost, ...]] = []
    rig = Rig(Constant(1.0))
    rig.swap = HotSwap(rig.loop, DURATION, on_hosts_changed=lambda *hosts: told.append(hosts))
    old = rig.loop.host
    transition = rig.begin(Constant(3.0))
    assert told == [(old, transition.new)]
    rig.steps(TICKS + 1)
    transition.clean_up.join(10.0)
    assert told[1:] == [(transition.new,)]


class Turncoat(Constant):
    """Changes in its first tick what its joints are said to be commanded by."""

    def control(self) -> bool:
        """Command torques, and speak of positions."""
        super().control()
        for joint in self.body.joints:
            joint.actuation_mode = StateFlag.JOINT_DISPLACEMENT
        return True


def test_what_was_asked_for_cannot_be_changed_in_a_tick() -> None:
    """The robot's modes, and the limits of what is sent, are those of initialize()."""
    rig = Rig(Constant(1.0))
    rig.loop.limiter.limits.u_upper[:] = 5.0
    rig.steps(1)
    transition = rig.swap.begin([ManagedController('new', Turncoat(20.0))])
    sent = rig.steps(2 * TICKS)
    assert transition.winner is transition.new
    assert max(sent) == sent[-1] == 5.0
    modes = [joint.actuation_mode for joint in rig.hardware.body.joints]
    assert modes == [StateFlag.JOINT_TORQUE] * 2
    assert rig.loop.host.request().outputs == dict.fromkeys(
        ('arm0', 'arm1'), StateFlag.JOINT_TORQUE
    )


def test_a_reset_while_new_ones_are_brought_up_refuses_them() -> None:
    """A swap from controllers that do not have the robot any more does not begin."""
    rig = Rig(Constant(1.0))
    rig.steps(1)
    third = ControllerHost(
        [ManagedController('third', Constant(5.0))], rig.hardware.body, 0.01, rig.loop.host.os
    )
    third.configure()
    third.initialize(standby=True)
    third.start()
    transition = rig.swap.begin(
        [ManagedController('new', Constant(3.0))], precondition=lambda new: rig.loop.restart(third)
    )
    assert rig.steps(2) == [5.0, 5.0]
    assert transition.state is SwapState.ABORTED
    assert rig.loop.host is third


def test_no_swap_begins_when_the_run_has_ended() -> None:
    """The new controllers are stopped again, and nobody waits for a tick."""
    rig = Rig(Constant(1.0))
    new = Constant(3.0)
    with pytest.raises(SwapFailed, match='the run has ended'):
        rig.swap.begin([ManagedController('new', new)], precondition=lambda new: rig.loop.close())
    assert new.calls[-2:] == ['stop', 'unconfigure']
    assert rig.loop.transition is None


def test_states_of_a_swap_follow_each_other() -> None:
    """What has ended neither begins nor ends again."""
    rig = Rig(Constant(1.0))
    transition = rig.begin(Constant(3.0))
    rig.steps(TICKS)
    assert transition.state is SwapState.DONE
    transition.abort(SwapFailed('new', 'too late'))
    assert transition.state is SwapState.DONE
    assert transition.error is None
    with pytest.raises(RuntimeError, match='cannot become'):
        transition.prepare()


def test_the_devices_of_both_are_watched_while_two_are_called() -> None:
    """From the first good tick on, and those of the winner alone afterwards."""
    rig = Rig(Constant(1.0))
    watched: list[tuple[ControllerHost, ...]] = []
    rig.loop.watch_devices_of = lambda *hosts: watched.append(hosts)
    transition = rig.begin(Constant(3.0))
    assert watched == []
    rig.steps(TICKS + 1)
    assert watched == [(transition.old, transition.new), (transition.new,)]


def test_who_has_the_robot_is_told_where_a_swap_comes_to_nothing() -> None:
    """The old one alone; whoever asked for it knows why from the exception."""
    told: list[tuple[ControllerHost, ...]] = []
    rig = Rig(Constant(1.0))
    rig.swap = HotSwap(rig.loop, DURATION, on_hosts_changed=lambda *hosts: told.append(hosts))

    def refuse(new) -> None:
        raise SwapInProgress('x')

    with pytest.raises(SwapFailed):
        rig.swap.begin([ManagedController('new', Constant(3.0))], precondition=refuse)
    assert told == [(rig.loop.host,)]


@pytest.mark.parametrize('fail', ['', 'tick 4'])
def test_why_the_new_one_has_lost_the_robot_is_told(fail: str) -> None:
    """After its first good tick nobody waits for an answer any more."""
    told: list[Exception] = []
    rig = Rig(Constant(1.0))
    done: list[Transition] = []
    rig.swap = HotSwap(rig.loop, DURATION, on_abort=told.append)
    rig.swap.on_done = done.append
    transition = rig.begin(Constant(3.0, fail=fail))
    rig.steps(TICKS + 1)
    transition.clean_up.join(10.0)
    assert [str(error) for error in told] == ([str(transition.error)] if fail else [])
    assert done == ([] if fail else [transition])
    assert bool(transition.error) == bool(fail)


def test_a_swap_that_fails_after_the_old_one_leaves_the_robot_to_the_old_host() -> None:
    """Both have failed: the safe state holds the robot, and no swap is in progress any more."""
    rig = Rig(Constant(1.0, fail='tick 4'))
    rig.loop.on_fault = 'hold'
    rig.steps(1)
    old = rig.loop.host
    transition = rig.begin(Constant(3.0, fail='tick 5'))
    rig.steps(TICKS)
    assert rig.loop.safe_state.is_engaged
    assert transition.state is SwapState.ABORTED
    assert rig.loop.transition is None
    assert rig.loop.host is old


def test_the_time_that_was_waited_for_a_tick_is_told() -> None:
    """Twice the time-out: once for the first tick, once for the end of what was cancelled."""
    rig = Rig(Constant(1.0))
    with pytest.raises(SwapFailed, match=r'0\.1 s'):
        rig.swap.swap([ManagedController('new', Constant(3.0))], timeout=0.05)


def test_controllers_that_do_not_come_up_are_stopped() -> None:
    """Those of them that had started."""
    rig = Rig(Constant(1.0))
    good, bad = Constant(2.0), Constant(3.0, fail='start')
    managed = [ManagedController('good', good), ManagedController('bad', bad)]
    with pytest.raises(SwapFailed):
        rig.swap.begin(managed)
    assert good.calls[-2:] == ['stop', 'unconfigure']


@pytest.mark.parametrize('prepared', [True, False])
def test_a_swap_that_is_aborted_before_it_begins_undoes_what_was_prepared(prepared: bool) -> None:
    """The robot is opened for the old controllers again, where it was prepared for the new."""
    rig = Rig(Constant(1.0))
    rig.hardware.prepare = lambda request: prepared
    transition = rig.begin(Constant(3.0, StateFlag.JOINT_DISPLACEMENT))
    opened = rig.hardware.calls.count('open')
    transition.abort(SwapInProgress('x'))
    assert rig.hardware.calls.count('open') - opened == int(prepared)
    assert {joint.actuation_mode for joint in rig.hardware.body.joints} == {StateFlag.JOINT_TORQUE}


def test_an_abort_for_others_leaves_the_robot_to_them() -> None:
    """Neither the modes nor the channels of the old controllers come back."""
    rig = Rig(Constant(1.0))
    rig.hardware.prepare = lambda request: True
    transition = rig.begin(Constant(3.0, StateFlag.JOINT_DISPLACEMENT))
    rig.steps(2)
    opened = rig.hardware.calls.count('open')
    transition.abort(SwapInProgress('x'), reopen=False)
    assert rig.hardware.calls.count('open') == opened
    assert rig.hardware.body.joints[0].actuation_mode == StateFlag.JOINT_DISPLACEMENT


def test_requests_are_joined() -> None:
    """What either reads, and what either commands, as the second one wants it."""
    q, dq, u = StateFlag.JOINT_DISPLACEMENT, StateFlag.JOINT_VELOCITY, StateFlag.JOINT_EFFORT
    first = IORequest({'a': q}, {'a': u, 'b': u, 'c': u}, devices={'imu'}, no_delay={'a', 'b'})
    second = IORequest({'a': dq}, {'b': q, 'd': q}, devices={'force'}, no_delay={'d'})
    joined = _join(first, second)
    assert joined.inputs == {'a': q | dq}
    assert joined.outputs == {'a': u, 'b': q, 'c': u, 'd': q}
    assert joined.devices == {'imu', 'force'}
    assert joined.no_delay == {'a', 'd'}
    assert _covers(joined, joined)
    assert not _covers(IORequest({'a': q}), IORequest({'a': q | dq}))
    assert not _covers(IORequest({}), IORequest({'a': q}))
    assert _covers(IORequest({'a': q | dq}), IORequest({'a': q}))


def test_what_a_controller_does_not_command_is_not_looked_at() -> None:
    """A swap does not fail for it."""
    rig = Rig(Constant(1.0))
    rig.hardware.body.dq_target[:] = math.nan
    transition = rig.begin(Constant(3.0))
    rig.steps(TICKS + 1)
    assert transition.state is SwapState.DONE, transition.error


def test_device_outputs_of_both_are_joined() -> None:
    """The lamp of the old one burns on while the new one moves its camera."""
    lamp, camera = IORequest(device_outputs={'lamp'}), IORequest(device_outputs={'camera'})
    assert _join(lamp, camera).device_outputs == {'lamp', 'camera'}
    assert not _covers(lamp, camera)
    assert _covers(_join(lamp, camera), camera)


def test_the_new_channel_is_limited_from_its_first_tick_on() -> None:
    """Position targets go no faster than the joint may, and efforts again after an abort."""
    rig = Rig(Constant(1.0))
    limits = rig.loop.limiter.limits
    limits.dq_lower[:], limits.dq_upper[:] = -100.0, 100.0
    limits.u_lower[:], limits.u_upper[:] = -0.5, 0.5
    rig.loop.limiter.restart()
    rig.steps(3)
    transition = rig.begin(Constant(500.0, StateFlag.JOINT_DISPLACEMENT))
    targets = rig.steps(5, 'q_target')
    assert np.diff(targets).max() == pytest.approx(100.0 * rig.hardware.time_step)
    rig.loop.abort_transition(SwapInProgress('x'))
    assert transition.state is SwapState.ABORTED
    assert rig.steps(2) == [0.5, 0.5]


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_a_new_one_may_be_far_from_where_it_wants_to_be(side: float) -> None:
    """Twenty times a limit is blended in, and limited as every command is."""
    rig = Rig(Constant(1.0))
    body, dt = rig.hardware.body, rig.hardware.time_step
    limits = LimitsParameters(max_effort=2.0, max_bad_commands=100)
    rig.loop.limiter = CommandLimiter(body, limits, dt)
    transition = rig.begin(Constant(side * 40.0))
    rig.steps(3)
    assert transition.state is SwapState.BLENDING, transition.error
    rig.loop.abort_transition()
    assert rig.begin(Constant(side * 1000.0)).state is SwapState.WAITING
    assert rig.steps(2) == [1.0, 1.0]
    assert rig.loop.transition is None
