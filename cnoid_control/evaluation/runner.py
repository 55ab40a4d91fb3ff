"""Randomised runs, one after the other, on a model that is compiled once."""

from __future__ import annotations

import contextlib
import gc
import io
import logging
import math
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cnoid_control.evaluation.randomization import SECTION, Randomization, run_seed
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.hardware.mujoco.parameters import NOT_COMPILED, MujocoParameters
from cnoid_control.parameters import ParameterError
from cnoid_control.runtime.config import RunConfig, override, parse_config
from cnoid_control.runtime.defaults import make_robot
from cnoid_control.simulated_robot import RunSummary, load_source
from cnoid_control.simulation import Simulation

# Values of a run, by name; numbers, texts and truth values.
Row = dict[str, Any]
# Runs after which garbage is collected.
COLLECTED = 8
# What a user measures of a run that is over.
Metric = Callable[[Simulation], Mapping[str, Any]]


@dataclass
class RandomizedRuns:
    """Everything that a worker needs to do the runs of an evaluation; can be pickled.

    Attributes:
        config: the configuration.
        section: its `randomize` section, with what was added to it.
        duration: of a run [s].
        seed: seed of the evaluation.
        controller: class or function in the place of the configuration's controller, if any.
        metrics: functions that measure more of a run that is over.
        stop_on_fall: whether a run ends when the robot has fallen.
        timeout: time that a run may take in a worker, on the wall clock [s].
        home: process that the runs were asked for in.
    """

    config: RunConfig
    section: dict[str, Any]
    duration: float
    seed: int = 0
    controller: Any = None
    metrics: tuple[Metric, ...] = ()
    stop_on_fall: bool = True
    timeout: float = math.inf
    home: int = field(default_factory=os.getpid)

    def __call__(self) -> Callable[[Any], Row]:
        """What does a run by its number: once per worker."""
        if os.getpid() == self.home:
            return Runner(self).row
        # The first process has built the same robot, and said what there is to say.
        logging.getLogger('cnoid_control').setLevel(logging.ERROR)
        runner = Runner(self)
        # What is there now stays: to look for garbage then costs little.
        gc.collect()
        gc.freeze()
        return runner.row_in_time


class _Model:
    """A robot and its compiled physics, for every run of it."""

    def __init__(self, config: RunConfig) -> None:
        given = config.parameters
        self.key = model_key(config)
        self.body = make_robot(given.robot, config.folder, config.time_step)
        self.mapping = None
        if isinstance(config.hardware_parameters, MujocoParameters):
            from cnoid_control.hardware.mujoco.deviations import ModelSnapshot
            from cnoid_control.hardware.mujoco.model import build_model

            self.mapping = build_model(self.body, config.hardware_parameters, config.time_step)
            self._snapshot = ModelSnapshot(self.mapping.model)

    def hardware(self, config: RunConfig) -> Any:
        """Hardware for one run: the model is as it was compiled, everything else is new."""
        if self.mapping is None:
            return None
        from cnoid_control.hardware.mujoco.hardware import MujocoHardware

        self._snapshot.restore()
        body = self.body.clone()
        return MujocoHardware(
            body, config.hardware_parameters, config.time_step, self.mapping.of(body)
        )


def model_key(config: RunConfig) -> tuple[Any, ...]:
    """What a compiled model depends on: configurations that share it share the model."""
    hardware = config.hardware_parameters
    if isinstance(hardware, MujocoParameters):
        plain = MujocoParameters()
        same: dict[str, Any] = {name: getattr(plain, name) for name in NOT_COMPILED}
        # Links whose centre of mass moves are compiled differently, wherever it moves to.
        moved: dict[str, list[float]] = {name: [] for name in sorted(hardware.deviations.com)}
        same['deviations'] = replace(plain.deviations, com=moved)
        # A height field has room for all heights.
        if hardware.terrain.is_uneven:
            same['terrain'] = replace(hardware.terrain, roughness=0.5, slope=0.0, heading=0.0)
        hardware = replace(hardware, **same)
    return config.hardware_type, config.parameters.rate, config.parameters.robot, hardware


