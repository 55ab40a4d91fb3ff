"""What a search has found."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from cnoid_control.evaluation.config_file import config_text
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.recording import html_table
from cnoid_control.runtime.config import (
    NODE_KEYS,
    ROS_KEYS,
    RunConfig,
    find_config,
    override,
    parse_config,
    read_parameter_file,
)
from cnoid_control.runtime.defaults import CONFIG_SUFFIXES
from cnoid_control.strict_yaml import load_yaml
from cnoid_control.tuning.score import Score, Scorer
from cnoid_control.tuning.space import Variable
from cnoid_control.tuning.study import Trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass
class RosValues:
    """What a configuration's file holds for ROS nodes, and no run depends on.

    Attributes:
        keys: values beside those of the run, by key.
        nodes: sections of other nodes, by name.
    """

    keys: dict[str, Any] = field(default_factory=dict)
    nodes: dict[str, Any] = field(default_factory=dict)


def ros_values(source: object) -> RosValues:
    """What the file of a configuration holds for ROS nodes; nothing where it has no file."""
    if not isinstance(source, (str, Path)):
        return RosValues()
    try:
        path = find_config(source)
    except CnoidControlError:
        return RosValues()
    if path.suffix not in CONFIG_SUFFIXES:
        return RosValues()
    content = load_yaml(path.read_text(encoding='utf-8'))
    return RosValues(
        {key: value for key, value in read_parameter_file(path).items() if key in ROS_KEYS},
        {name: section for name, section in content.items() if name not in NODE_KEYS},
    )


class Tuning:
    """Trials of a search, the best of them, and configurations of them.

    Attributes:
        trials: the trials that are done, by number.
        variables: what was searched.
        scorer: what was wanted.
        baseline: score of the configuration as it was; None where it is not known yet.
        importance: share of each value in how good trials are, by objective.
        interrupted: whether trials are missing because somebody stopped it.
        also: what the configuration's file holds for ROS nodes, and files of trials hold too.
    """

    def __init__(
        self,
        config: RunConfig,
        variables: Sequence[Variable],
        scorer: Scorer,
        trials: Sequence[Trial] = (),
        baseline: Score | None = None,
    ) -> None:
        """Begin with the trials that were done before."""
        self._config = config
        self.variables = list(variables)
        self.scorer = scorer
        self.trials = [trial for trial in trials if trial.score is not None]
        self.resumed = len(self.trials)
        self.baseline = baseline
        self.importance: dict[str, dict[str, float]] = {}
        self.interrupted = False
        self.also = RosValues()

    def add(self, trial: Trial) -> None:
        """Take a trial that is done."""
        self.trials.append(trial)
        self.trials.sort(key=lambda one: one.number)

    @property
    def feasible(self) -> list[Trial]:
        """Trials that obey every constraint."""
        return [trial for trial in self.trials if trial.score and trial.score.is_feasible]

    @property
    def front(self) -> list[Trial]:
        """Trials of which no other one is better in everything; the best in the first value first.

        With one objective that is the best one, the first of equals.
        """
        good = self.feasible
        costs = {trial.number: self._costs(trial) for trial in good}
        found: list[Trial] = []
        for trial in sorted(good, key=lambda one: (tuple(costs[one.number]), one.number)):
            cost = costs[trial.number]
            if not any((costs[other.number] <= cost).all() for other in found):
                found.append(trial)
        return found

    @property
    def best(self) -> Trial | None:
        """The best trial; with several objectives, the one of the front nearest to the best ones.

        Each objective counts from its best to its worst value in the front. None where no trial
        obeys the constraints.
        """
        front = self.front
        if not front:
            return None
        costs = np.array([self._costs(trial) for trial in front])
        span = np.ptp(costs, axis=0)
        shares = (costs - costs.min(axis=0)) / np.where(span > 0.0, span, 1.0)
        return front[int(np.argmin(np.linalg.norm(shares, axis=1)))]

    @property
    def is_better(self) -> bool:
        """Whether the best trial is better in something than the configuration as it was."""
        best, before = self.best, self.baseline
        if best is None or before is None or not before.is_feasible:
            return best is not None
        was = self._costs(Trial(-1, {}, before))
        return bool((self._costs(best) < was).any())

    @property
    def nearest(self) -> Trial | None:
        """The trial that violates constraints least; None where there is no trial."""

        def violation(trial: Trial) -> float:
            return sum(trial.score.violations) if trial.score else np.inf

        return min(self.trials, key=violation, default=None)

    def trial(self, number: int) -> Trial:
        """Trial by its number.

        Raises:
            CnoidControlError: there is none that is done.
        """
        for trial in self.trials:
            if trial.number == number:
                return trial
        numbers = [trial.number for trial in self.trials]
        raise CnoidControlError(f'no trial {number}; {choices(numbers)}')

    def changes(self, trial: Trial) -> dict[str, Any]:
        """Changes of the configuration that a trial stands for, by key."""
        changes: dict[str, Any] = {}
        for variable in self.variables:
            if variable.name in trial.values:
                changes |= variable.changes(trial.values[variable.name])
        return changes

    def config(self, trial: Trial | None = None) -> RunConfig:
        """Configuration of a trial, of the best one where None.

        Raises:
            CnoidControlError: no trial obeys the constraints.
        """
        trial = trial or self.best
        if trial is None:
            raise CnoidControlError('no trial obeys the constraints')
        base = self._config
        return parse_config(override(base.values, self.changes(trial)), base.name, base.folder)

    def save(self, path: str | Path, trial: Trial | None = None, note: str = '') -> None:
        """Write the configuration of a trial as a parameter file, with what was found as comments.

        Args:
            path: the file.
            trial: the trial; the best one where None.
            note: more to say at the top, such as the command.

        Raises:
            CnoidControlError: no trial obeys the constraints, or it cannot be written.
        """
        trial = trial or self.best
        config = self.config(trial)
        assert trial is not None
        config = replace(config, values={**config.values, **self.also.keys})
        text = config_text(config, '\n# '.join([*self._findings(trial), *note.splitlines()]))
        if self.also.nodes:
            text += yaml.safe_dump(self.also.nodes, sort_keys=False, allow_unicode=True)
        try:
            Path(path).write_text(text, encoding='utf-8')
        except OSError as error:
            raise CnoidControlError(f'{path}: cannot be written: {error}') from error

    def _findings(self, trial: Trial) -> list[str]:
        assert trial.score is not None
        runs = f'{trial.score.runs} run{"s" if trial.score.runs > 1 else ""} per trial'
        lines = [f'{self._config.name}, tuned: trial {trial.number} of {len(self.trials)}, {runs}']
        for index, objective in enumerate(self.scorer.objectives):
            before = '' if self.baseline is None else f', was {self.baseline.values[index]:.5g}'
            if self.baseline is not None and not self.baseline.is_feasible:
                before += ' and did not obey'
            value = trial.score.values[index]
            lines.append(f'{objective.direction} {objective}: {value:.5g}{before}')
        lines += [f'subject to {constraint}' for constraint in self.scorer.constraints]
        lines += [f'found {key}: {value!r}' for key, value in self.changes(trial).items()]
        return lines

    def rows(self) -> list[dict[str, Any]]:
        """The trials as a table: number, what was tried, objectives, whether it obeys."""
        rows = []
        for trial in self.trials:
            assert trial.score is not None
            names = [str(objective) for objective in self.scorer.objectives]
            rows.append(
                {
                    'trial': trial.number,
                    **trial.values,
                    **dict(zip(names, trial.score.values, strict=True)),
                    'obeys': trial.score.is_feasible,
                    'violation': sum(trial.score.violations),
                    'runs': trial.score.runs,
                    'reason': trial.score.reason,
                }
            )
        return rows

    def to_csv(self, path: str | Path) -> None:
        """Write the table of all trials.

        Raises:
            CnoidControlError: it cannot be written.
        """
        rows = self.rows()
        try:
            with Path(path).open('w', encoding='utf-8', newline='') as file:
                writer = csv.DictWriter(file, list(rows[0]) if rows else ['trial'])
                writer.writeheader()
                writer.writerows(rows)
        except OSError as error:
            raise CnoidControlError(f'{path}: cannot be written: {error}') from error

    def summary(self) -> dict[str, Any]:
        """What was found, as `cnoid_control tune --json` prints it."""
        best, nearest = self.best, self.nearest
        return {
            'config': self._config.name,
            'trials': len(self.trials),
            'resumed': self.resumed,
            'feasible': len(self.feasible),
            'runs_per_trial': self.scorer.runs,
            'objectives': [f'{one.direction} {one}' for one in self.scorer.objectives],
            'constraints': [str(one) for one in self.scorer.constraints],
            'as_it_was': self.baseline and self._scored(self.baseline),
            'best': best and self._told(best),
            'nearest': self._told(nearest) if best is None and nearest is not None else None,
            'front': [self._told(trial) for trial in self.front],
            'importance': self.importance,
            'interrupted': self.interrupted,
        }

    def _told(self, trial: Trial) -> dict[str, Any]:
        assert trial.score is not None
        return {'trial': trial.number, 'vary': trial.values, **self._scored(trial.score)}

    def _scored(self, score: Score) -> dict[str, Any]:
        names = [str(objective) for objective in self.scorer.objectives]
        return {
            'values': dict(zip(names, score.values, strict=True)),
            'obeys': score.is_feasible,
            'reason': score.reason,
        }

    def _costs(self, trial: Trial) -> np.ndarray:
        """Objectives of a trial, the smaller the better, shape (objectives,)."""
        assert trial.score is not None
        signs = [1.0 if one.is_smaller_better else -1.0 for one in self.scorer.objectives]
        return np.array(signs) * trial.score.values

    def plot(self) -> Figure:
        """Trials and what matters in them; with several objectives, the front."""
        from cnoid_control.tuning.plot import plot_tuning

        return plot_tuning(self)

    def __repr__(self) -> str:
        found = f'best: trial {self.best.number}' if self.best else 'none obeys'
        return f'<Tuning of {self._config.name!r}: {len(self.trials)} trials, {found}>'

    def _repr_html_(self) -> str:
        best = self.best
        if best is None or best.score is None:
            return html_table({'trials': len(self.trials)}, repr(self))
        names = [str(objective) for objective in self.scorer.objectives]
        return html_table(
            {**dict(zip(names, best.score.values, strict=True)), **best.values}, repr(self)
        )
