"""Simulations in Python: the user owns the loop."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TextIO, TypeVar

import numpy as np

from cnoid_control.body import Body
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.notebook import (
    draw_bodies,
    html_image,
    html_table,
    picture_of,
    side_by_side,
)
from cnoid_control.recording import Recording
from cnoid_control.runtime.config import RunConfig
from cnoid_control.runtime.world_config import is_world, load_world
from cnoid_control.simulated_robot import RunSummary, SimulatedRobot, load_source

if TYPE_CHECKING:
    from cnoid_control.controllers.sensor_reading import SensorReading
    from cnoid_control.hardware.hardware import Hardware
    from cnoid_control.plugin.mailbox import Mailbox
    from cnoid_control.runtime.loop import ControlLoop
    from cnoid_control.runtime.summary import RunMonitor

ONE = 'robot'

P = ParamSpec('P')
T = TypeVar('T')


def load_robot(model: str | Path) -> Body:
    """Robot for kinematics and dynamics alone, without a simulation.

    Args:
        model: a model file, the name of one of the package's, or of a robot in the cache.

    Raises:
        CnoidControlError: there is no such model, or it cannot be read.
    """
    from cnoid_control.runtime.defaults import robot_of_model

    body = robot_of_model(model)
    body.calc_forward_kinematics()
    return body


def _moves(
    method: Callable[Concatenate[Simulation, P], T],
) -> Callable[Concatenate[Simulation, P], T]:
    """Method that only one thread may be in."""

    @wraps(method)
    def alone(self: Simulation, *args: P.args, **kwargs: P.kwargs) -> T:
        before = self._mover
        if not self._lock.acquire(blocking=False):
            raise self._occupied(method.__name__, before)
        self._mover = threading.get_ident()
        try:
            return method(self, *args, **kwargs)
        finally:
            self._mover = 0
            self._lock.release()

    return alone


class Simulation:
    """A simulated world with one robot or several, that moves when it is told to.

    The same loop as `cnoid_control run` and the node have: watchdog, limits, safe state and
    `on_fault`, which in a simulation ends the run. It is taken in the thread that asks; a
    controller that does not return keeps that thread. Only one thread at a time may move it; any
    thread may call `request_stop`.

    With one robot, `robot`, `controller`, `recorded` and the other properties are that robot's;
    with several they are found in `robots`.

    Attributes:
        robots: the robots by name.
    """

    def __init__(
        self,
        source: str | Path | RunConfig | None = None,
        controller: Any = None,
        *,
        options: Mapping[str, Any] | None = None,
        changes: Mapping[str, Any] | None = None,
        robots: Mapping[str, Any] | None = None,
        record: bool = True,
        os: TextIO | None = None,
        hardware: Hardware | None = None,
    ) -> None:
        """Build the simulation; nothing moves yet.

        Args:
            source: a configuration (RunConfig, or the name or file of one), a file that describes
                several robots, or a robot model.
            controller: in the place of the configuration's: a name, a class derived from
                SimpleController or BaseController, an instance of one, a function
                `control(robot, t, ...)` that is called once per tick, or a function
                `make(robot, ...)` that returns an instance.
            options: options of the controller, in addition to the configuration's.
            changes: other values of the configuration, by key: {'hardware.mujoco.floor': False}.
            robots: several robots by name, in the place of `source`: what `source` may be, or a
                map with `config`, `controller`, `options`, `position` (x, y and, where it is not
                the configuration's, z [m]) and `rpy` [rad]. With
                `changes` for the world that they share (`rate`, `hardware.mujoco...`).
            record: whether every tick is kept for `recorded`; False for runs without an end.
            os: stream for messages; the standard error where None.
            hardware: the simulated robot, where there is one already; made from the configuration
                where None.

        Raises:
            CnoidControlError: a configuration, a model or a controller is wrong.
        """
        self._lock = threading.Lock()
        # Identity of the thread that moves it; 0 for none.
        self._mover = 0
        if (source is None) == (robots is None):
            raise CnoidControlError('a Simulation is made of a source, or of `robots`')
        if isinstance(source, (str, Path)) and is_world(source):
            if controller is not None or options:
                raise CnoidControlError(
                    f'{source}: has several robots; their controllers are in its `robots`'
                )
            robots, changes = load_world(source, changes or {})
        if source is not None and robots is None:
            config, maker = load_source(source, controller, options, changes)
            self.robots = {ONE: SimulatedRobot(ONE, config, maker, hardware, os, record)}
        else:
            if controller is not None or options:
                raise CnoidControlError('the controllers of several robots are in `robots`')
            if hardware is not None:
                raise CnoidControlError('hardware is that of one robot, and there are several')
            from cnoid_control.shared_world import make_robots

            self.robots = make_robots(robots or {}, changes or {}, os, record)
        self._first = next(iter(self.robots.values()))
        self._is_closed = False
        # Who forgets to close it has its controllers stopped in the end all the same.
        weakref.finalize(self, _close, list(self.robots.values()))

    # --- one robot ----------------------------------------------------------------------------

    @property
    def _only(self) -> SimulatedRobot:
        if len(self.robots) != 1:
            raise CnoidControlError(f'there are several robots; {choices(self.robots)} in .robots')
        return self._first

    @property
    def robot(self) -> Body:
        """The robot: its measured state, and the commands for it."""
        return self._only.body

    @property
    def controller(self) -> Any:
        """The main controller, initialized; what a function has made, where one makes it."""
        self._demand_own('controller')
        return self._only.controller

    @property
    def recorded(self) -> Recording:
        """What has happened so far, as arrays: `recorded.time`, `recorded.q`, ..."""
        self._demand_own('recorded')
        return self._only.recorded

    def sensor(self, key: str | int) -> SensorReading:
        """Sensor by name or number, see `SimulatedRobot.sensor`."""
        self._demand_own('sensor')
        return self._only.sensor(key)

    def mailbox(self, name: str) -> Mailbox[Any]:
        """Mailbox of a controller, see `SimulatedRobot.mailbox`."""
        self._demand_own('mailbox')
        return self._only.mailbox(name)

    def log(self, file: str | Path) -> None:
        """Record the run into a log file, see `SimulatedRobot.log`; it is complete when closed."""
        self._demand_own('log')
        self._only.log(file)

    @property
    def config(self) -> RunConfig:
        """The configuration."""
        return self._only.config

    @property
    def hardware(self) -> Hardware:
        """The simulated robot as the loop sees it; in MuJoCo it has `model` and `data`."""
        return self._only.hardware

    @property
    def loop(self) -> ControlLoop:
        """The loop."""
        return self._only.loop

    @property
    def monitor(self) -> RunMonitor:
        """Statistics so far."""
        return self._only.monitor

    @_moves
    def complete(self, duration: float, real_time: bool = False) -> RunSummary:
        """Do a whole run and stop the controllers, as `cnoid_control run` does.

        Ticks are taken in a thread of their own: a controller that never returns ends the run,
        and so does `request_stop()` from another thread. What is run afterwards goes on from
        there, with controllers that begin anew where the robot is.

        Args:
            duration: simulated time [s]; may be infinite.
            real_time: wait so that ticks come at the pace of the wall clock.

        Raises:
            CnoidControlError: the run has ended before, or there are several robots.
        """
        only = self._only
        # Who asks for the end before the first tick gets a run without a tick.
        if self._is_closed or only.loop.tick:
            self._demand_going()
        only.complete(duration, real_time)
        return self.summary()

    def push(
        self,
        link: str,
        force: Sequence[float] | np.ndarray,
        duration: float,
        point: Sequence[float] | np.ndarray | None = None,
    ) -> None:
        """Push a link from the next tick on, see `SimulatedRobot.push`."""
        self._demand_own('push')
        self._only.push(link, force, duration, point)

    # --- all robots ---------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Time of the last state [s]."""
        return self._first.hardware.time

    @property
    def time_step(self) -> float:
        """Period of the ticks [s]."""
        return self._first.hardware.time_step

    @property
    def has_ended(self) -> bool:
        """Whether no more ticks can be taken: a robot has failed, or its controllers finished."""
        return any(robot.has_ended for robot in self.robots.values())

    @_moves
    def step(self) -> bool:
        """One tick: read, watchdog, control, safe state, limits, write.

        Returns:
            Whether there can be another one.

        Raises:
            CnoidControlError: the run has ended before, or the simulation diverged.
        """
        self._demand_going()
        return self._step()

    def _step(self) -> bool:
        self._begin()
        for robot in self.robots.values():
            robot.loop.step()
        return not self.has_ended

    @_moves
    def run(self, duration: float, real_time: bool = False) -> RunSummary:
        """Take ticks for a time; again, it goes on from there.

        Args:
            duration: simulated time [s].
            real_time: wait so that ticks come at the pace of the wall clock.

        Returns:
            What has happened so far. Its `exit` says whether something failed.

        Raises:
            CnoidControlError: the run has ended before.
        """
        if not 0.0 <= duration < np.inf:
            raise CnoidControlError(f'duration is {duration!r}; a finite time was expected')
        self._demand_going()
        self._begin()
        if len(self.robots) == 1:
            self._first.loop.advance(duration, real_time)
        else:
            last = self._first.loop.tick + round(duration / self.time_step)
            while self._first.loop.tick < last and not self.has_ended:
                for robot in self.robots.values():
                    robot.loop.advance(self.time_step, real_time)
        return self.summary()

    def request_stop(self) -> None:
        """End the run after the present tick; from any thread, and from a signal handler."""
        for robot in self.robots.values():
            robot.loop.request_stop()

    @_moves
    def swap(
        self,
        controller: Any,
        options: Mapping[str, Any] | None = None,
        blend_time: float = 0.3,
        robot: str = '',
    ) -> None:
        """Have another controller take over, without a bump; its first tick is taken.

        Args:
            controller: a name, a class, an instance or a function, as for the constructor.
            options: its options.
            blend_time: time in which commands move from the old one's to the new one's [s].
            robot: which robot, where there are several.

        Raises:
            CnoidControlError: it cannot; the present controller goes on. So it does where the new
                one fails before the commands are its own.
        """
        if robot and robot not in self.robots:
            raise CnoidControlError(f'unknown robot {robot!r}; {choices(self.robots)}')
        if not 0.0 <= blend_time < np.inf:
            raise CnoidControlError(f'blend_time is {blend_time!r}; a finite time was expected')
        member = self.robots[robot] if robot else self._only
        self._demand_going()
        self._begin()
        before, maker = member.config, member.maker
        transition = member.prepare_swap(controller, options, blend_time)
        self._step()
        member.confirm_swap(transition, before, maker)

    @_moves
    def reset(self) -> None:
        """Go back to the start: same state, fresh controllers, empty records.

        What follows is the same again, to the bit. A controller that was given as an instance is
        configured and initialized anew; all others are made anew. After a swap it is the
        controller that had taken over.

        Raises:
            CnoidControlError: this kind of robot cannot be set back.
        """
        for robot in self.robots.values():
            robot.reset()
        self._is_closed = False

    def summary(self) -> RunSummary:
        """What has happened so far, as `cnoid_control run --json` prints it."""
        self._demand_own('summary')
        if len(self.robots) == 1:
            return self._first.summary()
        parts = {name: robot.summary() for name, robot in self.robots.items()}
        first = next(iter(parts.values()))
        failed = [name for name, part in parts.items() if part['exit'] == 'failed']
        summary = RunSummary(
            exit='failed' if failed else first['exit'],
            ticks=first['ticks'],
            duration=first['duration'],
            fell=any(part['fell'] for part in parts.values()),
            robots=parts,
        )
        if failed:
            summary['reason'] = '; '.join(f'{name}: {parts[name]["reason"]}' for name in failed)
        return summary

    def picture(self) -> np.ndarray:
        """Picture of the robots as they stand now, RGB, uint8, shape (height, width, 3)."""
        return picture_of([robot.body for robot in self.robots.values()])

    @_moves
    def close(self) -> None:
        """Stop the controllers; the records stay, and only `reset` begins anew."""
        self._is_closed = True
        _close(self.robots.values())

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _demand_own(self, name: str) -> None:
        """Refuse what must not be asked while another thread moves the simulation."""
        mover = self._mover
        if mover not in (0, threading.get_ident()):
            raise self._occupied(name, mover)

    @staticmethod
    def _occupied(name: str, mover: int) -> CnoidControlError:
        if mover == threading.get_ident():
            return CnoidControlError(
                f'{name} was called from within a tick: a controller cannot move the simulation '
                'that calls it'
            )
        return CnoidControlError(
            f'{name} was called while another thread moves this simulation: use it in one '
            'thread, or make a Simulation for each; request_stop() may be called from any'
        )

    def _begin(self) -> None:
        for robot in self.robots.values():
            robot.begin()

    def _demand_going(self) -> None:
        if self._is_closed:
            raise CnoidControlError('the simulation is closed; reset() begins it anew')
        for robot in self.robots.values():
            if robot.has_ended:
                outcome = robot.loop.outcome()
                why = outcome.reason or outcome.exit
                raise CnoidControlError(f'the run has ended: {why}; reset() begins it anew')

    def __repr__(self) -> str:
        robots = ', '.join(repr(robot) for robot in self.robots.values())
        return f'<Simulation at {self.time:g} s: {robots}>'

    def _repr_html_(self) -> str:
        if len(self.robots) == 1:
            return self._first._repr_html_()
        rows = {name: repr(robot) for name, robot in self.robots.items()}
        table = html_table(rows, f'{len(rows)} robots at {self.time:g} s')
        return side_by_side(html_image(self._repr_png_()), table)

    def _repr_png_(self) -> bytes | None:
        return draw_bodies([robot.body for robot in self.robots.values()])


def _close(robots: Iterable[SimulatedRobot]) -> None:
    for robot in robots:
        robot.close()


def run(
    source: str | Path | RunConfig,
    controller: Any = None,
    duration: float | None = None,
    **arguments: Any,
) -> Simulation:
    """Run a simulation to its end.

    Args:
        source: as for `Simulation`.
        controller: as for `Simulation`.
        duration: simulated time [s]; the configuration's where None.
        **arguments: further arguments of `Simulation`.

    Returns:
        The simulation, its controllers stopped: `recorded` and `summary()` say what has happened.
        `.run(1.0)` goes on from there.

    Raises:
        CnoidControlError: the simulation cannot be built, or has no duration.
    """
    simulation = Simulation(source, controller, **arguments)
    if duration is None:
        duration = simulation._first.config.parameters.duration
    if not duration:
        raise CnoidControlError('duration: the configuration has none; say how long')
    if not 0.0 < duration < np.inf:
        raise CnoidControlError(f'duration is {duration!r}; a finite time above 0 s was expected')
    if len(simulation.robots) == 1:
        simulation.complete(duration)
    else:
        with simulation:
            simulation.run(duration)
    return simulation