class Runner:
    """Does runs of an evaluation in this process."""

    def __init__(self, runs: RandomizedRuns) -> None:
        """Build the robot and read the `randomize` section.

        Raises:
            CnoidControlError: the robot cannot be built, or the section is wrong.
        """
        self.runs = runs
        self._model = _Model(runs.config)
        self._base = self._model.key
        self._messages = io.StringIO()
        self._changes: Mapping[str, Any] = {}
        self._count = 0
        self._maker_source = runs.controller
        self._prepare({})

    def _prepare(self, changes: Mapping[str, Any]) -> None:
        """Take over changes of the configuration, which the draws then change further."""
        config = self.runs.config
        if changes:
            config = parse_config(override(config.values, changes), config.name, config.folder)
        base = model_key(config)
        if base != self._base:
            self._model, self._base = _Model(config), base
        self.randomization = self._randomization(config)
        self._changes = dict(changes)
        try:
            first = self.config(0, changes)
        except ParameterError:
            # Whoever asks for a run is told.
            return
        # What is drawn may need another model, the same for all runs: uneven ground, say.
        if model_key(first) != self._model.key:
            self._model = _Model(first)
            self.randomization = self._randomization(config)

    def _randomization(self, config: RunConfig) -> Randomization:
        model = self._model
        return Randomization(self.runs.section, config, model.body, model.mapping)

    def config(self, run: int, changes: Mapping[str, Any] | None = None) -> RunConfig:
        """Configuration of a run, with everything that is drawn for it.

        Args:
            run: number of the run.
            changes: values of the configuration, by key, that count before anything is drawn.

        Raises:
            CnoidControlError: a value is not allowed.
        """
        if dict(changes or {}) != self._changes:
            self._prepare(changes or {})
        seed = run_seed(self.runs.seed, run)
        return self.randomization.config(self.randomization.draw(seed), seed)

    def simulation(
        self, run: int, changes: Mapping[str, Any] | None = None, record: bool = False
    ) -> Simulation:
        """Simulation of a run, before its first tick.

        Until the next one is made, it may be used: they share the compiled model.

        Args:
            run: number of the run.
            changes: as for `config`.
            record: whether every tick is kept.

        Raises:
            CnoidControlError: it cannot be built.
        """
        config = self.config(run, changes)
        hardware = None
        if model_key(config) == self._model.key:
            hardware = self._model.hardware(config)
        self._messages.seek(0)
        self._messages.truncate()
        simulation = Simulation(
            config,
            self._maker_source,
            record=record or bool(self.runs.metrics),
            os=self._messages,
            hardware=hardware,
        )
        if self.runs.stop_on_fall:
            _stop_on_fall(simulation)
        return simulation

    def row(self, task: Any) -> Row:
        """Do a run.

        Args:
            task: number of the run, or that with changes of the configuration.
        """
        run, changes = task if isinstance(task, tuple) else (task, None)
        self._count += 1
        if self._count % COLLECTED == 0:
            # A run holds much memory of MuJoCo in few objects of Python, whose own measure of
            # garbage is their number.
            gc.collect()
        simulation = self.simulation(run, changes)
        with simulation:
            summary = simulation.run(self.runs.duration)
            return self.measure(run, simulation, summary)

    def row_in_time(self, task: Any) -> Row:
        """Do a run that may not take longer than its time on the wall clock.

        Raises:
            CnoidControlError: it does.
        """
        with _time_limit(self.runs.timeout):
            return self.row(task)

    def measure(self, run: int, simulation: Simulation, summary: RunSummary) -> Row:
        """Values of a run that is over.

        Raises:
            CnoidControlError: a metric is no map of numbers.
        """
        seed = run_seed(self.runs.seed, run)
        row: Row = {'run': run, 'seed': seed, **_outcome(simulation, summary)}
        for metric in self.runs.metrics:
            name = getattr(metric, '__name__', repr(metric))
            found = metric(simulation)
            if not isinstance(found, Mapping):
                raise CnoidControlError(f'metric {name!r} returned {found!r}; a map was expected')
            row |= {str(key): _plain(f'{name}: {key}', value) for key, value in found.items()}
        return row | self.drawn(run)

    def drawn(self, run: int) -> Row:
        """What is drawn for a run, by the name of the variable."""
        seed = run_seed(self.runs.seed, run)
        return {
            variable.name: value if isinstance(value, (bool, int, float, str)) else repr(value)
            for variable in self.randomization.variables
            if not variable.is_constant
            for value in [variable.draw(seed)]
        }


