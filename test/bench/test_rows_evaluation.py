"""The row on randomised runs can be measured."""

from __future__ import annotations

import math

from cnoid_control.bench import rows_evaluation
from cnoid_control.evaluation import executor


def test_both_sides_are_measured(monkeypatch):
    """With few runs on one core; what it comes to depends on the computer."""
    monkeypatch.setattr(rows_evaluation, 'RUNS_PER_CORE', 3)
    monkeypatch.setattr(rows_evaluation, 'REPEATS', 1)
    monkeypatch.setattr(executor, 'core_count', lambda: 1)
    (row,) = rows_evaluation.ROWS
    value = row.result().value
    assert value is not None
    assert math.isfinite(value)
    assert value > 0.0
