"""The loop of the simulated robot: physics, state out, commands in."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from enum import Enum
from typing import TypeVar

from cnoid_control.hardware.mujoco.hardware import MujocoHardware
from cnoid_control.messages.cdr import NANOSECONDS
from cnoid_control.ros.sim.actuation import SimulatedActuation
from cnoid_control.ros.sim.commands import CommandInput
from cnoid_control.ros.sim.pacing import FREE, Pacing
from cnoid_control.ros.sim.state import StatePublishers
from cnoid_control.runtime.call_queue import CallQueue

ResultT = TypeVar('ResultT')

# Time between repetitions of the first state while nobody has answered it [s].
REPETITION = 0.1
# Age below which a command counts as fresh while the robot is held [s].
FRESH = 0.05


class Phase(Enum):
    """What the simulated robot does."""

    WAITING = 'waiting for the first command'
    HOLDING = 'holding its posture'
    RUNNING = 'running'


class SimulationLoop:
    """Runs a simulated robot in one thread.

    A free-running robot, and any with a hold time, is held by its servos until commands have been
    finite and fresh for that time. Otherwise time stands still until the first command is there.

    Attributes:
        phase: what the robot does.
        ticks: states published; stamps are ticks times the period.
    """

    def __init__(
        self,
        hardware: MujocoHardware,
        actuation: SimulatedActuation,
        active_inputs: Callable[[], list[CommandInput]],
        publishers: StatePublishers,
        pacing: Pacing,
        hold_time: float,
        on_fault: Callable[[str, str], None],
    ) -> None:
        """Prepare the loop.

        Args:
            hardware: the robot.
            actuation: its drives.
            active_inputs: commands that count at the moment.
            publishers: its messages.
            pacing: when it goes on.
            hold_time: time for which commands must be good before the robot is let go [s].
            on_fault: told the name of an input that is to be dropped, and why.
        """
        self.hardware = hardware
        self.actuation = actuation
        self.pacing = pacing
        self.ticks = 0
        self._active_inputs = active_inputs
        self._on_fault = on_fault
        self._inputs: list[CommandInput] = []
        self._publishers = publishers
        self._period = round(hardware.time_step * NANOSECONDS)
        self._hold_ticks = round(hold_time / hardware.time_step)
        self._good_ticks = 0
        self._refused = 0
        self._calls = CallQueue()
        self._stop = threading.Event()
        self._begin()

    def _begin(self) -> None:
        self._good_ticks = 0
        if self._hold_ticks or self.pacing.mode == FREE:
            self.phase = Phase.HOLDING
            self.actuation.hold()
        else:
            self.phase = Phase.WAITING
            self.actuation.release()
        self.pacing.restart()

    def call(self, function: Callable[[], ResultT]) -> Future[ResultT]:
        """Run a function in the loop's thread between two ticks."""
        future = self._calls.add(function)
        self._wake()
        return future

    def stop(self) -> None:
        """Let `run` return."""
        self._stop.set()
        self._wake()

    def _wake(self) -> None:
        for source in self._inputs:
            source.subscription.wake()

    def reset(self) -> None:
        """Put the robot back to its start and begin as at first; time goes on."""
        self.hardware.reset()
        for source in self._active_inputs():
            source.forget()
        self._begin()

    def run(self) -> None:
        """Tick until `stop` is called."""
        while not self._stop.is_set():
            self.tick()

    def tick(self) -> None:
        """One period: physics, state out, commands in."""
        if self._calls:
            self._serve()
        self.hardware.read()
        self.ticks += 1
        self._publish()
        self.pacing.state_sent([source.name for source in self._inputs])
        if self.phase is Phase.WAITING:
            self._wait_for_first()
        self.pacing.wait(self._take, self._stop.is_set)
        if self.phase is Phase.HOLDING:
            self._hold()
        else:
            self.actuation.apply(self._inputs)

    def _publish(self) -> None:
        self._look_for_inputs()
        self._publishers.publish(self.ticks, self.ticks * self._period)

    def _wait_for_first(self) -> None:
        """Show the first state again and again until every active controller has answered."""
        while not self._stop.is_set():
            self._take(REPETITION)
            if self._inputs and all(source.complete for source in self._inputs):
                self.phase = Phase.RUNNING
                self.pacing.restart()
                return
            # Somebody who has just come may wait for a picture before the first command.
            self.hardware.look()
            self._publish()

    def _hold(self) -> None:
        """Go on holding, or let go when commands have been good for long enough."""
        now = time.monotonic()
        refused = sum(source.refused for source in self._inputs)
        good = bool(self._inputs) and refused == self._refused
        for source in self._inputs:
            good = good and source.complete and now - source.time < FRESH
        self._refused = refused
        self._good_ticks = self._good_ticks + 1 if good else 0
        if self._good_ticks > self._hold_ticks:
            self.phase = Phase.RUNNING
            self.actuation.apply(self._inputs)
        else:
            self.actuation.send()

    def _take(self, timeout: float) -> None:
        """Take over commands; wait for them at most so long [s] where there are none."""
        if timeout > 0:
            late = [source for source in self._inputs if self.pacing.owes(source.name)]
            if late or self._inputs:
                (late or self._inputs)[0].subscription.wait(timeout)
            else:
                time.sleep(min(timeout, REPETITION))
        if self._calls:
            self._serve()
        for source in self._inputs:
            for _ in range(source.take()):
                self.pacing.command_came(source.name)
            if source.wrong_size >= 0:
                self._refuse(source)
                return

    def _refuse(self, source: CommandInput) -> None:
        """Drop a controller whose commands have the wrong size, as controller_manager does."""
        size, source.wrong_size = source.wrong_size, -1
        self._on_fault(
            source.name, f'command of {size} values, {len(source.values)} expected: deactivated'
        )
        self._look_for_inputs()

    def _serve(self) -> None:
        """Run what other threads have asked for."""
        self._calls.run_all()
        self._look_for_inputs()

    def _look_for_inputs(self) -> None:
        self._inputs = self._active_inputs()
        self.pacing.keep([source.name for source in self._inputs])