@contextlib.contextmanager
def _time_limit(limit: float) -> Iterator[None]:
    """Interrupt what this thread does after a time on the wall clock [s], where it can be."""
    is_main = threading.current_thread() is threading.main_thread()
    if math.isinf(limit) or not is_main or not hasattr(signal, 'setitimer'):
        yield
        return

    def give_up(*_: object) -> None:
        raise CnoidControlError(f'the run took longer than {limit:g} s')

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _stop_on_fall(simulation: Simulation) -> None:
    """End a run when the robot has fallen; looked at whenever a block of ticks is over."""
    loop, monitor = simulation.loop, simulation.monitor
    assert loop.trace is not None

    def look(rows: Any) -> None:
        if monitor.fell:
            loop.request_stop()

    loop.trace.listeners.append(look)


def _outcome(simulation: Simulation, summary: RunSummary) -> Row:
    """What every run has, of its summary: nothing that depends on the computer."""
    start, (x, y, z) = simulation.monitor.start, summary['root_position']
    known = None not in (x, y)
    row: Row = {
        'exit': summary['exit'],
        'reason': summary.get('reason', ''),
        'fell': summary['fell'],
        'duration': summary['duration'],
        'max_tilt_deg': summary['max_tilt_deg'],
        'max_joint_error': summary['max_joint_error'],
        'drift': round(math.hypot(x - start[0], y - start[1]), 9) if known else None,
        'root_position.x': x,
        'root_position.y': y,
        'root_position.z': z,
        'limited': sum(sum(joints.values()) for joints in summary['limited'].values()),
    }
    for name, report in summary.get('reports', {}).items():
        row |= {f'report.{name}.{key}': value for key, value in _numbers(report)}
    return row


def _numbers(report: Any, prefix: str = '') -> list[tuple[str, Any]]:
    """Numbers and truth values of a controller's report, by key."""
    if isinstance(report, Mapping):
        return [
            pair for key, value in report.items() for pair in _numbers(value, f'{prefix}{key}.')
        ]
    if isinstance(report, (bool, int, float)) and prefix:
        return [(prefix.removesuffix('.'), report)]
    return []


def _plain(name: str, value: Any) -> Any:
    value = value.item() if hasattr(value, 'item') else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise CnoidControlError(f'metric {name!r} is {value!r}; a number was expected')


def load_runs(
    source: Any,
    randomize: Mapping[str, Any] | None,
    *,
    controller: Any = None,
    options: Mapping[str, Any] | None = None,
    changes: Mapping[str, Any] | None = None,
    duration: float | None = None,
    **more: Any,
) -> RandomizedRuns:
    """Runs of a configuration, see `evaluate`.

    Raises:
        CnoidControlError: the configuration is wrong, the controller cannot be made anew for
            each run, or there is no duration.
    """
    from cnoid_control.controllers.composition import BaseController
    from cnoid_control.hardware.registry import hardware_kind
    from cnoid_control.plugin import SimpleController
    from cnoid_control.runtime.world_config import is_world

    if isinstance(source, (str, Path)) and is_world(source):
        raise CnoidControlError(f'{source}: has several robots; runs of one can be evaluated')
    if isinstance(controller, (SimpleController, BaseController)):
        raise CnoidControlError(
            f'controller is an instance, {controller!r}: give its class; every run makes a new one'
        )
    config, maker = load_source(source, controller, options, changes)
    if not hardware_kind(config.hardware_type).is_simulated or config.hardware_type == 'replay':
        raise CnoidControlError(
            f'hardware.type is {config.hardware_type!r}: only simulated robots can be evaluated'
        )
    length = config.parameters.duration if duration is None else duration
    if not 0.0 < length < math.inf:
        raise CnoidControlError(f'duration is {length!r}; a finite time above 0 s was expected')
    if not isinstance(randomize or {}, Mapping):
        raise CnoidControlError(f'randomize is {randomize!r}; a map or a file was expected')
    section = {**config.parameters.randomize, **(randomize or {})}
    values = {key: value for key, value in config.values.items() if key != SECTION}
    config = parse_config(values, config.name, config.folder)
    return RandomizedRuns(
        config, section, length, controller=controller if maker is not None else None, **more
    )
