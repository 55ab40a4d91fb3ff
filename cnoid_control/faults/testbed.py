"""Embedded run with fault injection."""

from __future__ import annotations

import io
import math
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from cnoid_control.body import Body
from cnoid_control.faults.faulty_controller import FaultyController
from cnoid_control.hardware.hardware import Hardware, IORequest
from cnoid_control.hardware.mujoco.hardware import MujocoHardware
from cnoid_control.runtime.build import LoopReports, make_loop
from cnoid_control.runtime.config import RunConfig, load_config
from cnoid_control.runtime.defaults import make_robot
from cnoid_control.runtime.loop_thread import LoopThread
from cnoid_control.runtime.realtime import QuietProcess
from cnoid_control.runtime.recorder import Recorder

FAULTY_CONTROLLER = 'cnoid_control.faults.faulty_controller:FaultyController'
DEVICES = ('WaistIMU', 'LeftAnkleForceSensor', 'RightAnkleForceSensor')
# SR1's limits as its model states them, for a check that does not ask the limiter.
MAX_EFFORT = 500.0
STANDING_HEIGHT = 0.6
# Longest wait for the robot to move for the time that is wanted [s].
MAX_WAIT = 60.0


class FaultyHardware(Hardware):
    """A simulated robot whose messages can be corrupted on their way to the loop.

    The robot and the loop have a body each: a state that does not arrive is unknown to the loop,
    while the robot goes on moving.

    Attributes:
        body: the body of the loop.
        corrupt: called in each read with the loop's body once the state is in it; returns whether
            the state counts as fresh.
        muted: names of the devices whose states do not arrive.
        is_due: whether the last state was fresh.
        bad_commands: commands so far that were non-finite or beyond the robot's limits.
        writes: for each command when it came, on the monotonic clock and on the robot's [s].
    """

    name = 'faulty'
    feeds_watchdog = True

    def __init__(self, robot: MujocoHardware) -> None:
        self.body: Body = robot.body.clone()
        self.time_step = robot.time_step
        self.time = 0.0
        self.corrupt: Callable[[Body], bool] = lambda body: True
        self.muted: set[str] = set()
        self.is_due = True
        self.bad_commands = 0
        self.writes: list[tuple[float, float]] = []
        self._robot = robot
        self._devices: list[str] = []

    @property
    def robot_time(self) -> float:
        """Time of the simulated robot itself [s], not the one that the loop reads."""
        return self._robot.time

    def open(self, request: IORequest) -> None:
        """Open the robot with the loop's commands."""
        self._pass_commands()
        self._robot.open(request)
        self._devices = sorted(request.devices)

    def read(self) -> bool:
        """Step the robot, and copy its state to the loop's body unless it is corrupted away."""
        self._robot.read()
        theirs, mine = self._robot.body, self.body
        before = mine.q.copy(), mine.dq.copy()
        mine.q[:], mine.dq[:] = theirs.q, theirs.dq
        self.time = self._robot.time
        self.is_due = self.corrupt(mine) and bool(np.isfinite(mine.q).all())
        watchdog = self.watchdog
        if not self.is_due:
            mine.q[:], mine.dq[:] = before
        elif watchdog is not None:
            watchdog.state_stamped(self.time)
            watchdog.feed('state_timeout')
        for name in self._devices:
            if name not in self.muted and watchdog is not None:
                watchdog.feed(f'device_timeout:{name}')
        return True

    def write(self) -> None:
        """Pass the commands on, and check them independently of the limiter."""
        self.writes.append((time.monotonic(), self._robot.time))
        for effort in self.body.u.tolist():
            if not math.isfinite(effort) or abs(effort) > MAX_EFFORT:
                self.bad_commands += 1
        self._pass_commands()
        self._robot.write()

    def close(self) -> None:
        """Close the robot."""
        self._robot.close()

    def _pass_commands(self) -> None:
        for name in ('u', 'q_target', 'dq_target'):
            getattr(self._robot.body, name)[:] = getattr(self.body, name)

    @property
    def stands(self) -> bool:
        """Whether SR1 is on its feet."""
        height = float(self._robot.data.qpos[2])
        upright = float(self._robot.body.root_link.R[2, 2])
        return height > STANDING_HEIGHT and upright > 0.9


