"""Finds the rows of the performance table."""

from __future__ import annotations

import importlib
import pkgutil

import cnoid_control.bench
from cnoid_control.bench.row import BenchRow, MetricRow
from cnoid_control.exceptions import CnoidControlError, choices


def bench_rows(names: list[str] | None = None) -> list[BenchRow | MetricRow]:
    """Rows by name; all of them where none is named.

    Raises:
        CnoidControlError: a name is not that of a row.
    """
    rows: dict[str, BenchRow | MetricRow] = {}
    for module in sorted(pkgutil.iter_modules(cnoid_control.bench.__path__), key=lambda m: m.name):
        if module.name.startswith('rows_'):
            found = importlib.import_module(f'cnoid_control.bench.{module.name}')
            rows |= {row.name: row for row in found.ROWS}
    for name in names or ():
        if name not in rows:
            raise CnoidControlError(f'unknown row {name!r}; {choices(rows)}')
    return [rows[name] for name in names] if names else list(rows.values())
