"""Stress of the take-over: controllers that take about their time limit, many times.

    python tools/soak.py --take-overs 100000

A controller's duration is drawn around its time limit, so that it and the monitor close its call
at the same moment; others ask for stops and end the loop's thread meanwhile. What touches the
robot counts the threads that do so at once.
"""

from __future__ import annotations

import io
import random
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cnoid_control.body import Body, JointType, StateFlag
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.hardware.hardware import Hardware, IORequest
from cnoid_control.plugin import ControllerIO, SimpleController
from cnoid_control.runtime.build import wire_loop
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.loop_thread import LoopThread
from cnoid_control.runtime.managed_controller import ManagedController
from cnoid_control.runtime.safety.safe_state import SafeStateParameters
from cnoid_control.runtime.safety.watchdog import WatchdogParameters

# Time limit of control(), and how far around it durations lie [s].
LIMIT = 0.001
SPREAD = (-0.0001, 0.0003)
# One tick among so many takes long.
SLOW_TICKS = 1.5
SWITCH_INTERVAL = 5e-5
# Time between two attempts to end the loop's thread [s].
END_PERIOD = 0.1


@dataclass
class Figures:
    """What came of it.

    Attributes:
        take_overs: calls that were taken from a controller.
        races_won: slow calls that the controller returned from in time.
        met: times that two threads touched the robot at once.
        late_touches: times that a thread touched the robot after it had lost it.
        exceptions: exceptions that came out of any thread.
        ticks: states that were read.
        commands: commands that were written.
        unsafe: controllers that were stopped while they computed.
    """

    take_overs: int = 0
    races_won: int = 0
    met: int = 0
    late_touches: int = 0
    exceptions: int = 0
    ticks: int = 0
    commands: int = 0
    unsafe: int = 0

    @property
    def is_clean(self) -> bool:
        """Whether nobody met, nothing was raised, and every tick had a command."""
        wrong = self.met + self.late_touches + self.exceptions + self.unsafe
        return wrong == 0 and self.ticks == self.commands


class CountingRobot(Hardware):
    """A joint that stays where it is, and counts the threads that touch it at once."""

    name = 'counting'

    def __init__(self, figures: Figures) -> None:
        """Begin with nobody there."""
        base = LinkDescription('base', joint_type=JointType.FIXED)
        arm = LinkDescription(
            'arm',
            parent='base',
            joint_name='joint',
            joint_type=JointType.REVOLUTE,
            joint_id=0,
            translation=np.array([0.0, 0.0, 0.3]),
        )
        self.body = Body(BodyDescription('arm', [base, arm]))
        self.time_step = 0.001
        self.time = 0.0
        self._figures = figures
        self._inside = 0

    def touch(self, work: Callable[[], Any] = lambda: None) -> Any:
        """Do something with the robot, and count who else does."""
        self._inside += 1
        if self._inside > 1:
            self._figures.met += 1
        # Where others may come in between.
        time.sleep(0.0)
        try:
            return work()
        finally:
            self._inside -= 1

    def open(self, request: IORequest) -> None:
        """Count."""
        self.touch()

    def read(self) -> bool:
        """Count a tick."""
        self.touch()
        self._figures.ticks += 1
        self.time += self.time_step
        return True

    def write(self) -> None:
        """Count a command."""
        self.touch()
        self._figures.commands += 1


class CountingHost(ControllerHost):
    """Controllers whose inputs and outputs are counted as touching the robot."""

    robot: CountingRobot
    figures: Figures

    def compile(self) -> None:
        """Have all copies of a tick made in one counted call."""
        super().compile()
        self._inputs = [partial(self._copy, self._inputs)]
        self._outputs = [partial(self._copy, self._outputs)]

    def _copy(self, copies: list[Callable[[], None]]) -> None:
        self.figures.late_touches += self.is_abandoned
        self.robot.touch(lambda: [copy() for copy in copies])


