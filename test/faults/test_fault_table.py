"""The columns of the fault table."""

from __future__ import annotations

import json

import pytest

from cnoid_control.faults.table import FaultResult, to_json, to_markdown


@pytest.mark.parametrize(
    ('reaction', 'threshold', 'promise'),
    [
        (0.9, 0.0, '20 ms (Franka, UR)'),
        (1.0, 20.0, '50 ms (Unitree)'),
        (0.0, 50.0, '50 ms (Unitree)'),
        (0.1, 50.0, '500 ms (diff_drive, PX4, Autoware)'),
        (1.0, 500.0, 'slower'),
        (None, 50.0, ''),
    ],
)
def test_threshold_and_reaction_are_compared_with_what_others_promise(
    reaction: float | None, threshold: float, promise: str
) -> None:
    """The time from the fault to the answer counts; without an answer there is none."""
    result = FaultResult('fault', 'dds', reaction, True, 'well', 1, threshold_ms=threshold)
    assert result.promise == promise
    assert result.total_ms == (None if reaction is None else pytest.approx(reaction + threshold))
    (values,) = json.loads(to_json([result]))
    assert values['as_quick_as'] == promise
    assert {'fault', 'where', 'reaction_ms', 'attempts', 'survived', 'outcome'} <= set(values)
    head, rule, row = to_markdown([result]).splitlines()
    assert head.count('|') == rule.count('|') == row.count('|')
    assert promise in row
