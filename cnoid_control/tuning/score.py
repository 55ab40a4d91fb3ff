"""Scores of trials, from the values of their runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cnoid_control.tuning.goals import WORST, Constraint, Objective

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Score:
    """What came of a trial.

    Attributes:
        values: one value per objective.
        violations: how far each constraint is violated, 0 where it is not; the last one is for
            runs that failed.
        runs: runs that it is made of: the later ones are left out when one is bad for good.
        reason: why runs failed, if they did.
    """

    values: tuple[float, ...]
    violations: tuple[float, ...]
    runs: int
    reason: str = ''

    @property
    def is_feasible(self) -> bool:
        """Whether every constraint holds."""
        return not any(self.violations)


class Scorer:
    """Makes scores. They depend on the rows alone, not on the order in which runs are done."""

    def __init__(
        self,
        objectives: Sequence[Objective],
        constraints: Sequence[Constraint],
        runs: int,
        duration: float,
    ) -> None:
        """Remember what is wanted.

        Args:
            objectives: what is to be small or large.
            constraints: what must hold.
            runs: runs of a trial.
            duration: of a run [s].
        """
        self.objectives = list(objectives)
        self.constraints = list(constraints)
        self.runs = runs
        self._duration = duration

    def is_hopeless(self, row: Row) -> bool:
        """Whether a trial with this run violates a constraint, whatever its other runs do."""
        return row['exit'] == 'failed' or any(
            constraint.statistic == WORST and constraint.excess([row]) > 0.0
            for constraint in self.constraints
        )

    def score(self, rows: Sequence[Row | None]) -> Score | None:
        """Score of a trial; None while a run is missing that it depends on.

        Args:
            rows: values of its runs by number; None where a run is not done.
        """
        done: list[Row] = []
        for row in rows:
            if row is None:
                return None
            done.append(row)
            if self.is_hopeless(row):
                break
        # Of two bad trials the one is better that has come further.
        left = self.runs - len(done) + 1.0 - min(done[-1]['duration'] / self._duration, 1.0)
        violations = []
        for constraint in self.constraints:
            excess = constraint.excess(done)
            violations.append(excess + left / self.runs if excess > 0.0 else 0.0)
        failed = [row for row in done if row['exit'] == 'failed']
        violations.append(1.0 + left / self.runs if failed else 0.0)
        return Score(
            tuple(objective.over(done) for objective in self.objectives),
            tuple(violations),
            len(done),
            failed[-1]['reason'] if failed else '',
        )
