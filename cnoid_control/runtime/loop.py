"""The loop: read -> watchdog -> control -> safe state -> limits -> write."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, wait
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.hardware.divergence import Diverged
from cnoid_control.hardware.hardware import Hardware, IORequest
from cnoid_control.plugin import ControllerIO
from cnoid_control.runtime.call_queue import CallQueue
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.exceptions import (
    InSafeState,
    LoopStalled,
    control_timeout,
    implausible_command,
    run_ended,
)
from cnoid_control.runtime.loop_thread import LoopThread
from cnoid_control.runtime.realtime import QuietProcess
from cnoid_control.runtime.safety.enabling_switch import EnablingSwitch
from cnoid_control.runtime.safety.fallback import Fallback
from cnoid_control.runtime.safety.hang_monitor import Abandoned, Call, HangMonitor, begin_call
from cnoid_control.runtime.safety.limits import CommandLimiter
from cnoid_control.runtime.safety.safe_state import SafeState
from cnoid_control.runtime.safety.watchdog import ESTOP, REQUESTS, STOP, Trip, Watchdog
from cnoid_control.runtime.trace import TickTrace

if TYPE_CHECKING:
    from cnoid_control.runtime.hot_swap import Transition
    from cnoid_control.runtime.succession import Succession

# A sleeper is woken late: the last part of a wait is spent awake [s].
SPIN_TIME = 150e-6
# Watches that find that nobody receives the commands.
NO_SUBSCRIBER = ('deactivated', 'subscriber_timeout')

ResultT = TypeVar('ResultT')


class TickRecorder(Protocol):
    """What notes every tick for later."""

    def open(self, request: IORequest, ios: list[ControllerIO]) -> None:
        """Get ready, once it is known what is read and commanded."""

    def note_inputs(self, time: float) -> None:
        """The hardware has read the state of a tick."""

    def note_event(self, topic: str, text: str) -> None:
        """Something happened to the robot before the next tick."""

    def note_outputs(self) -> None:
        """The controllers have commanded."""

    def note_sent(self) -> None:
        """The commands are those that go to the robot."""

    def close(self) -> None:
        """The run has ended."""


@dataclass(frozen=True)
class RunOutcome:
    """How a run has ended.

    Attributes:
        exit: 'completed' at the end of the time or on request, 'finished' where the controllers
            had no more to do, 'failed' otherwise.
        reason: what failed; empty otherwise.
        interrupted: whether it ended on request.
        ticks: number of ticks.
        wall_time: duration of the ticks on the wall clock, pauses left out [s].
        overruns: ticks that ended late, in real time.
        traceback: calls that led to the exception of a controller that ended it, line by line.
    """

    exit: str
    reason: str
    interrupted: bool
    ticks: int
    wall_time: float
    overruns: int
    traceback: str = ''


class ControlLoop:
    """One straight line that every tick walks, whatever is on the other end.

    A trip of the watchdog, a controller that fails or does not return and implausible commands
    engage the safe state, which commands the robot from that very tick on. With `on_fault` 'hold'
    it does so until it is reset; with 'fail' the run ends.

    `open`, `step` and `close` may be called by hand, in one thread, and so may `advance`, which
    takes many ticks; nobody notices then that a controller does not return. `run` and
    `LoopThread` take the ticks in a thread of their own and replace it where a controller keeps
    it: see `hang_monitor`.

    Attributes:
        hardware: the robot.
        host: the controllers.
        watchdog: watches ages, time and requests to stop.
        safe_state: the safe state.
        limiter: limits the commands.
        fallback: the controller that commands in the safe state; None for none.
        enabling: the switch that must be held while controllers command; None for none.
        transition: the hot swap in progress; None otherwise.
        succession: who takes over when controllers end or fail; None for nobody.
        trace: where each tick is noted for statistics and plots, if anywhere.
        recorder: where each tick is noted for a log file, if anywhere.
        on_fault: 'hold' where the safe state goes on, 'fail' where it ends the run.
        active_control_only: whether the run ends when every controller returns False in a tick.
        require_commands: whether a run in which no controller commands anything has failed.
        observed: names of devices to measure though no controller reads them.
        monitor: watches that controllers return, while a thread takes the ticks.
        failure: why a controller was stopped; None for none since the last reset.
        finished: whether the controllers have said that there is no more to do.
        tick: number of ticks so far.
        overruns: ticks that ended late, in real time.
        exhausted: whether the hardware has said that there is no next state.
        speed: simulated time per wall-clock time that ticks are held back to, in a run; infinite
            for as fast as possible. It may be set from any thread.
    """

    # What every tick looks up: quicker here, and so are methods where few attributes are left.
    __slots__ = (
        '__dict__',
        '__weakref__',
        '_tick_is_read',
        'enabling',
        'fallback',
        'finished',
        'hardware',
        'host',
        'limiter',
        'monitor',
        'on_fault',
        'recorder',
        'safe_state',
        'succession',
        'tick',
        'trace',
        'transition',
        'watchdog',
    )

    def __init__(
        self,
        hardware: Hardware,
        host: ControllerHost,
        watchdog: Watchdog,
        safe_state: SafeState,
        limiter: CommandLimiter,
        *,
        on_fault: str = 'hold',
        fallback: Fallback | None = None,
        enabling: EnablingSwitch | None = None,
        trace: TickTrace | None = None,
        recorder: TickRecorder | None = None,
        active_control_only: bool = True,
        require_commands: bool = True,
        watches_subscribers: bool = False,
        watches_clock: bool = False,
    ) -> None:
        """Put the parts together; nothing is opened yet. `build.wire_loop` makes the parts.

        Args:
            hardware: the robot.
            host: the controllers.
            watchdog: the watchdog; the hardware feeds it.
            safe_state: the safe state.
            limiter: the limits.
            on_fault: 'hold' where the safe state goes on, 'fail' where it ends the run.
            fallback: the controller that commands in the safe state, if any.
            enabling: the switch that must be held while controllers command, if any.
            trace: where each tick is noted for statistics and plots, if anywhere.
            recorder: where each tick is noted for a log file, if anywhere.
            active_control_only: whether the run ends when every controller returns False.
            require_commands: whether a run in which no controller commands anything has failed.
            watches_subscribers: whether somebody tells the watchdog who receives the commands.
            watches_clock: whether somebody tells the watchdog of the simulator's clock.
        """
        self.hardware = hardware
        self.host = host
        self.watchdog = watchdog
        self.safe_state = safe_state
        self.limiter = limiter
        limiter.on_bad_command = self._tell_bad_command
        self.fallback = fallback
        self.enabling = enabling
        self.transition: Transition | None = None
        self.succession: Succession | None = None
        self.trace = trace
        self.recorder = recorder
        self.on_fault = on_fault
        self.active_control_only = active_control_only
        self.require_commands = require_commands
        self.observed: set[str] = set()
        self.monitor = HangMonitor()
        self.failure: CnoidControlError | None = None
        self.finished = False
        self.tick = 0
        self.overruns = 0
        self.exhausted = False
        self.speed = math.inf
        self._watches_subscribers = watches_subscribers
        self._watches_clock = watches_clock
        # Whether the state of the present tick was read by a thread that has lost the robot.
        self._tick_is_read = False
        # What was raised when that tick was finished.
        self._tick_error: BaseException | None = None
        self._is_open = False
        # Whether some controller that had the robot commands anything at all.
        self._is_commanded = False
        self._error: CnoidControlError | None = None
        self._began = 0.0
        self._wall_time = 0.0
        self._quiet = QuietProcess()
        # Guards what other threads ask for: the end, a pause, a hot swap.
        self._requests = threading.Condition()
        self._stop_requested = False
        self._paused = False
        # Ticks that are still to be taken in a pause.
        self._single_steps = 0
        self._calls = CallQueue()
        self._is_closed = False
        hardware.watchdog = watchdog
        hardware.limit_counts = limiter.counts

    # --- before the ticks ---------------------------------------------------------------------

    def open(self) -> None:
        """Bring the controllers and the robot to where the first tick can be taken.

        Raises:
            NoControllerLeft: no controller wants to run.
            HardwareError: the robot lacks what the controllers ask for.
            LogError: the log file cannot be created.
        """
        self._is_closed = False
        self.host.configure()
        request = self.host.initialize()
        request.devices |= self.observed
        if self.recorder is not None:
            # Before the hardware, whose devices may have their first state when it opens.
            switch = [] if self.enabling is None else [self.enabling.io]
            self.recorder.open(request, [*self.host.ios(), *switch])
        self.hardware.open(request)
        self.limiter.restart()
        self._begin_with(self.host)
        self.host.start()
        self.start_watchdog()

    def start_watchdog(self) -> None:
        """Arm the watches that make sense for this hardware; every age counts from now."""
        self.watchdog.arm(self.hardware, self._watches_subscribers, self._watches_clock)
        self.watch_devices_of(self.host)
        self.watchdog.start()

    def watch_devices_of(self, *hosts: ControllerHost) -> None:
        """Watch the devices that these controllers read, where those can fail to arrive."""
        hardware = self.hardware
        # In lock-step the devices of a state are waited for.
        if hardware.feeds_watchdog and (hardware.is_simulated or not hardware.waits_for_commands):
            read = [host.request().devices for host in hosts]
            self.watchdog.watch_devices(set().union(*read))

    def restart(self, host: ControllerHost) -> None:
        """Let these controllers, started and fresh, have the robot; in the loop's thread.

        Raises:
            HardwareError: the robot cannot be made ready for them.
            ParameterError: the scale, which may have changed, cannot slow them down.
        """
        self.limiter.require_scalable(host.request().outputs)
        if self.succession is not None:
            self.succession.cancel()
        self._give_robot_to(host)
        self.finished = False
        self.start_watchdog()
        self.safe_state.reset()

    def hand_over(self, host: ControllerHost) -> None:
        """Leave the safe state to these controllers, started and fresh; in the loop's thread.

        Unlike after `restart`, everything that is watched is watched on.

        Raises:
            HardwareError: the robot cannot be made ready for them.
            ParameterError: the scale, which may have changed, cannot slow them down.
        """
        self.limiter.require_scalable(host.request().outputs)
        self._give_robot_to(host)
        self.watch_devices_of(host)
        self.safe_state.reset()

    def _give_robot_to(self, host: ControllerHost) -> None:
        self.abort_transition(reopen=False)
        request = host.request()
        request.devices |= self.observed
        self.hardware.open(request)
        self.host = host
        host.set_modes()
        self.limiter.restart()
        self._begin_with(host)
        self.failure = None

    def _begin_with(self, host: ControllerHost) -> None:
        """Count what these controllers limit by themselves, and note whether they command."""
        for io in host.ios():
            io.limit_counts = self.limiter.counts
        self._is_commanded = self._is_commanded or not host.idle_reason

    def limited(self) -> dict[str, dict[str, int]]:
        """How often each limit acted, by kind and joint name, whoever has made the clamp."""
        self.hardware.count_limits()
        return self.limiter.report()

    def _tell_bad_command(self) -> None:
        """Warn of the first command that could not be meant; the last one is repeated."""
        command = self.limiter.bad_command
        error = implausible_command(self.host.who_commands(command), self.tick, command)
        self.host.warn(f'{error}; the command before it is repeated, and later ones are counted')

    # --- the tick -----------------------------------------------------------------------------

    def step(self) -> bool:
        """One cycle: read -> watchdog -> control -> scale -> safe state -> limits -> write.

        Returns:
            Whether there is to be another one.

        Raises:
            HardwareError: the robot failed.
        """
        hardware, safe_state, recorder = self.hardware, self.safe_state, self.recorder
        succession = self.succession
        if succession is not None:
            succession.advance()
        if self._tick_is_read:
            # A controller has kept another thread: what is left of its tick is done here.
            self._tick_is_read = False
            if self._tick_error is not None:
                raise self._tick_error
        elif hardware.read():
            if recorder is not None:
                recorder.note_inputs(hardware.time)
        else:
            self.exhausted = True
            return False
        trip = self.watchdog.check()
        if trip is not None:
            self._react(trip)
        if self.enabling is not None:
            self._follow_switch(self.enabling)
        has_commands = False
        if safe_state.is_engaged:
            self._refuse_late_swap()
        elif hardware.is_due:
            self._control(hardware.time)
            has_commands = True
        if self.fallback is not None:
            self._control_fallback(self.fallback, hardware.time)
        if self.trace is not None:
            self.trace.record(hardware.time)
        if recorder is not None:
            recorder.note_outputs()
        if has_commands and self.limiter.scale != 1.0:
            self.limiter.scale_commands(hardware.time_step)
        if safe_state.is_active:
            self._apply_safe_state()
        # States that come faster than agreed must not make the robot faster than it may be.
        dt, time_step = hardware.dt, hardware.time_step
        if not self.limiter.apply(dt if dt < time_step else time_step):
            self._replace_commands()
        if recorder is not None:
            recorder.note_sent()
        hardware.write()
        self.tick += 1
        if self.on_fault == 'hold':
            return True
        return not (self.finished or (safe_state.is_engaged and self._is_held_for_good))

    def _react(self, trip: Trip) -> None:
        """Engage the safe state where the watchdog has found something, or somebody wants it."""
        if trip.action in ('safe', 'estop'):
            if self.succession is not None and trip.watch in REQUESTS:
                self.succession.cancel()
            elif self.succession is not None:
                self.succession.overrule(trip.message)
            no_subscriber = self.watchdog.finds(*NO_SUBSCRIBER)
            self.safe_state.enter(trip.message, trip.action == 'estop', no_subscriber)

    @property
    def _is_stopped(self) -> bool:
        """Whether the robot is held for more than a pause."""
        return self.safe_state.is_engaged and not self.safe_state.is_pause

    def _follow_switch(self, switch: EnablingSwitch) -> None:
        """Hold the robot while the enabling switch is not held, and let controllers go on then.

        Whatever else has stopped the robot meanwhile keeps it stopped.
        """
        safe_state, host = self.safe_state, self.host
        if not switch.check():
            if not safe_state.is_engaged:
                safe_state.enter(switch.reason, pause=True)
                if not host.is_abandoned:
                    self.watched(host.pause, 'pause', in_tick=True)
        elif safe_state.is_pause and safe_state.reason == switch.reason:
            if not host.is_abandoned:
                self.watched(host.resume, 'resume', in_tick=True)
            safe_state.reset()

    def _refuse_late_swap(self) -> None:
        """Abort a swap whose first tick will not come, for the robot is held.

        The command controllers of the new controllers may be active already: those of the old
        ones must be again.
        """
        transition = self.transition
        if transition is not None and transition.is_waiting:
            self.abort_transition(InSafeState(self.safe_state.reason))
            if self.succession is not None and self.safe_state.is_pause:
                self.succession.ask_again()

    def _control(self, now: float) -> None:
        try:
            if self.transition is None:
                go_on = self.host.control(self.tick, now, self.monitor)
            else:
                go_on = self._control_transition(self.transition, now)
        except CnoidControlError as error:
            self._fail(error)
            return
        if not go_on and self.succession is not None and self.succession.ended():
            return
        if not go_on and self.active_control_only:
            self.finished = True
            if self.on_fault == 'hold':
                self.safe_state.enter('the controllers have finished', finished=True)

    def _fail(self, error: CnoidControlError) -> None:
        """Hold the robot; a successor may take over."""
        self.failure = error
        # One that fails while it takes over has no successor: nobody may have one that works.
        if self.succession is not None and not self.safe_state.is_handing_over:
            self.succession.failed(error)
        self.safe_state.enter(str(error))

    def _compute(self, host: ControllerHost, now: float) -> bool:
        """Call controllers once, as `ControllerHost.control` does."""
        return host.control(self.tick, now, self.monitor)

    def _control_transition(self, transition: Transition, now: float) -> bool:
        if transition.old is not self.host:
            # Others were started while the new controllers were brought up.
            self.abort_transition(run_ended())
            return self._compute(self.host, now)
        was_waiting = transition.is_waiting
        try:
            go_on = transition.control(self._compute, self.tick, now)
        except CnoidControlError:
            # Not where the robot was lost: then nothing here may be touched.
            self._settle(transition)
            raise
        if was_waiting:
            self.watch_devices_of(transition.old, transition.new)
        self._settle(transition)
        return go_on

    def _settle(self, transition: Transition) -> None:
        """Leave the robot to one host, where the swap has ended."""
        if transition.winner is not None:
            self.host = transition.winner
            self._begin_with(self.host)
            self.transition = None
            self.watch_devices_of(self.host)

    def _control_fallback(self, fallback: Fallback, now: float) -> None:
        if not self.safe_state.is_engaged or self.safe_state.is_estop:
            fallback.end()
            return
        fallback.begin()
        host = fallback.host
        if host is None:
            return
        try:
            self._compute(host, now)
        except CnoidControlError as error:
            fallback.fail(error)
            return
        if self.limiter.can_blend():
            fallback.computed()
        else:
            command = self.limiter.first_implausible()
            fallback.fail(implausible_command(host.who_commands(command), self.tick, command))

    def _apply_safe_state(self) -> None:
        """Replace the commands in the safe state; blend them while controllers take over again."""
        safe_state = self.safe_state
        if safe_state.is_handing_over and not self.limiter.can_blend():
            # Blended with what holds the robot it would act little by little.
            command = self.limiter.first_implausible()
            names = self.host.who_commands(command)
            safe_state.enter(str(implausible_command(names, self.tick, command)))
        fresh = self.watchdog.is_fresh('state_timeout')
        safe_state.apply(self.hardware.time_step, fresh)
        if self.fallback is not None and fresh:
            self.fallback.apply()

    def _replace_commands(self) -> None:
        """Send the safe command in the place of commands that are implausible too often."""
        limiter, host = self.limiter, self.host
        if self.fallback is not None:
            # Only in the safe state it has one.
            host = self.fallback.host or host
        count = limiter.bad_commands_in_a_row
        names = host.who_commands(limiter.bad_command)
        error = implausible_command(names, self.tick + 1 - count, limiter.bad_command, count)
        if self.fallback is not None:
            self.fallback.fail(error)
        if self.safe_state.is_engaged:
            self.safe_state.enter(str(error))
        else:
            self._fail(error)
        fresh = self.watchdog.is_fresh('state_timeout')
        self.safe_state.apply(self.hardware.time_step, fresh)
        self.limiter.apply(min(self.hardware.time_step, self.hardware.dt))

    def set_scale(self, scale: float) -> None:
        """Give controllers another share of speed and gain; in the loop's thread.

        Args:
            scale: from 0 to 1.

        Raises:
            ParameterError: a joint that is commanded by position has no speed limit to scale, be
                it by controllers that are on their way out and may get the robot back.
        """
        transition = self.transition
        if transition is not None and not transition.is_waiting:
            self.limiter.require_scalable(transition.old.request().outputs, scale)
        self.limiter.set_scale(scale)

    # --- when a controller does not return ----------------------------------------------------

    def watched(
        self,
        function: Callable[[], None],
        name: str,
        host: ControllerHost | None = None,
        in_tick: bool = False,
    ) -> None:
        """Run code of controllers besides control(), watched as that is.

        In the loop's thread.

        Args:
            function: what to run.
            name: method that it calls, for messages.
            host: the controllers; those that have the robot where None.
            in_tick: whether a tick has begun that is to be finished.

        Raises:
            Abandoned: it did not return in time: the robot is in other hands.
            InSafeState: the controllers have not returned from another method.
            Exception: what the function raised.
        """
        host = host or self.host
        if host.is_abandoned:
            raise InSafeState(self.safe_state.reason)
        call = self.monitor.call = begin_call(host, name, in_tick)
        try:
            function()
        except Exception:
            call.end()
            raise
        call.end()

    def take_over(self, call: Call, duration: float) -> None:
        """Engage the safe state and finish the tick; in the thread that has won a call.

        Args:
            call: the call; its thread is left behind.
            duration: time that it has taken so far [s].
        """
        error = control_timeout(duration, self.monitor.limit, call.name)
        host = call.host
        host.abandon()
        self._tick_is_read = call.in_tick
        if self.fallback is not None and host is self.fallback.host:
            self.fallback.fail(error)
        else:
            self.failure = error
        is_estop = self.watchdog.parameters.control_action == 'estop'
        # Whoever is told of it must not keep the robot from its command.
        with contextlib.suppress(Exception):
            self.safe_state.enter(str(error), is_estop)
        with contextlib.suppress(Exception):
            self.watchdog.trip('control_timeout', 'estop' if is_estop else 'safe', str(error))
            print(
                f'error: {error}: its thread is left behind, and may keep a processor busy; '
                'restart the process to end it',
                file=host.os,
            )
        if call.in_tick:
            # At once: to start a thread takes a while where a busy one is left behind.
            try:
                self.step()
            except BaseException as failure:
                self._tick_is_read, self._tick_error = True, failure

    def report_hang(self, call: Call, duration: float) -> None:
        """Warn of controllers that take too long, where that is all that is wanted."""
        error = control_timeout(duration, self.monitor.limit, call.name)
        self.watchdog.trip('control_timeout', 'warn', str(error))

    # --- a run --------------------------------------------------------------------------------

    def run(self, duration: float = math.inf, real_time: bool = False) -> RunOutcome:
        """Open, take ticks until the time is over, nobody has more to do or a stop, and close.

        All of that is done in a thread of its own, while this one waits: a controller that never
        returns ends the run, and an interrupt is served at once. Again, it goes on from there: the
        controllers begin anew where the robot is. A run that failed or is finished stays so.

        Args:
            duration: the robot's time to run for, from now [s].
            real_time: wait so that ticks come at the pace of the wall clock; of no effect on a
                robot that sets the pace itself.

        Raises:
            CnoidControlError: it would go on, and has a log, which ended with the first run.
        """
        if self.tick and self.has_no_next:
            return self.outcome()
        if self.tick and self.recorder is not None and not self._is_open:
            raise CnoidControlError('the log ended with the run: set another recorder, or none')
        paced = real_time and self.hardware.is_simulated
        self.speed = 1.0 if paced else math.inf
        until = self.tick * self.hardware.time_step + duration
        thread = LoopThread(self, partial(self._run, until, paced), self._fail_call)
        thread.start(paced)
        try:
            thread.join()
        except BaseException:
            self.request_stop()
            if thread.stop():
                self.close()
            raise
        finally:
            self.monitor.stop()
        if thread.error is not None:
            raise thread.error
        return self.outcome()

    def advance(self, duration: float, real_time: bool = False) -> RunOutcome:
        """Take ticks for a time in this thread, after `begin`; the loop stays open.

        Args:
            duration: the robot's time to run for, from now [s].
            real_time: as in `run`.

        Returns:
            What a run that ended now would have come to.
        """
        until = self.tick * self.hardware.time_step + duration
        self.speed = 1.0 if real_time and self.hardware.is_simulated else math.inf
        try:
            self._take_ticks(until)
        except CnoidControlError as error:
            self._error = error
        return self.outcome()

    @property
    def has_ended(self) -> bool:
        """Whether no more ticks can be taken: it failed, is finished or was asked to stop."""
        return self.has_no_next or self._is_closed

    @property
    def has_no_next(self) -> bool:
        """Whether the run has come to an end that no other run follows."""
        ended = self.exhausted or self.finished or self._stop_requested
        return ended or self._is_held_for_good or self._error is not None

    @property
    def _is_held_for_good(self) -> bool:
        """Whether the safe state ends the run."""
        is_pending = self.succession is not None and self.succession.is_pending
        return self._is_stopped and self.on_fault == 'fail' and not is_pending

    def begin(self, paced: bool = False) -> None:
        """Open, and note the time of the first tick.

        Args:
            paced: whether ticks come at the pace of the wall clock.

        Raises:
            CnoidControlError: as `open` does.
        """
        self.open()
        if paced or not self.hardware.is_simulated:
            self._quiet.begin()
        self._began = time.perf_counter()
        self._is_open = True

    def _run(self, until: float, paced: bool) -> None:
        """Do a run, or the rest of one that another thread has lost."""
        try:
            if not self._is_open:
                self.begin(paced)
            self._take_ticks(until)
        except Diverged as error:
            self._error = error.driven_by(self._gains_of(error.joint))
        except CnoidControlError as error:
            self._error = error
        except Abandoned:
            raise
        except BaseException:
            self.close()
            raise
        self.close()

    def _gains_of(self, joint: str) -> dict[str, dict[str, float]]:
        """Gains of a joint by controller; of controllers that can be asked."""
        if not joint or self.host.is_abandoned:
            return {}
        found = {}
        for managed in self.host.members():
            # Code of a controller must not hide why the run has ended.
            with contextlib.suppress(Exception):
                found[managed.name] = dict(managed.controller.gains_of(joint))
        return found

    def _take_ticks(self, until: float) -> None:
        time_step = self.hardware.time_step
        last = math.inf if math.isinf(until) else round(until / time_step)
        if self._is_held_for_good and not self._tick_is_read:
            # A controller was left behind between two ticks.
            return
        step, calls = self.step, self._calls
        clock = time.perf_counter
        deadline, speed = clock(), self.speed
        while self.tick < last and not self._stop_requested:
            if calls:
                calls.run_all()
            if self._paused:
                halted = clock()
                go_on = self._wait_for_resume()
                self._began += clock() - halted
                deadline += clock() - halted
                if not go_on:
                    continue
            if not step() or self.finished:
                return
            if speed != self.speed:
                deadline, speed = clock(), self.speed
            if speed < math.inf:
                period = time_step / speed
                deadline += period
                if speed == 1.0:
                    self.watchdog.tick_took(clock() - deadline + period, period)
                deadline = self._keep_pace(deadline)

    def _keep_pace(self, deadline: float) -> float:
        ahead = deadline - time.perf_counter()
        if ahead < 0.0:
            self.overruns += 1
            # Start afresh rather than chase lost time with a burst of ticks.
            return time.perf_counter()
        if ahead > SPIN_TIME:
            time.sleep(ahead - SPIN_TIME)
        while time.perf_counter() < deadline:
            pass
        return deadline

    def outcome(self) -> RunOutcome:
        """How the run has ended, or stands."""
        wall_time = time.perf_counter() - self._began if self._is_open else self._wall_time
        exit_, reason = 'completed', ''
        if self._error is not None:
            exit_, reason = 'failed', str(self._error)
        elif self.finished:
            exit_ = 'finished'
        elif self._is_stopped:
            exit_, reason = 'failed', self.safe_state.reason
        idle = self.require_commands and not self._is_commanded and self.host.find_idle_reason()
        if idle and self.tick and exit_ != 'failed':
            exit_, reason = 'failed', idle
        return RunOutcome(
            exit_,
            reason,
            self._stop_requested,
            self.tick,
            wall_time,
            self.overruns,
            getattr(self._error or self.failure, 'traceback', '') if reason else '',
        )

    # --- from other threads -------------------------------------------------------------------

    def request_safe_state(self, reason: str, estop: bool = False) -> None:
        """Have the next tick engage the safe state, whoever takes that tick; from any thread.

        Args:
            reason: one sentence on why.
            estop: whether it is an emergency stop.
        """
        name, action = (ESTOP, 'estop') if estop else (STOP, 'safe')
        self.watchdog.trip(name, action, reason)

    def request_stop(self) -> None:
        """End the run after the present tick; from any thread, and from a signal handler."""
        with self._requests:
            self._stop_requested = True
            self._requests.notify_all()
        self.hardware.halt()

    def pause(self) -> None:
        """Halt before the next tick, and tell the controllers."""
        with self._requests:
            self._paused = True

    def resume(self) -> None:
        """Go on after a pause, and tell the controllers."""
        with self._requests:
            self._paused = False
            self._single_steps = 0
            self._requests.notify_all()

    @property
    def is_paused(self) -> bool:
        """Whether it halts, or will before the next tick."""
        return self._paused

    def single_step(self, count: int = 1) -> None:
        """Take ticks in a pause, and halt again; the controllers are told of both.

        Args:
            count: number of ticks.

        Raises:
            CnoidControlError: there is no pause.
        """
        with self._requests:
            if not self._paused:
                raise CnoidControlError('single steps are taken in a pause, and it runs')
            self._single_steps += count
            self._requests.notify_all()

    def call(self, function: Callable[[], ResultT], timeout: float = 5.0) -> ResultT:
        """Run a function between two ticks of a run, or in its pause; not in the loop's thread.

        Args:
            function: what to run. Code of controllers in it is to be `watched`.
            timeout: longest wait for it to begin, and then for it to end [s].

        Returns:
            What the function returns.

        Raises:
            LoopStalled: it was not begun in time and never will be, or has not ended in time.
            CnoidControlError: there will be no tick any more.
            Exception: what the function raised.
        """
        with self._requests:
            if self._is_closed:
                raise run_ended()
            future = self._calls.add(function)
            self._requests.notify_all()
        wait([future], timeout)
        # Who is told that it has failed must not see it take effect later.
        if future.cancel():
            raise LoopStalled(timeout)
        try:
            return future.result(timeout)
        except CancelledError:
            raise run_ended() from None
        except TimeoutError:
            raise LoopStalled(2.0 * timeout) from None

    def _fail_call(self, error: CnoidControlError | None) -> None:
        """Answer whoever waits for a function that a controller does not return from."""
        self._calls.fail_current(error or run_ended())

    def _wait_for_resume(self) -> bool:
        """Wait for the end of a pause; whether a tick is to be taken in any case."""

        def is_over() -> bool:
            return not self._paused or self._stop_requested or self._single_steps > 0

        def has_work() -> bool:
            return is_over() or bool(self._calls)

        if not self._single_steps:
            if not self.host.is_abandoned:
                self.watched(self.host.pause, 'pause')
            while not is_over():
                with self._requests:
                    self._requests.wait_for(has_work)
                self._calls.run_all()
            if not self._stop_requested and not self.host.is_abandoned:
                self.watched(self.host.resume, 'resume')
        with self._requests:
            is_step = self._single_steps > 0 and not self._stop_requested
            self._single_steps -= is_step
        return is_step

    def offer(self, transition: Transition) -> None:
        """Let a hot swap begin with the next tick; from any thread.

        Raises:
            CnoidControlError: there will be no tick any more.
        """
        with self._requests:
            if self._is_closed:
                raise run_ended()
            self.transition = transition

    def abort_transition(
        self, error: CnoidControlError | None = None, reopen: bool = True
    ) -> None:
        """Abort a hot swap in progress, if there is one; in the thread that owns the robot.

        Args:
            error: why; the end of the run where None.
            reopen: whether the robot is to be made ready for the old controllers again.
        """
        with self._requests:
            transition, self.transition = self.transition, None
        if transition is not None:
            transition.abort(error or run_ended(), reopen)

    def close(self) -> None:
        """Stop the controllers and leave the robot; every part of it is reached."""
        if self._is_open:
            self._wall_time = time.perf_counter() - self._began
            self._quiet.end()
            self._is_open = False
        self.watchdog.stop()
        if self.succession is not None:
            self.succession.cancel()
        with self._requests:
            self._is_closed = True
        self._calls.cancel_all()
        self.abort_transition()
        if self.fallback is not None:
            self.fallback.end()
        try:
            self.host.stop()
        finally:
            try:
                self.hardware.close()
            finally:
                self.host.unconfigure()
                if self.trace is not None:
                    self.trace.flush()
                if self.recorder is not None:
                    self.recorder.close()
