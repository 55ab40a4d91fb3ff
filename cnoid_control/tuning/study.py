"""Searches that are kept in a file: each trial once, also when the program is killed."""

from __future__ import annotations

import fcntl
import json
import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from cnoid_control.exceptions import CnoidControlError, choices, describe
from cnoid_control.tuning.goals import ENDLESS, Objective
from cnoid_control.tuning.score import Score
from cnoid_control.tuning.space import Variable

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial

NAME = 'tune'
TPE, CMAES, RANDOM = 'tpe', 'cmaes', 'random'
SAMPLERS = (TPE, CMAES, RANDOM)
# Trials of TPE before it uses what it has seen.
STARTUP = 10
# Trials that obey, below which nothing is said of the importance of values.
ENOUGH = 10
# Keys of what is kept beside a trial, and beside the search.
SCORE, SOUGHT, BASELINE = 'score', 'sought', 'baseline'


@dataclass(frozen=True)
class Trial:
    """A trial that is over, or is to be done.

    Attributes:
        number: its number.
        values: what is tried, by the names of the variables.
        score: what came of it; None where it is not over.
    """

    number: int
    values: dict[str, Any]
    score: Score | None = None


class Study:
    """A search with Optuna, in a journal file.

    Trials are asked for in batches. What is asked depends on the seed, the number of the trial
    and the batches before it: not on who does the runs, how fast, or whether it was interrupted.
    """

    def __init__(
        self,
        path: Path,
        variables: Sequence[Variable],
        objectives: Sequence[Objective],
        sought: Mapping[str, Any],
        *,
        sampler: str = TPE,
        batch: int = 8,
        seed: int = 0,
    ) -> None:
        """Begin a search, or go on with it where the file is there.

        Args:
            path: the journal.
            variables: what is searched.
            objectives: what is wanted.
            sought: everything that the trials depend on, by name; a file is not used for others.
            sampler: one of `SAMPLERS`.
            batch: number of trials that are asked for at a time.
            seed: seed of the search.

        Raises:
            CnoidControlError: Optuna is not installed, the sampler does not suit, or the file is
                in use, cannot be read or is of another search.
        """
        try:
            import optuna
        except ImportError as error:
            raise CnoidControlError(
                f"Optuna is needed: {error}; pip install 'cnoid_control[tune]'"
            ) from error
        _check_sampler(sampler, variables, objectives)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.path = path
        self._variables = {variable.name: variable for variable in variables}
        self._sampler, self._batch, self._seed = sampler, batch, seed
        self._objectives = list(objectives)
        starts = {one.name: one.start() for one in variables}
        self._start = {} if None in starts.values() else starts
        self._file = _lock(path)
        try:
            self._open(sought)
        except BaseException:
            self._file.close()
            raise

    def _open(self, sought: Mapping[str, Any]) -> None:
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        def create() -> optuna.Study:
            return optuna.create_study(
                storage=self._storage,
                study_name=NAME,
                directions=[objective.direction for objective in self._objectives],
                load_if_exists=True,
            )

        wanted = json.loads(json.dumps(dict(sought), default=str))
        try:
            self._storage = JournalStorage(JournalFileBackend(str(self.path)))
            self._study = create()
            before = self._study.user_attrs.get(SOUGHT)
            if before != wanted and self.baseline is None:
                # Nothing has been tried with it yet.
                optuna.delete_study(study_name=NAME, storage=self._storage)
                self._study, before = create(), None
        except Exception as error:
            raise CnoidControlError(
                f'{self.path}: is no journal of a search: {describe(error)}'
            ) from error
        if before is None:
            self._study.set_user_attr(SOUGHT, wanted)
            if self._start:
                # What the configuration has is tried first.
                self._study.enqueue_trial(self._start)
        else:
            for name in dict.fromkeys([*before, *wanted]):
                if before.get(name) != wanted.get(name):
                    raise CnoidControlError(
                        f'{self.path}: is of another search: its {name} is '
                        f'{before.get(name)!r}, now it is {wanted.get(name)!r}; give another '
                        '--storage, or remove the file'
                    )

    @property
    def baseline(self) -> Score | None:
        """Score of the configuration as it was; None where it is not known yet."""
        kept = self._study.user_attrs.get(BASELINE)
        return None if kept is None else _score(kept)

    @baseline.setter
    def baseline(self, score: Score) -> None:
        self._study.set_user_attr(BASELINE, _kept(score))

    def trials(self) -> list[Trial]:
        """All trials with what is tried in them, by number."""
        found = []
        for frozen in self._study.get_trials(deepcopy=False):
            if set(frozen.params) == set(self._variables) and frozen.state.name != 'FAIL':
                kept = frozen.user_attrs.get(SCORE) if frozen.state.is_finished() else None
                found.append(
                    Trial(frozen.number, self._values(frozen.params), kept and _score(kept))
                )
        return found

    def ask(self, wanted: int) -> list[Trial]:
        """Trials of the next batch: those under way where it was interrupted, then new ones.

        Args:
            wanted: number of trials that the search is to have.
        """
        import optuna

        for frozen in self._study.get_trials(deepcopy=False):
            # It was interrupted while it was being asked for.
            whole = set(frozen.params) == set(self._variables)
            if frozen.state is optuna.trial.TrialState.RUNNING and not whole:
                self._study.tell(frozen.number, state=optuna.trial.TrialState.FAIL)
        trials = self.trials()
        # Batches have fixed places, so that an interrupted one is completed as it would have been.
        done = sum(trial.score is not None for trial in trials)
        end = min((done // self._batch + 1) * self._batch, wanted)
        distributions = {
            name: variable.optuna_distribution() for name, variable in self._variables.items()
        }
        for place in range(len(trials), end):
            self._study.sampler = self._make_sampler(place)
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                asked = self._study.ask(distributions)
            trials.append(Trial(asked.number, self._values(asked.params)))
        return [trial for trial in trials if trial.score is None]

    def tell(self, trial: Trial, score: Score) -> None:
        """Keep what came of a trial."""
        study_id = self._storage.get_study_id_from_name(NAME)
        trial_id = self._storage.get_trial_id_from_study_id_trial_number(study_id, trial.number)
        self._storage.set_trial_user_attr(trial_id, SCORE, _kept(score))
        values = [_bounded(value) for value in score.values]
        if self._sampler == CMAES and not score.is_feasible:
            # It knows no constraints, and looks at the order of trials alone.
            worst = ENDLESS * (1.0 + sum(score.violations))
            values = [worst if self._objectives[0].is_smaller_better else -worst]
        self._study.sampler = self._make_sampler(trial.number)
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            self._study.tell(trial.number, values)

    def importance(self) -> dict[str, dict[str, float]]:
        """Share of each value in how good the trials are that obey, by objective; sums to 1.

        Empty where there are too few trials to tell.
        """
        import optuna
        from optuna.importance import PedAnovaImportanceEvaluator

        finished = [
            frozen
            for frozen in self._study.get_trials(deepcopy=False)
            if SCORE in frozen.user_attrs and not any(frozen.user_attrs[SCORE]['violations'])
        ]
        found: dict[str, dict[str, float]] = {}
        if len(finished) < ENOUGH:
            return found
        for index, objective in enumerate(self._objectives):
            study = optuna.create_study(direction=objective.direction)
            for frozen in finished:
                value = frozen.user_attrs[SCORE]['values'][index]
                study.add_trial(
                    optuna.trial.create_trial(
                        params=frozen.params, distributions=frozen.distributions, value=value
                    )
                )
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                shares = optuna.importance.get_param_importances(
                    study, evaluator=PedAnovaImportanceEvaluator()
                )
            found[str(objective)] = {name: float(share) for name, share in shares.items()}
        return found

    def close(self) -> None:
        """Leave the file to others."""
        self._file.close()

    def _values(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {name: one.value(params[name]) for name, one in self._variables.items()}

    def _make_sampler(self, place: int) -> BaseSampler:
        """Sampler for one trial: without a memory, all that it knows is in the file."""
        from optuna.samplers import CmaEsSampler, RandomSampler, TPESampler

        seed = zlib.crc32(f'{self._seed} {place}'.encode())
        with warnings.catch_warnings():
            # Of what Optuna calls experimental.
            warnings.simplefilter('ignore')
            if self._sampler == RANDOM:
                return RandomSampler(seed)
            if self._sampler == CMAES:
                return CmaEsSampler(
                    x0=self._start or None,
                    seed=seed,
                    popsize=self._batch,
                    warn_independent_sampling=False,
                )
            return TPESampler(
                seed=seed,
                n_startup_trials=STARTUP,
                multivariate=True,
                constant_liar=True,
                constraints_func=_violations,
            )


def _violations(trial: FrozenTrial) -> tuple[float, ...]:
    return tuple(trial.user_attrs[SCORE]['violations'])


def _bounded(value: float) -> float:
    return min(max(value, -ENDLESS), ENDLESS)


def _kept(score: Score) -> dict[str, Any]:
    """Score as JSON has it."""
    return {
        'values': [_bounded(value) for value in score.values],
        'violations': list(score.violations),
        'runs': score.runs,
        'reason': score.reason,
    }


def _score(kept: Mapping[str, Any]) -> Score:
    return Score(tuple(kept['values']), tuple(kept['violations']), kept['runs'], kept['reason'])


def _check_sampler(
    sampler: str, variables: Sequence[Variable], objectives: Sequence[Objective]
) -> None:
    if sampler not in SAMPLERS:
        raise CnoidControlError(f'unknown sampler {sampler!r}; {choices(SAMPLERS)}')
    if sampler != CMAES:
        return
    if len(objectives) > 1:
        raise CnoidControlError(
            f'sampler {CMAES} has one objective, and {len(objectives)} are given'
        )
    names = [one.name for one in variables if one.distribution.kind == 'choice']
    if names:
        raise CnoidControlError(f'sampler {CMAES} has numbers alone, and {names[0]} has choices')
    if len(variables) < 2:
        raise CnoidControlError(f'sampler {CMAES} needs two values to vary, or more')
    try:
        import cmaes  # noqa: F401
    except ImportError as error:
        raise CnoidControlError(
            f"sampler {CMAES}: {error}; pip install 'cnoid_control[tune]'"
        ) from error


def _lock(path: Path) -> BinaryIO:
    """Open a journal for this process alone, and mend what a killed one has left.

    Raises:
        CnoidControlError: it cannot be written, or another process has it.
    """
    try:
        file = path.open('ab+')
    except OSError as error:
        raise CnoidControlError(f'{path}: cannot be written: {error}') from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise CnoidControlError(f'{path}: another search is using it') from error
    # A line that was being written when the process was killed.
    file.seek(0)
    content = file.read()
    file.truncate(content.rfind(b'\n') + 1)
    # Nobody else can have this one.
    Path(f'{path}.lock').unlink(missing_ok=True)
    return file
