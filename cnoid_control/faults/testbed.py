"""Embedded run with fault injection."""

from __future__ import annotations

import io
import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from cnoid_control.body import Body
from cnoid_control.faults.faulty_controller import FaultyController
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.hardware.mujoco.hardware import MujocoHardware
from cnoid_control.runtime.assembly import make_controllers, make_robot
from cnoid_control.runtime.config import RunConfig, load_config
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.guarded_loop import GuardedLoop
from cnoid_control.runtime.realtime import GcPause
from cnoid_control.runtime.recorder import Recorder
from cnoid_control.runtime.safety.limits import CommandLimiter
from cnoid_control.runtime.safety.safe_state import SafeState
from cnoid_control.runtime.safety.watchdog import Watchdog

FAULTY_CONTROLLER = 'cnoid_control.faults.faulty_controller:FaultyController'
DEVICES = ('WaistIMU', 'LeftAnkleForceSensor', 'RightAnkleForceSensor')
# SR1's limits as its model states them, for a check that does not ask the limiter.
MAX_EFFORT = 500.0
STANDING_HEIGHT = 0.6


class FaultyHardware:
    """A simulated robot whose messages can be spoilt on their way to the loop.

    The robot and the loop have a body each: what the loop does not get, it does not know, while
    the robot goes on moving.

    Attributes:
        body: what the loop knows and commands.
        corrupt: called in each read with the loop's body once the state is in it; returns whether
            the state counts as fresh.
        muted: names of the devices whose states do not arrive.
        watchdog: told of fresh states and devices.
        is_due: whether the last state was fresh.
        bad_commands: commands so far that were not numbers or beyond the robot's limits.
        writes: when each command came, steady clock [s].
    """

    name = 'breakable'

    def __init__(self, robot: MujocoHardware) -> None:
        """Stand between a loop and a simulated robot."""
        self.body: Body = robot.body.clone()
        self.time_step = robot.time_step
        self.time = 0.0
        self.corrupt: Callable[[Body], bool] = lambda body: True
        self.muted: set[str] = set()
        self.watchdog: Watchdog | None = None
        self.is_due = True
        self.bad_commands = 0
        self.writes: list[float] = []
        self._robot = robot
        self._devices: list[str] = []

    def open(self, request: IORequest) -> None:
        """Open the robot with the loop's commands."""
        self._pass_commands()
        self._robot.open(request)
        self._devices = sorted(request.devices)

    def read(self) -> bool:
        """Let the robot move on, and hand over what is not spoilt."""
        self._robot.read()
        theirs, mine = self._robot.body, self.body
        before = mine.q.copy(), mine.dq.copy()
        mine.q[:], mine.dq[:] = theirs.q, theirs.dq
        stamp = self._robot.time
        self.time = stamp
        self.is_due = self.corrupt(mine) and bool(np.isfinite(mine.q).all())
        if self.is_due:
            if self.watchdog is not None:
                self.watchdog.feed('state_age')
                self.watchdog.state_stamped(self.time)
        else:
            mine.q[:], mine.dq[:] = before
        for name in self._devices:
            if name not in self.muted and self.watchdog is not None:
                self.watchdog.feed(f'device_age:{name}')
        return True

    def write(self) -> None:
        """Hand the commands over, and look at them with no help from the limiter."""
        self.writes.append(time.monotonic())
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


class EmbeddedRig:
    """A guarded loop with SR1's standing controller on a breakable robot.

    Attributes:
        config: the configuration.
        robot: the robot.
        guard: the watchdog.
        loop: the loop.
        messages: what was written to the message stream.
        log_path: the file that everything is recorded to.
        recorder: writes that file.
        undo: called when it is taken apart.
        notes: what is worth telling of what happened.
    """

    def __init__(self) -> None:
        """Put it together and let SR1 stand for a second of simulated time."""
        self.config: RunConfig = load_config(
            'sr1_pd',
            {
                'controller': FAULTY_CONTROLLER,
                'faulty_controller.devices': list(DEVICES),
                'watchdog.grace': 0.0,
            },
        )
        given, dt = self.config.parameters, self.config.time_step
        simulated = MujocoHardware(
            make_robot(given.robot, self.config.folder), self.config.hardware_parameters, dt
        )
        self.robot = FaultyHardware(simulated)
        self.messages = io.StringIO()
        self.guard = Watchdog(given.watchdog)
        body = self.robot.body
        self.entered = 0.0
        safe_state = SafeState(body, given.safe_state, dt, self._note_entry)
        host = ControllerHost(make_controllers(self.config), body, dt, self.messages)
        limiter = CommandLimiter(body, given.limits, dt)
        self._folder = tempfile.TemporaryDirectory()
        self.log_path = Path(self._folder.name) / 'run.mcap'
        # Nothing is watched yet: to begin it takes long where there is much to collect. And a
        # controller that loops must not keep the interpreter from the monitor for long.
        rest = GcPause()
        rest.begin()
        self.undo: list[Callable[[], None]] = [rest.end]
        self.notes: list[str] = []
        self.recorder = Recorder(self.log_path, body, os=self.messages)
        self.loop = GuardedLoop(
            self.robot, host, self.guard, safe_state, limiter, recorder=self.recorder
        )
        self.loop.open()
        self.guard.watch_states()
        self.guard.watch_devices(DEVICES)
        self.robot.watchdog = self.guard
        self.guard.start()
        for _ in range(round(1.0 / dt)):
            self.loop.step()
        self.loop.start_monitor()

    @property
    def controller(self) -> FaultyController:
        """The controller that was started."""
        controller = self.loop.host.controllers[0].controller
        assert isinstance(controller, FaultyController)
        return controller

    def run(self, duration: float) -> None:
        """Take ticks at the pace of the clock on the wall, for so long [s]."""
        end = time.monotonic() + duration
        due = time.monotonic()
        while time.monotonic() < end:
            self.loop.step()
            due = max(due + self.config.time_step, time.monotonic() - self.config.time_step)
            time.sleep(max(0.0, due - time.monotonic()))

    def first_write_after(self, moment: float) -> float:
        """When the first command after a moment came; infinite for never [s]."""
        return next((when for when in self.robot.writes if when >= moment), math.inf)

    def _note_entry(self, reason: str) -> None:
        self.entered = time.monotonic()

    def close(self) -> None:
        """Take it apart."""
        for undo in self.undo:
            undo()
        self.loop.stop_monitor()
        self.loop.close()
        self._folder.cleanup()