class SlowController(SimpleController):
    """Takes about its time limit now and then, asleep or busy."""

    def __init__(self, chance: random.Random, figures: Figures) -> None:
        """Draw durations from `chance`."""
        self._chance = chance
        self._figures = figures
        self._is_busy = False

    def initialize(self, io: ControllerIO) -> bool:
        """Command efforts."""
        self._body = io.body
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_EFFORT
            io.enable_io(joint)
        return True

    def control(self) -> bool:
        """Be quick, or take about the limit."""
        self._is_busy = True
        if self._chance.random() < 1.0 / SLOW_TICKS:
            duration = LIMIT + self._chance.uniform(*SPREAD)
            if self._chance.random() < 0.5:
                time.sleep(duration)
            else:
                end = time.perf_counter() + duration
                while time.perf_counter() < end:
                    pass
            self._figures.races_won += 1
        self._body.u[:] = 1.0
        self._is_busy = False
        return True

    def stop(self) -> None:
        """Must not come while control() runs."""
        self._figures.unsafe += self._is_busy


class TakeOvers:
    """One loop whose controllers lose the robot again and again."""

    def __init__(self, count: int, seed: int = 1) -> None:
        """Prepare.

        Args:
            count: take-overs to reach.
            seed: of the durations and moments.
        """
        self.figures = Figures()
        self._count = count
        self._chance = random.Random(seed)
        self._robot = CountingRobot(self.figures)
        self._os = io.StringIO()
        self._loop = wire_loop(
            self._robot,
            self._make_host(),
            watchdog=WatchdogParameters(control_timeout=LIMIT),
            safe_state=SafeStateParameters(effort='zero', resume_blend_time=0.0),
            on_fault='hold',
        )
        self._ends = threading.Event()

    def _make_host(self) -> CountingHost:
        managed = ManagedController('slow', SlowController(self._chance, self.figures))
        host = CountingHost([managed], self._robot.body, self._robot.time_step, self._os)
        host.robot, host.figures = self._robot, self.figures
        return host

    def _take_ticks(self) -> None:
        loop = self._loop
        while not self._ends.is_set() and self.figures.take_overs < self._count:
            loop.step()
            if loop.safe_state.is_engaged:
                self._reset()

    def _reset(self) -> None:
        """Let fresh controllers have the robot."""
        if self._loop.host.is_abandoned:
            self.figures.take_overs += 1
            self.figures.races_won -= 1
        host = self._make_host()
        host.configure()
        host.initialize(standby=True)
        host.start()
        self._loop.restart(host)
        # What is written there is not looked at, and would only become longer.
        self._os.seek(0)
        self._os.truncate(0)

    def run(self) -> Figures:
        """Run until there were as many as wanted."""
        interval = sys.getswitchinterval()
        before = threading.excepthook
        sys.setswitchinterval(SWITCH_INTERVAL)
        threading.excepthook = self._note_exception
        try:
            self._loop.open()
            self._run_threads()
            self._wait_for_losers()
            self._loop.close()
        finally:
            threading.excepthook = before
            sys.setswitchinterval(interval)
        return self.figures

    def end(self) -> None:
        """Have all threads end that were left behind."""
        self._ends.set()
        self._loop.monitor.stop()
        self._wait_for_losers()

    def _run_threads(self) -> None:
        """Run threads one after the other: each is ended at some moment, whatever it is at."""
        while self.figures.take_overs < self._count:
            self._ends.clear()
            thread = LoopThread(self._loop, self._take_ticks)
            thread.start(paced=True)
            thread.join(self._chance.uniform(0.0, END_PERIOD))
            self._loop.request_safe_state('asked for')
            self._ends.set()
            while thread.is_running:
                thread.stop(self._chance.uniform(0.0, LIMIT))
            self.figures.exceptions += thread.error is not None
            if self._loop.host.is_abandoned:
                # The robot was taken from that thread: its tick is finished here.
                self._loop.step()
                self._reset()

    def _note_exception(self, args: threading.ExceptHookArgs) -> None:
        self.figures.exceptions += 1

    def _wait_for_losers(self) -> None:
        deadline = time.monotonic() + 10.0
        while any(one.name == 'control loop' for one in threading.enumerate()):
            if time.monotonic() > deadline:
                raise TimeoutError('a thread that was left behind does not end')
            time.sleep(0.01)


def report(figures: Figures) -> str:
    """The figures in one line."""
    return (
        f'{figures.take_overs} take-overs, {figures.races_won} slow calls that returned in time, '
        f'{figures.ticks} ticks, {figures.commands} commands; two threads met: {figures.met}, '
        f'touches after a loss: {figures.late_touches}, exceptions: {figures.exceptions}, '
        f'stops of a controller that computed: {figures.unsafe}'
    )
