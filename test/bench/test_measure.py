"""The performance table measures by turns and reports ratios."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from cnoid_control import CnoidControlError
from cnoid_control.bench.measure import measure
from cnoid_control.bench.registry import bench_rows
from cnoid_control.bench.row import BenchRow


def counting_row(calls: list[str], **options) -> BenchRow:
    """Row that notes who is called, and the way in and out."""

    @contextmanager
    def make():
        calls.append('in')
        yield lambda: calls.append('subject'), lambda: calls.append('reference')
        calls.append('out')

    return BenchRow('x', 'one', 'other', make, calls=5, repeats=4, **options)


def test_the_two_take_turns():
    """Each is warmed up; then they alternate, and who begins alternates too."""
    calls: list[str] = []
    measure(counting_row(calls))
    assert (calls[0], calls[-1]) == ('in', 'out')
    turns = [calls[i] for i in range(11, len(calls) - 1, 5)]
    assert turns == ['reference', 'subject', 'subject', 'reference'] * 2
    assert calls.count('subject') == calls.count('reference') == 25


def test_ratio_follows_the_clock(monkeypatch):
    """By a clock on which the subject takes 3 µs and the reference 2 µs."""
    now = [0]
    monkeypatch.setattr('time.perf_counter_ns', lambda: now[0])

    def spend(nanoseconds: int) -> None:
        now[0] += nanoseconds

    @contextmanager
    def make():
        yield lambda: spend(3000), lambda: spend(2000)

    speed = measure(BenchRow('x', 'one', 'other', make, goal=0.7, calls=5))
    assert (speed.ratio, speed.reached, speed.goal) == (0.667, False, '>= 0.7')
    assert (speed.subject_median, speed.reference_p99) == (3.0, 2.0)
    time = BenchRow('x', 'one', 'other', make, kind='time', comparison='<=', goal=1.5, calls=5)
    result = measure(time)
    assert (result.ratio, result.reached) == (1.5, True)
    assert result.to_dict()['ratio_low'] == 1.5


def test_rows_have_names_of_their_own():
    """And are found by them; a wrong one lists what exists."""
    rows = bench_rows()
    assert len({row.name for row in rows}) == len(rows)
    assert {'loop_numpy', 'loop_links', 'recording'} <= {row.name for row in rows}
    assert [row.name for row in bench_rows(['recording'])] == ['recording']
    with pytest.raises(
        CnoidControlError, match=r"unknown row 'nothing'; choose from: .*recording"
    ):
        bench_rows(['nothing'])


@pytest.mark.parametrize('name', ['loop_numpy', 'loop_links', 'recording'])
def test_rows_of_the_loop_can_be_measured(name):
    """Both sides run; the hand-written loop keeps the robot standing like ours does."""
    row = bench_rows([name])[0]
    result = measure(row, calls=300, repeats=1)
    assert result.ratio > 0.0
