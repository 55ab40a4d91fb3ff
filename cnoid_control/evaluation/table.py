"""Table of randomised runs: pass rate, statistics, files."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cnoid_control.evaluation.rules import Rule
from cnoid_control.evaluation.statistics import (
    CONFIDENCE,
    Separation,
    separations,
    wilson_interval,
)
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.recording import html_table

if TYPE_CHECKING:
    import pandas

Row = dict[str, Any]
# Columns that are no measured values.
HEAD = ('run', 'seed', 'passed', 'exit', 'reason', 'fell')
# How a run ends whose worker has died of it, or that raised something.
LOST = 'lost'
# What is worse the larger it is: of a robot that can fall, and of one that cannot.
TILT, ERROR = 'max_tilt_deg', 'max_joint_error'


class EvaluationTable:
    """Rows of randomised runs, and what they say together.

    Attributes:
        rows: the values of each run.
        parameters: names of the values that were drawn.
        rule: what a run must obey to pass, besides that it must not have failed.
    """

    def __init__(self, parameters: Sequence[str], rule: Rule) -> None:
        """Begin with no rows."""
        self.rows: list[Row] = []
        self.parameters = list(parameters)
        self.rule = rule

    def add(self, row: Row) -> Row:
        """Add a run; its row with `passed` in it.

        Raises:
            CnoidControlError: the rule needs a value that runs do not have.
        """
        passed = self.rule.holds(row) and row['exit'] != 'failed'
        head = {name: passed if name == 'passed' else row[name] for name in HEAD}
        judged = {**head, **row}
        self.rows.append(judged)
        return judged

    def add_lost(self, run: int, seed: int, reason: str) -> Row:
        """Add a run that came to no result."""
        row: Row = {
            'run': run,
            'seed': seed,
            'passed': False,
            'exit': LOST,
            'reason': reason,
            'fell': None,
        }
        self.rows.append(row)
        return row

    def sort(self) -> None:
        """Put the rows into the order of their numbers."""
        self.rows.sort(key=lambda row: row['run'])

    # --- what they say ------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def passed(self) -> int:
        """Number of runs that passed."""
        return sum(row['passed'] for row in self.rows)

    @property
    def failed(self) -> int:
        """Number of runs that did not."""
        return len(self.rows) - self.passed

    @property
    def pass_rate(self) -> float:
        """Share of the runs that passed; NaN of none."""
        return self.passed / len(self.rows) if self.rows else math.nan

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Confidence interval of the pass rate (Wilson)."""
        return wilson_interval(self.passed, len(self.rows), confidence)

    @property
    def columns(self) -> list[str]:
        """Names of all values: those of every run first, then what was drawn."""
        names = dict.fromkeys(HEAD)
        for row in self.rows:
            names |= dict.fromkeys(row)
        for name in self.parameters:
            names.pop(name, None)
        return [*names, *self.parameters]

    def __getitem__(self, name: str) -> np.ndarray:
        """Values of all runs by name; NaN where one has none.

        Raises:
            CnoidControlError: there is no such value.
        """
        if name not in self.columns:
            raise CnoidControlError(f'no value {name!r}; {choices(self.columns)}')
        values = [row.get(name) for row in self.rows]
        if any(isinstance(value, str) for value in values):
            return np.array(['' if value is None else str(value) for value in values])
        if None in values:
            return np.array([math.nan if value is None else value for value in values])
        return np.array(values)

    @property
    def metrics(self) -> list[str]:
        """Names of the measured numbers."""
        others = {*HEAD, *self.parameters}
        return [
            name
            for name in self.columns
            if name not in others and np.issubdtype(self[name].dtype, np.number)
        ]

    def separations(self) -> list[Separation]:
        """What the failures have in common, see `statistics.separations`."""
        rows = [row for row in self.rows if row['exit'] != LOST]
        values = {name: [row[name] for row in rows] for name in self.parameters}
        return separations(values, [row['passed'] for row in rows])

    def worst(self, by: str = '') -> Row:
        """The worst run: one that did not pass, if any, and of those the one with most of `by`.

        Args:
            by: name of a value that is worse the larger it is; the tilt of a robot that tilts,
                else the joint error, where empty.

        Raises:
            CnoidControlError: there are no runs with results, or no such value.
        """
        rows = [row for row in self.rows if row['exit'] != LOST]
        if not rows:
            raise CnoidControlError('there is no run with a result')
        by = by or (TILT if np.nanmax(self[TILT], initial=0.0) > 0.0 else ERROR)
        if by not in self.metrics and by not in self.parameters:
            raise CnoidControlError(f'no value {by!r}; {choices(self.metrics)}')
        # What is not finite is worst of all.
        return max(
            rows,
            key=lambda row: (
                not row['passed'],
                math.inf if row[by] is None else row[by],
                -row['run'],
            ),
        )

    def summary(self) -> dict[str, Any]:
        """What the runs say together; only values that JSON can express."""
        low, high = self.interval()
        return {
            'runs': len(self.rows),
            'passed': self.passed,
            'failed': self.failed,
            'lost': sum(row['exit'] == LOST for row in self.rows),
            'pass_rate': self.pass_rate if self.rows else None,
            'pass_rate_low': low,
            'pass_rate_high': high,
            'confidence': CONFIDENCE,
            'passes': self.rule.text,
            'metrics': {name: _spread(self[name]) for name in self.metrics},
            'separations': [
                {
                    'parameter': one.name,
                    'side': one.side,
                    'auc': round(one.auc, 6),
                    'p': one.p,
                    'failure_rate_in_quarters': [round(rate, 6) for rate in one.quarters],
                }
                for one in self.separations()
            ],
        }

    def facts(self) -> dict[str, Any]:
        """Values that a requirement may refer to: rates, counts, and spreads of metrics."""
        summary = self.summary()
        facts = {
            key: value
            for key, value in summary.items()
            if isinstance(value, (int, float)) or value is None
        }
        for name, spread in summary['metrics'].items():
            facts |= {f'{name}.{key}': value for key, value in spread.items()}
        return facts

    # --- files --------------------------------------------------------------------------------

    def to_csv(self, path: str | Path | None = None) -> str:
        """Table as comma-separated values; written to a file where one is given.

        Numbers are written so that they are read back to the bit.

        Raises:
            CnoidControlError: the file cannot be written.
        """
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator='\n')
        names = self.columns
        writer.writerow(names)
        for row in self.rows:
            writer.writerow([_cell(row.get(name)) for name in names])
        text = stream.getvalue()
        if path is not None:
            try:
                Path(path).write_text(text, encoding='utf-8')
            except OSError as error:
                raise CnoidControlError(f'{path}: cannot be written: {error}') from error
        return text

    def to_pandas(self) -> pandas.DataFrame:
        """Table as a DataFrame.

        Raises:
            CnoidControlError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise CnoidControlError('pandas is not installed: pip install pandas') from error
        return pandas.DataFrame(self.rows, columns=self.columns)

    def to_parquet(self, path: str | Path) -> None:
        """Write the table as a Parquet file.

        Raises:
            CnoidControlError: pyarrow is not installed, or the file cannot be written.
        """
        require_parquet()
        import pyarrow
        import pyarrow.parquet

        columns = {name: [row.get(name) for row in self.rows] for name in self.columns}
        try:
            pyarrow.parquet.write_table(pyarrow.table(columns), str(path))
        except (OSError, pyarrow.ArrowException) as error:
            raise CnoidControlError(f'{path}: cannot be written: {error}') from error

    def __repr__(self) -> str:
        low, high = self.interval()
        return f'<{len(self)} runs, {self.passed} passed ({low:.1%} to {high:.1%})>'

    def _repr_html_(self) -> str:
        low, high = self.interval()
        rows: dict[str, Any] = {
            'passed': f'{self.passed} of {len(self)} ({self.pass_rate:.1%})',
            '95 % interval': f'{low:.1%} to {high:.1%}',
            'rule': self.rule.text,
        }
        for one in self.separations():
            if one.is_significant:
                rows[escape(one.name)] = (
                    f'{one.side} values fail: AUC {one.auc:.2f}, p {one.p:.2g}'
                )
        return html_table(rows, f'{len(self)} randomised runs')


def require_parquet() -> None:
    """Refuse Parquet where nothing can write it.

    Raises:
        CnoidControlError: pyarrow is not installed.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise CnoidControlError(
            "Parquet needs pyarrow, which is not installed: pip install 'cnoid_control[parquet]'"
        ) from error


def _spread(values: np.ndarray) -> dict[str, float | None]:
    """Least, median, 95th percentile and largest of a metric; None of none."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return dict.fromkeys(('min', 'median', 'p95', 'max'))
    low, middle, high, top = np.quantile(finite, (0.0, 0.5, 0.95, 1.0))
    found = {'min': low, 'median': middle, 'p95': high, 'max': top}
    return {name: round(float(value), 9) for name, value in found.items()}


def _cell(value: Any) -> str:
    if value is None:
        return ''
    if isinstance(value, bool):
        return 'true' if value else 'false'
    return repr(value) if isinstance(value, float) else str(value)
