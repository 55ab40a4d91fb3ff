"""Randomised runs of a configuration: how many pass, and what fails the others."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from cnoid_control.evaluation.executor import make_executor
from cnoid_control.evaluation.randomization import read_section, run_seed
from cnoid_control.evaluation.rules import Rule
from cnoid_control.evaluation.runner import Metric, Row, Runner, load_runs
from cnoid_control.evaluation.table import EvaluationTable
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.runtime.config import RunConfig
from cnoid_control.runtime.exceptions import ControllerFailed
from cnoid_control.simulation import Simulation

# What a run that has not failed must obey to pass, where nothing else is asked for.
PASSES = 'not fell'
# Time that a run may take on the wall clock where none is given: this [s], and this many times
# its duration.
PATIENCE, SLOWEST = 60.0, 200.0


class Evaluation(EvaluationTable):
    """Randomised runs that were done; each of them can be done again alone, to the bit.

    Attributes:
        rows: the values of each run, in the order of their numbers.
        parameters: names of the values that were drawn.
        rule: what a run must obey to pass, besides that it must not have failed.
        interrupted: whether runs are missing because somebody stopped it.
        runner: does runs in this process.
    """

    def __init__(self, runner: Runner, rule: Rule) -> None:
        """Begin with no runs."""
        super().__init__(runner.randomization.columns, rule)
        self.runner = runner
        self.interrupted = False

    def config(self, run: int) -> RunConfig:
        """Configuration of a run, with everything that was drawn for it.

        It runs alone: `Simulation(evaluation.config(17))`.
        """
        return self.runner.config(run)

    def simulation(self, run: int) -> Simulation:
        """Simulation of a run before its first tick, to step or to look at; it is recorded."""
        return self.runner.simulation(run, record=True)

    def replay(self, run: int, log: str | Path | None = None) -> Simulation:
        """Do a run again.

        Args:
            run: its number.
            log: file that it is recorded into, if any.

        Returns:
            The simulation, closed: `recorded` and `summary()` say what has happened.

        Raises:
            CnoidControlError: the file cannot be written, or the run is not the same again.
        """
        simulation = self.simulation(run)
        if log is not None:
            from cnoid_control.runtime.recorder import Recorder

            config = simulation.config
            simulation.loop.recorder = Recorder(
                log, simulation.robot, config.to_text(), config.parameters.devices
            )
        with simulation:
            summary = simulation.run(self.runner.runs.duration)
            again = self.runner.measure(run, simulation, summary)
        before = next((row for row in self.rows if row['run'] == run), None)
        different = [name for name in again if before and again[name] != before[name]]
        if different and before is not None:
            raise CnoidControlError(
                f'run {run} is not the same again: {different[0]} was {before[different[0]]!r} '
                f'and is {again[different[0]]!r}; its controller does not repeat itself'
            )
        return simulation


def evaluate(
    source: str | Path | RunConfig,
    randomize: Mapping[str, Any] | str | Path | None = None,
    runs: int | Iterable[int] = 100,
    *,
    controller: Any = None,
    options: Mapping[str, Any] | None = None,
    changes: Mapping[str, Any] | None = None,
    duration: float | None = None,
    seed: int = 0,
    passes: str = PASSES,
    metrics: Metric | Iterable[Metric] = (),
    stop_on_fall: bool = True,
    timeout: float | None = None,
    workers: int | None = None,
    ray: str | None = None,
    on_run: Callable[[Evaluation, Row], None] | None = None,
) -> Evaluation:
    """Do randomised runs of a configuration.

    The draws change the physics, not what controllers see of the model. Ctrl-C ends it; what is
    there is returned.

    Args:
        source: a configuration, the name or file of one, or a robot model, as for `Simulation`.
        randomize: what is drawn for each run, by key, in addition to the configuration's
            `randomize` section; or a file with such a section. See docs/evaluate.md.
        runs: number of runs, or the numbers of the runs to do (`[17]` does run 17 again).
        controller: in the place of the configuration's: a name, a class or a function.
        options: options of the controller.
        changes: other values of the configuration, by key.
        duration: simulated time of a run [s]; the configuration's where None.
        seed: seed of the evaluation; each run has its own, which follows from it.
        passes: rule that a run must obey to pass; one that has failed never does.
        metrics: functions that are given the `Simulation` of each run when it is over, recorded,
            and return more values of it by name.
        stop_on_fall: whether a run ends when the robot has fallen.
        timeout: time that a run may take in a worker, on the wall clock [s], before it is lost;
            1 minute and 200 times its duration where None.
        workers: processes; one per core where None; 0 for none but this one.
        ray: address of a Ray cluster, in the place of processes.
        on_run: called after each run.

    Raises:
        CnoidControlError: the configuration, the section or the rule is wrong, or a worker cannot
            be had.
    """
    numbers = list(range(runs)) if isinstance(runs, int) else list(runs)
    if not numbers or min(numbers) < 0:
        raise CnoidControlError(f'runs is {runs!r}; a number of at least 1 was expected')
    if seed < 0:
        raise CnoidControlError(f'seed is {seed}; a number of at least 0 was expected')
    section = read_section(randomize) if isinstance(randomize, (str, Path)) else randomize
    if timeout is not None and not timeout > 0.0:
        raise CnoidControlError(f'timeout is {timeout!r}; a time above 0 s was expected')
    rule = Rule(passes)
    work = load_runs(
        source,
        section,
        controller=controller,
        options=options,
        changes=changes,
        duration=duration,
        seed=seed,
        metrics=(metrics,) if callable(metrics) else tuple(metrics),
        stop_on_fall=stop_on_fall,
    )
    work.timeout = timeout or PATIENCE + SLOWEST * work.duration
    runner = Runner(work)
    runner.randomization.check([run_seed(seed, run) for run in numbers])
    # What the physics refuses is refused now, not once per run.
    with runner.simulation(numbers[0]) as first, contextlib.suppress(ControllerFailed):
        first.run(0.0)
    evaluation = Evaluation(runner, rule)
    here = workers == 0 and ray is None
    with make_executor((lambda: runner.row) if here else work, workers, ray) as executor:
        try:
            for outcome in executor.run(numbers):
                if outcome.failure is None:
                    row = evaluation.add(outcome.result)
                else:
                    row = evaluation.add_lost(
                        outcome.task, run_seed(seed, outcome.task), outcome.failure.reason
                    )
                if on_run is not None:
                    on_run(evaluation, row)
        except KeyboardInterrupt:
            evaluation.interrupted = True
    evaluation.sort()
    return evaluation
