"""The performance table as a page."""

from __future__ import annotations

import pytest

from cnoid_control import CnoidControlError
from cnoid_control.bench.measure import BenchResult
from cnoid_control.bench.report import Report, machine
from cnoid_control.bench.row import FailedRow, FigureResult, MissingRow
from cnoid_control.cli.bench_table import BEGIN, END, markdown, write_markdown

SLOW = ('slow', 'one | two', 'another', 'speed', '>= 0.8')
NUMBERS = (0.5, 0.4, 0.6, 10.0, 20.0, 5.0, 8.0)


def a_report() -> Report:
    """One row of each kind."""
    return Report(
        [
            BenchResult(
                'slow', 'one | two', 'another', 'speed', '>= 0.8', *NUMBERS, False, 'Why.'
            ),
            BenchResult('quick', 'one', 'another', 'speed', '>= 0.4', *NUMBERS, True),
        ],
        [FigureResult('wrong', 'a thing', 'nothing', 's', '<= 1', 2.0, False)],
        [MissingRow('gone', 'a thing', 'a peer', ['peer'])],
        [FailedRow('broken', 'a thing', 'nothing', 'ValueError: no')],
        {'numpy': '2.0'},
    )


def test_the_page_has_every_row_and_why_goals_are_missed():
    """With the machine, the versions and the date."""
    text = markdown(a_report())
    facts = machine()
    for fact in (facts['processor'], facts['date'], facts['python'], 'numpy 2.0'):
        assert fact in text.splitlines()[0]
    assert (
        '| `slow` | one \\| two | another | 0.50 (0.40..0.60) | speed >= 0.8 | **no** | '
        '10.0 / 20.0 | 5.0 / 8.0 |'
    ) in text
    assert '| `quick` | one | another | 0.50 (0.40..0.60) | speed >= 0.4 | yes |' in text
    assert '| `wrong` | a thing | nothing | 2 s | <= 1 s | **no** |' in text
    assert '- `slow`: Why.\n- `wrong`: no reason is known.' in text
    assert '- `quick`' not in text
    assert '| `gone` | a thing | needs peer |' in text
    assert '| `broken` | a thing | ValueError: no |' in text


def test_a_page_keeps_what_is_around_the_table(tmp_path):
    """The table is replaced, twice; a new file gets its markers."""
    page = tmp_path / 'page.md'
    page.write_text(f'# Title\n\n{BEGIN}\nold\n{END}\n\nMore.\n')
    for _ in range(2):
        write_markdown(a_report(), page)
        text = page.read_text()
        assert text.startswith(f'# Title\n\n{BEGIN}\n{machine()["date"]}')
        assert text.endswith(f'{END}\n\nMore.\n')
        assert 'old' not in text
        assert text.count(BEGIN) == text.count('## Ratios') == 1
    new = tmp_path / 'new.md'
    write_markdown(a_report(), new)
    assert new.read_text().startswith(BEGIN)


def test_a_page_without_a_place_is_not_touched(tmp_path):
    """Nor is one that cannot be written."""
    page = tmp_path / 'page.md'
    page.write_text(f'{END} comes before {BEGIN}\n')
    with pytest.raises(CnoidControlError, match='no lines'):
        write_markdown(a_report(), page)
    assert page.read_text() == f'{END} comes before {BEGIN}\n'
    with pytest.raises(CnoidControlError, match='cannot be written'):
        write_markdown(a_report(), tmp_path / 'gone' / 'page.md')


def test_a_report_comes_back_from_another_process():
    """As JSON has it; what was missing here is taken from there."""
    here, there = Report(missing=[MissingRow('slow', 'a', 'b', ['peer'])]), a_report()
    here.take(Report.from_dict(there.to_dict()))
    here.sort(['quick', 'slow', 'wrong', 'gone', 'broken'])
    assert [one.name for one in here.rows] == ['quick', 'slow']
    assert (here.figures, here.missing, here.failed) == (
        there.figures,
        there.missing,
        there.failed,
    )
    assert here.versions == there.versions
