"""Objectives and constraints: what they are over runs, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from cnoid_control import CnoidControlError
from cnoid_control.tuning.goals import read_constraints, read_objectives, resolve
from cnoid_control.tuning.score import Scorer

VALUES = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]
ROWS = [{'exit': 'completed', 'duration': 2.0, 'error': value} for value in VALUES]


@pytest.mark.parametrize(
    ('text', 'minimized', 'maximized'),
    [
        ('error', np.mean(VALUES), np.mean(VALUES)),
        ('error:worst', 9.0, 1.0),
        ('error:median', np.median(VALUES), np.median(VALUES)),
        ('error:p90', np.percentile(VALUES, 90), np.percentile(VALUES, 10)),
    ],
)
def test_statistics_over_runs(text, minimized, maximized):
    """The worst is the largest of what is to be small, and the smallest of what is to be large."""
    small, large = read_objectives([text], [text])
    assert small.over(ROWS) == pytest.approx(minimized)
    assert large.over(ROWS) == pytest.approx(maximized)
    assert [small.direction, large.direction] == ['minimize', 'maximize']


@pytest.mark.parametrize(
    ('text', 'excess'),
    [
        ('error<9.5', 0.0),
        ('error<=9', 0.0),
        ('error<9', 1e-9),
        ('error < 8', 1.0),
        ('error>=1', 0.0),
        ('error>1', 1e-9),
        ('error>2.5', 1.5),
        ('error=1', 8.0),
        ('error==9', 8.0),
        ('error:mean<=3', np.mean(VALUES) - 3.0),
        ('error:mean<=4', 0.0),
        ('other<=4', 1e9),
    ],
)
def test_constraints_over_runs(text, excess):
    """In every run, unless a statistic is named; what is missing is violated."""
    [constraint] = read_constraints([text])
    assert constraint.excess(ROWS) == pytest.approx(excess)


def test_a_run_without_a_value_is_as_bad_as_can_be():
    """A mean over the others would make it look better."""
    small, large = read_objectives(['error'], ['error'])
    rows = [*ROWS, {'exit': 'failed', 'error': None}]
    assert small.over(rows) == np.inf
    assert large.over(rows) == -np.inf


def test_names_may_leave_their_last_word_out():
    """Where one value alone begins so."""
    row = {
        'max_tilt_deg': 1.0,
        'max_joint_error': 2.0,
        'max_joint_speed': 2.0,
        'exit': 'completed',
    }
    [tilt] = resolve(read_objectives(['max_tilt'], []), row)
    assert tilt.metric == 'max_tilt_deg'
    with pytest.raises(CnoidControlError, match=r"'max_joint': unknown; .*max_joint_speed"):
        resolve(read_objectives(['max_joint'], []), row)
    with pytest.raises(CnoidControlError, match="'exit': is a text"):
        resolve(read_objectives(['exit'], []), row)
    with pytest.raises(CnoidControlError, match='twice'):
        resolve(read_objectives(['max_tilt', 'max_tilt_deg'], []), row)


@pytest.mark.parametrize('text', ['fell', 'fell~0', 'fell=', '=0', 'fell=no', 'fell=inf'])
def test_constraints_that_cannot_be_read_are_refused(text):
    """With what they look like."""
    with pytest.raises(CnoidControlError, match='constraint'):
        read_constraints([text])


def test_unknown_statistics_are_refused():
    """With the choices."""
    with pytest.raises(CnoidControlError, match=r'best.*worst'):
        read_objectives(['error:best'], [])


def row(error, duration=2.0, **more):
    """Values of a run."""
    return {'exit': 'completed', 'duration': duration, 'error': error, 'fell': False, **more}


def scorer(*constraints, runs=3):
    """What makes scores of runs of 2 s."""
    return Scorer(read_objectives(['error'], []), read_constraints(constraints), runs, 2.0)


def test_a_score_waits_for_the_runs_that_it_depends_on():
    """And for no others: a run after one that is bad for good says nothing more."""
    fallen = row(5.0, 1.0, fell=True)
    score = scorer('fell=0').score
    assert score([row(1.0), None, row(3.0)]) is None
    assert score([None, fallen, None]) is None
    assert score([row(1.0), row(2.0), row(3.0)]).values == (2.0,)
    assert score([row(1.0), fallen, None]) == score([row(1.0), fallen, row(3.0)])
    assert score([row(1.0), fallen, None]).runs == 2
    # Over all runs one fall says nothing yet.
    assert scorer('fell:mean<=0.5').score([row(1.0), fallen, None]) is None
    assert scorer('fell:mean<=0.5').score([row(1.0), fallen, row(1.0)]).is_feasible


def test_of_two_bad_trials_the_one_is_better_that_came_further():
    """By runs, and then by the time of the fall."""
    fallen = [row(5.0, duration, fell=True) for duration in (0.5, 1.5)]
    score = scorer('fell=0').score
    tries = [[fallen[0]], [fallen[1]], [row(1.0), fallen[0]], [row(1.0), row(1.0), fallen[1]]]
    violations = [sum(score([*rows, None, None][:3]).violations) for rows in tries]
    assert violations == sorted(violations, reverse=True)
    assert len(set(violations)) == 4
    assert violations[-1] > 0.0


def test_a_run_that_failed_is_never_obedient():
    """Whatever the constraints say, with its reason."""
    score = scorer().score([row(1.0), row(0.1, exit='failed', reason='it broke'), None])
    assert not score.is_feasible
    assert score.reason == 'it broke'
