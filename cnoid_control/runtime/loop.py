"""The loop: read, watch, control, limit, write."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from typing import Protocol

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.hardware.hardware import Hardware, IORequest
from cnoid_control.plugin import ControllerIO
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.exceptions import ImplausibleCommands, RunEnded
from cnoid_control.runtime.realtime import GcPause
from cnoid_control.runtime.safety.limits import CommandLimiter
from cnoid_control.runtime.trace import TickTrace
from cnoid_control.runtime.transition import Transition

# A sleeper is woken late: the last part of a wait is spent awake [s].
SPIN_TIME = 150e-6


class TickRecorder(Protocol):
    """What notes every tick for later."""

    def open(self, request: IORequest, ios: list[ControllerIO]) -> None:
        """Get ready, once it is known what is read and commanded."""

    def note_inputs(self, time: float) -> None:
        """The hardware has read the state of a tick."""

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
        wall_time: duration of the ticks on the clock on the wall, pauses left out [s].
        overruns: ticks that ended late, in real time.
    """

    exit: str
    reason: str
    interrupted: bool
    ticks: int
    wall_time: float
    overruns: int


class ControlLoop:
    """One straight line that every tick walks, whatever is on the other end.

    Attributes:
        hardware: the robot.
        host: the controllers.
        transition: what drives the robot while other controllers take over; None otherwise.
        limiter: limits the commands, if anything does.
        trace: where each tick is noted for statistics and plots, if anywhere.
        recorder: where each tick is noted for a log file, if anywhere.
        active_control_only: whether the run ends when every controller returns False in a tick.
        observed: names of devices to measure though no controller reads them.
        tick: number of ticks so far.
        overruns: ticks that ended late, in real time.
        exhausted: whether the hardware has said that there is no next state.
    """

    def __init__(
        self,
        hardware: Hardware,
        host: ControllerHost,
        *,
        limiter: CommandLimiter | None = None,
        trace: TickTrace | None = None,
        recorder: TickRecorder | None = None,
        active_control_only: bool = True,
    ) -> None:
        """Put the parts together; nothing is opened yet."""
        self.hardware = hardware
        self.host = host
        self.transition: Transition | None = None
        self.limiter = limiter
        self.trace = trace
        self.recorder = recorder
        self.active_control_only = active_control_only
        self.observed: set[str] = set()
        self.tick = 0
        self.overruns = 0
        self.exhausted = False
        self._wall_time = 0.0
        self._stop_requested = False
        self._paused = False
        self._wake = threading.Event()

    def open(self) -> None:
        """Bring the controllers and the robot to where the first tick can be taken.

        Raises:
            NoControllerLeft: no controller wants to run.
            HardwareError: the robot lacks what the controllers ask for.
            LogNotWritable: the log file cannot be created.
        """
        self.host.configure()
        request = self.host.initialize()
        request.devices |= self.observed
        if self.recorder is not None:
            # Before the hardware, whose devices may have their first state when it opens.
            self.recorder.open(request, self.host.ios())
        self.hardware.open(request)
        if self.limiter is not None:
            self.limiter.restart()
        self.host.start()

    def step(self) -> bool:
        """Walk one tick.

        Returns:
            Whether there is to be another one.

        Raises:
            ControllerFailed: a controller failed.
            HardwareError: the robot failed.
            ImplausibleCommands: commands are no numbers.
        """
        hardware = self.hardware
        if not hardware.read():
            self.exhausted = True
            return False
        recorder = self.recorder
        now = hardware.time
        if recorder is not None:
            recorder.note_inputs(now)
        if self.transition is None:
            go_on = self.host.control(self.tick, now)
        else:
            go_on = self._control_transition(self.transition, now)
        if self.trace is not None:
            self.trace.record(now)
        if recorder is not None:
            recorder.note_outputs()
        if self.limiter is not None and not self.limiter.apply(hardware.time_step):
            raise ImplausibleCommands(self.tick)
        if recorder is not None:
            recorder.note_sent()
        hardware.write()
        self.tick += 1
        return go_on or not self.active_control_only

    def _control_transition(self, transition: Transition, now: float) -> bool:
        try:
            return transition.control(self.tick, now)
        finally:
            if transition.winner is not None:
                self.host = transition.winner
                self.transition = None

    def run(self, duration: float = math.inf, real_time: bool = False) -> RunOutcome:
        """Open, take ticks until the time is over, nobody has more to do or a stop, and close.

        Args:
            duration: simulated time to run for [s].
            real_time: wait so that ticks come at the pace of the clock on the wall.
        """
        exit_, reason = 'completed', ''
        try:
            self.open()
            if not self._take_ticks(duration, real_time) and not self.exhausted:
                exit_ = 'finished'
        except CnoidControlError as error:
            exit_, reason = 'failed', str(error)
        finally:
            self.close()
        return RunOutcome(
            exit_, reason, self._stop_requested, self.tick, self._wall_time, self.overruns
        )

    def _take_ticks(self, duration: float, real_time: bool) -> bool:
        period = self.hardware.time_step
        last = math.inf if math.isinf(duration) else round(duration / period)
        step = self.step
        clock = time.perf_counter
        rest = GcPause()
        if real_time:
            rest.begin()
        begin = clock()
        deadline = begin
        try:
            while self.tick < last and not self._stop_requested:
                if self._paused:
                    halted = clock()
                    self._wait_for_resume()
                    begin += clock() - halted
                    deadline += clock() - halted
                    continue
                if not step():
                    return False
                if real_time:
                    deadline += period
                    deadline = self._keep_pace(deadline)
            return True
        finally:
            self._wall_time = clock() - begin
            rest.end()

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

    # --- from other threads -------------------------------------------------------------------

    def request_stop(self) -> None:
        """End the run after the present tick."""
        self._stop_requested = True
        self._wake.set()

    def pause(self) -> None:
        """Halt before the next tick, and tell the controllers."""
        self._wake.clear()
        self._paused = True

    def resume(self) -> None:
        """Go on after a pause, and tell the controllers."""
        self._paused = False
        self._wake.set()

    def _wait_for_resume(self) -> None:
        self.host.pause()
        while self._paused and not self._stop_requested:
            self._wake.wait(0.1)
        if not self._stop_requested:
            self.host.resume()

    def abandon_transition(
        self, error: CnoidControlError | None = None, reopen: bool = True
    ) -> None:
        """Leave the robot to the controllers that had it, where others are taking over.

        Args:
            error: why; the end of the run where None.
            reopen: whether the robot is to be made ready for them again.
        """
        if self.transition is not None:
            self.transition.give_up(error or RunEnded(), reopen)
            self.transition = None

    def close(self) -> None:
        """Stop the controllers and leave the robot; every part of it is reached."""
        self.abandon_transition()
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