class EmbeddedTestbed:
    """The loop of `cnoid_control run sr1_pd`, with a controller and a robot that can fail.

    `make_loop` makes it, as for a user; what differs is `on_fault: hold`, so that there is
    something to watch after the fault, and that the loop's thread keeps the pace of the wall
    clock.

    Attributes:
        config: the configuration.
        robot: the robot.
        loop: the loop.
        entered: when the safe state was entered last, on the monotonic and the robot's clock [s].
        messages: what was written to the message stream.
        log_path: the file that everything is recorded to.
        recorder: writes that file.
        undo: functions that `close` calls.
        notes: sentences to add to the outcome.
    """

    def __init__(self) -> None:
        """Start the loop, and let SR1 stand for a second of simulated time."""
        self.config: RunConfig = load_config(
            'sr1_pd',
            {
                'controller': FAULTY_CONTROLLER,
                'faulty_controller.devices': list(DEVICES),
                'watchdog.grace': 0.0,
                'on_fault': 'hold',
            },
        )
        given, dt = self.config.parameters, self.config.time_step
        simulated = MujocoHardware(
            make_robot(given.robot, self.config.folder), self.config.hardware_parameters, dt
        )
        self.robot = FaultyHardware(simulated)
        self.messages = io.StringIO()
        self.entered = 0.0, 0.0
        reports = LoopReports(self.messages, safe_state=self._note_entry)
        self.loop = make_loop(self.config, self.robot, reports=reports)
        self._folder = tempfile.TemporaryDirectory()
        self.log_path = Path(self._folder.name) / 'run.mcap'
        # Nothing is watched yet: to begin it takes long where there is much to collect. And a
        # controller that loops must not keep the interpreter from the monitor for long.
        quiet = QuietProcess()
        quiet.begin()
        self.undo: list[Callable[[], None]] = [quiet.end]
        self.notes: list[str] = []
        self.recorder = Recorder(self.log_path, self.robot.body, os=self.messages)
        self.loop.recorder = self.recorder
        self.loop.open()
        self._first = self.controller
        for _ in range(round(1.0 / dt)):
            self.loop.step()
        self._ends = threading.Event()
        self._thread = LoopThread(self.loop, self._take_ticks)
        self._thread.start(paced=True)

    @property
    def controller(self) -> FaultyController:
        """The controller that was started."""
        controller = self.loop.host.controllers[0].controller
        assert isinstance(controller, FaultyController)
        return controller

    def _take_ticks(self) -> None:
        """Run the loop at the pace of the wall clock."""
        dt = self.config.time_step
        due = time.monotonic()
        while not self._ends.is_set():
            self.loop.step()
            due = max(due + dt, time.monotonic() - dt)
            time.sleep(max(0.0, due - time.monotonic()))

    def run(self, duration: float) -> None:
        """Wait until the robot has moved for a duration [s], for MAX_WAIT at most."""
        end = self.robot.robot_time + duration
        deadline = time.monotonic() + MAX_WAIT
        while self.robot.robot_time < end and time.monotonic() < deadline:
            time.sleep(self.config.time_step)

    def first_write_after(self, moment: float, clock: int = 0) -> float:
        """When the first command at or after a moment came; infinite for never [s].

        Args:
            moment: the moment [s].
            clock: 0 for the monotonic clock, 1 for the robot's.
        """
        return next(
            (write[clock] for write in self.robot.writes if write[clock] >= moment), math.inf
        )

    def _note_entry(self, reason: str) -> None:
        self.entered = time.monotonic(), self.robot.robot_time

    def close(self) -> None:
        """End the loop and undo the fault."""
        for undo in self.undo:
            undo()
        # What is left behind of this row must not take the processor from the next one.
        self._first.is_released = True
        self._ends.set()
        self._thread.stop()
        self.loop.close()
        self._folder.cleanup()
