"""Rows that need something which is not installed say what, and are not measured."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest

from cnoid_control.bench import registry
from cnoid_control.bench.measure import measure
from cnoid_control.bench.row import BenchRow, MetricRow, missing_modules
from cnoid_control.cli.main import main


@contextmanager
def _unmade():
    raise AssertionError('a row was made that cannot be measured')
    yield


ROWS = [
    BenchRow('pair', 'a thing', 'a peer', _unmade, needs='json no_such_peer no_such_other'),
    MetricRow('figure', 'one thing', 'its peer', lambda: 1 / 0, 's', needs='no_such_peer'),
]


def test_only_what_is_not_there_is_missing():
    """Modules are separated by blanks; nothing is imported to find out."""
    assert missing_modules('') == []
    assert missing_modules('json no_such_peer') == ['no_such_peer']
    assert missing_modules('os.path no_such_peer.part') == ['no_such_peer.part']


def test_rows_that_cannot_be_measured_say_what_they_need(monkeypatch, capsys):
    """In the report and in the table, for both kinds of rows, with exit status 0."""
    monkeypatch.setattr(registry, 'bench_rows', lambda names: ROWS)
    assert main(['bench', '--json']) == 0
    report = json.loads(capsys.readouterr().out)
    assert [(row['name'], row['needs']) for row in report['missing']] == [
        ('pair', ['no_such_peer', 'no_such_other']),
        ('figure', ['no_such_peer']),
    ]
    assert (report['rows'], report['figures'], report['failed']) == ([], [], [])
    assert main(['bench']) == 0
    assert 'no_such_peer, no_such_other' in capsys.readouterr().out


@pytest.mark.parametrize(('goal', 'why'), [(0.0, ''), (1e9, 'It does more.')])
def test_a_missed_goal_says_why(goal, why):
    """The sentence of the row is in the result where the goal is missed, and only there."""

    @contextmanager
    def make():
        yield lambda: None, lambda: None

    row = BenchRow('x', 'one', 'other', make, goal=goal, calls=5, repeats=1, why='It does more.')
    assert measure(row).why == why
    figure = MetricRow('y', 'one', 'other', lambda: 1.0, 's', '>=', goal, why='It does more.')
    assert figure.result().why == why
