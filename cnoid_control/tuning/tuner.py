"""Searches for the values of a configuration that make its runs best."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from cnoid_control.evaluation.executor import Executor, make_executor
from cnoid_control.evaluation.randomization import read_section, run_seed
from cnoid_control.evaluation.runner import Metric, RandomizedRuns, Runner, load_runs
from cnoid_control.exceptions import CnoidControlError, describe
from cnoid_control.parameters import ParameterError
from cnoid_control.runtime.config import RunConfig
from cnoid_control.simulated_robot import load_source
from cnoid_control.tuning.goals import (
    WORST,
    Constraint,
    Objective,
    read_constraints,
    read_objectives,
    resolve,
)
from cnoid_control.tuning.score import Row, Scorer
from cnoid_control.tuning.space import Variable, read_space
from cnoid_control.tuning.study import TPE, Study, Trial
from cnoid_control.tuning.tuning import Tuning, ros_values

# Runs of a trial where something differs between them, and none are asked for.
DEFAULT_RUNS = 8
DEFAULT_TRIALS = 100
DEFAULT_BATCH = 8
FELL = 'fell'
# Number of the trial in which nothing is changed.
AS_IT_WAS = -1


class Task(NamedTuple):
    """One run of a trial.

    Attributes:
        trial: number of the trial.
        run: number of the run: every trial has the same ones.
        changes: what is tried, by key of the configuration.
    """

    trial: int
    run: int
    changes: dict[str, Any]


@dataclass
class TrialRuns:
    """What a worker needs to do runs of trials; can be pickled."""

    runs: RandomizedRuns

    def __call__(self) -> Callable[[Task], Row]:
        """What does a run: once per worker."""
        row = self.runs()
        return lambda task: row((task.run, task.changes))


def tune(
    source: str | Path | RunConfig,
    vary: Mapping[str, Any] | Iterable[str],
    *,
    minimize: str | Iterable[str] = (),
    maximize: str | Iterable[str] = (),
    subject_to: str | Iterable[str] = (),
    trials: int = DEFAULT_TRIALS,
    runs: int | None = None,
    randomize: Mapping[str, Any] | str | Path | None = None,
    controller: Any = None,
    options: Mapping[str, Any] | None = None,
    changes: Mapping[str, Any] | None = None,
    duration: float | None = None,
    seed: int = 0,
    metrics: Metric | Iterable[Metric] = (),
    sampler: str = TPE,
    batch: int = DEFAULT_BATCH,
    storage: str | Path | None = None,
    workers: int | None = None,
    ray: str | None = None,
    on_trial: Callable[[Tuning, Trial], None] | None = None,
) -> Tuning:
    """Search for the values of a configuration that make its runs best.

    Every trial does the same runs: with the same seeds, and so with the same draws of what is
    randomised. Ctrl-C ends it; what is there is returned, and the same call with the same
    `storage` goes on from there, as it does after a kill.

    Args:
        source: a configuration, the name or file of one, or a robot model, as for `Simulation`.
        vary: what is searched: `{'pd.kp': '100..8000:log'}`, see `read_space`.
        minimize: values of a run that are to be small, such as `max_tilt_deg`, with what is taken
            over the runs of a trial: `max_tilt_deg:worst`; the mean where nothing is said.
        maximize: values that are to be large.
        subject_to: what must hold, such as `fell=0` or `fell:mean<=0.05`; for every run where
            nothing is said. A trial with a run that violates it is not done to its end.
        trials: number of trials that the search is to have, those in the storage included.
        runs: runs per trial; 8 where something is randomised, else 1, where None.
        randomize: what is drawn for each run, in addition to the configuration's `randomize`
            section; or a file with such a section.
        controller: in the place of the configuration's: a name, a class or a function.
        options: options of the controller.
        changes: other values of the configuration, by key.
        duration: simulated time of a run [s]; the configuration's where None.
        seed: seed of the runs and of the search.
        metrics: functions that measure more of a finished `Simulation`.
        sampler: `tpe`, `cmaes` or `random`.
        batch: trials that are chosen at a time, from what the ones before have shown; the result
            does not depend on how many of them are done at a time.
        storage: file that keeps the search; none is kept where None.
        workers: processes; one per core where None; 0 for none but this one.
        ray: address of a Ray cluster, in the place of processes.
        on_trial: called after each trial.

    Raises:
        CnoidControlError: a key, a range, the name of a value or the configuration is wrong, or
            the storage is of another search. Nothing has run then.
    """
    objectives = read_objectives(_listed(minimize), _listed(maximize))
    constraints = read_constraints(_listed(subject_to))
    for name, number in (('trials', trials), ('batch', batch), ('runs', runs)):
        if number is not None and number < 1:
            raise CnoidControlError(f'{name} is {number}; a number of at least 1 was expected')
    if seed < 0:
        raise CnoidControlError(f'seed is {seed}; a number of at least 0 was expected')
    section = read_section(randomize) if isinstance(randomize, (str, Path)) else randomize
    given, _ = load_source(source, controller, options, changes)
    work = load_runs(
        given,
        section,
        # Else its name is in the configuration already.
        controller=None if isinstance(controller, str) else controller,
        duration=duration,
        seed=seed,
        metrics=(metrics,) if callable(metrics) else tuple(metrics),
        stop_on_fall=_may_stop(objectives, constraints),
    )
    variables = read_space(vary, work.config)
    runner = Runner(work)
    count = runs or (DEFAULT_RUNS if runner.randomization.columns else 1)
    runner.randomization.check([run_seed(seed, run) for run in range(count)])
    _check_ends(runner, variables)
    row = _first_values(runner)
    objectives, constraints = resolve(objectives, row), resolve(constraints, row)
    sought = {
        'configuration': work.config.values,
        'randomize': work.section,
        'vary': {one.name: [one.distribution.kind, *one.ends] for one in variables},
        'objectives': [f'{one.direction} {one}' for one in objectives],
        'constraints': [str(one) for one in constraints],
        'runs': count,
        'duration': work.duration,
        'seed': seed,
        'sampler': sampler,
        'batch': batch,
    }
    with tempfile.TemporaryDirectory(prefix='cnoid_control') as folder:
        path = Path(storage) if storage is not None else Path(folder, 'tune.journal')
        study = Study(path, variables, objectives, sought, sampler=sampler, batch=batch, seed=seed)
        with closing(study):
            scorer = Scorer(objectives, constraints, count, work.duration)
            tuning = Tuning(given, variables, scorer, study.trials(), study.baseline)
            tuning.also = ros_values(source)
            here = workers == 0 and ray is None
            do = (lambda: lambda task: runner.row((task.run, task.changes))) if here else None
            with make_executor(do or TrialRuns(work), workers, ray) as executor:
                try:
                    _search(study, tuning, executor, trials, on_trial)
                except KeyboardInterrupt:
                    tuning.interrupted = True
            tuning.importance = study.importance()
    return tuning


def _may_stop(objectives: Sequence[Objective], constraints: Sequence[Constraint]) -> bool:
    """Whether a run may end with a fall: only where it does not look better by that."""
    is_over = any(one.metric == FELL and one.statistic == WORST for one in constraints)
    return is_over or all(one.metric == FELL for one in objectives)


def _listed(texts: str | Iterable[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def _check_ends(runner: Runner, variables: Sequence[Variable]) -> None:
    """Have the controllers begin with the ends of every range, before anything runs.

    Raises:
        ParameterError: one of them is refused.
    """
    for variable in variables:
        for value in variable.ends:
            changes = variable.changes(value)
            try:
                with runner.simulation(0, changes) as simulation:
                    for robot in simulation.robots.values():
                        robot.begin()
            except CnoidControlError as error:
                raise ParameterError(variable.name, f'{value!r} is refused: {error}') from error


def _first_values(runner: Runner) -> Row:
    """Values of a run of one tick, for their names; those that do not depend on it left out.

    Raises:
        CnoidControlError: a metric raises.
    """
    with runner.simulation(0) as simulation:
        summary = simulation.run(simulation.time_step)
        try:
            row = runner.measure(0, simulation, summary)
        except CnoidControlError:
            raise
        except Exception as error:
            raise CnoidControlError(f'a metric raised {describe(error)}') from error
    given = {'run', 'seed', *runner.randomization.columns}
    return {name: value for name, value in row.items() if name not in given}


def _search(
    study: Study,
    tuning: Tuning,
    executor: Executor,
    wanted: int,
    on_trial: Callable[[Tuning, Trial], None] | None,
) -> None:
    """Do trials until there are as many as wanted."""
    if study.baseline is None:
        [(_, score)] = _scores([Trial(AS_IT_WAS, {})], tuning, executor)
        study.baseline = tuning.baseline = score
    while trials := study.ask(wanted):
        for trial, score in _scores(trials, tuning, executor):
            study.tell(trial, score)
            done = Trial(trial.number, trial.values, score)
            tuning.add(done)
            if on_trial is not None:
                on_trial(tuning, done)


def _scores(
    trials: Sequence[Trial], tuning: Tuning, executor: Executor
) -> Iterator[tuple[Trial, Any]]:
    """Do trials; each is yielded with its score when that is known."""
    scorer = tuning.scorer
    rows: dict[int, list[Row | None]] = {trial.number: [None] * scorer.runs for trial in trials}
    open_trials = {trial.number: trial for trial in trials}

    def tasks() -> Iterator[Task]:
        # The first run of all trials first: those that fall need no second one.
        for run in range(scorer.runs):
            for trial in trials:
                if trial.number in open_trials:
                    yield Task(trial.number, run, tuning.changes(trial))

    for (number, run, _), result, failure in executor.run(tasks()):
        if number not in open_trials:
            continue
        lost = {'exit': 'failed', 'duration': 0.0, 'reason': failure and failure.reason}
        rows[number][run] = result if failure is None else lost
        score = scorer.score(rows[number])
        if score is not None:
            yield open_trials.pop(number), score
