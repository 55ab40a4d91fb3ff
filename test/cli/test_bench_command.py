"""`cnoid_control bench`: a row that fails does not cost the others."""

from __future__ import annotations

import json

import pytest

from cnoid_control.bench import registry
from cnoid_control.bench.row import MetricRow
from cnoid_control.cli.main import main


def _fail() -> float:
    raise RuntimeError('no such [robot]')


@pytest.fixture(autouse=True)
def rows(monkeypatch: pytest.MonkeyPatch) -> list[MetricRow]:
    """Put one row that fails before one that does not."""
    rows = [
        MetricRow('broken', 'a thing', 'nothing', _fail, 's'),
        MetricRow('whole', 'another thing', 'nothing', lambda: 2.0, 's', '<=', 3.0),
    ]
    monkeypatch.setattr(registry, 'bench_rows', lambda names: rows)
    return rows


def test_a_row_that_fails_is_a_row_with_the_reason(capsys) -> None:
    """The other row has its figure, and the exit status is 1."""
    assert main(['bench']) == 1
    shown = capsys.readouterr().out
    assert 'RuntimeError: no such [robot]' in ' '.join(shown.split())
    assert 'another thing' in shown


def test_rows_that_fail_are_in_the_report(capsys) -> None:
    """JSON lists them beside the figures of the others."""
    assert main(['bench', '--json']) == 1
    report = json.loads(capsys.readouterr().out)
    assert report['failed'] == [
        {
            'name': 'broken',
            'subject': 'a thing',
            'reference': 'nothing',
            'reason': 'RuntimeError: no such [robot]',
        }
    ]
    assert [figure['name'] for figure in report['figures']] == ['whole']


def test_without_a_failure_the_status_is_0(capsys, rows: list[MetricRow]) -> None:
    """A goal that is not reached is no failure: only a row without a figure is."""
    rows[0] = MetricRow('slow', 'a thing', 'nothing', lambda: 9.0, 's', '<=', 3.0)
    assert main(['bench', '--json']) == 0
    assert json.loads(capsys.readouterr().out)['failed'] == []
