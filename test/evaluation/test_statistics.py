"""Pass rates and separations, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cnoid_control.evaluation.statistics import mann_whitney, separations, wilson_interval
from cnoid_control.exceptions import CnoidControlError


@pytest.mark.parametrize(
    ('passed', 'runs'), [(0, 1), (1, 1), (0, 30), (30, 30), (7, 30), (990, 1000)]
)
@pytest.mark.parametrize('confidence', [0.9, 0.95])
def test_the_interval_is_wilsons(passed, runs, confidence):
    """The same as scipy's."""
    wanted = stats.binomtest(passed, runs).proportion_ci(confidence, method='wilson')
    found = wilson_interval(passed, runs, confidence)
    np.testing.assert_allclose(found, (wanted.low, wanted.high), atol=1e-9)


def test_no_runs_say_nothing():
    """Of none the rate may be anything; more passes than runs are refused."""
    assert wilson_interval(0, 0) == (0.0, 1.0)
    with pytest.raises(CnoidControlError, match='3 of 2'):
        wilson_interval(3, 2)


@pytest.mark.parametrize('step', [0.0, 0.5])
def test_the_rank_test_is_scipys(step):
    """With ties and without."""
    random = np.random.default_rng(1)
    failed, passed = random.normal(0.4, 1.0, 40), random.normal(0.0, 1.0, 160)
    if step:
        failed, passed = np.round(failed / step) * step, np.round(passed / step) * step
    wanted = stats.mannwhitneyu(failed, passed, method='asymptotic')
    auc, p = mann_whitney(failed, passed)
    assert auc == pytest.approx(wanted.statistic / (40 * 160))
    assert p == pytest.approx(wanted.pvalue, rel=1e-9)


def draws(runs: int, seed: int = 0) -> dict[str, list]:
    """Values of many parameters."""
    random = np.random.default_rng(seed)
    found = {f'p{i}': random.uniform(-1.0, 1.0, runs).tolist() for i in range(30)}
    found['word'] = random.choice(['a', 'b', 'c'], runs).tolist()
    return found


@pytest.mark.parametrize(
    ('name', 'fails', 'side'),
    [
        ('p3', lambda v: v['p3'] > 0.7, 'high'),
        ('p4', lambda v: v['p4'] < -0.7, 'low'),
        ('p5', lambda v: abs(v['p5']) > 0.8, 'outer'),
        ('p6', lambda v: abs(v['p6']) < 0.15, 'inner'),
        ('word = b', lambda v: v['word'] == 'b' and v['p0'] > 0.2, 'chosen'),
    ],
)
def test_the_cause_is_found(name, fails, side):
    """The parameter that fails runs comes first, with the side on which it does."""
    values = draws(300)
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    found = separations(values, [not fails(row) for row in rows])
    assert (found[0].name, found[0].side) == (name, side)
    assert found[0].is_significant
    expected = {name, 'p0'} if name.startswith('word') else {name}
    certain = {one.name for one in found if one.is_significant}
    assert {one.partition(' ')[0] for one in certain} <= {
        one.partition(' ')[0] for one in expected
    }


def test_chance_is_not_taken_for_a_cause():
    """Where failures are random, something is found in at most 1 of 20 evaluations."""
    found = 0
    for seed in range(100):
        random = np.random.default_rng(1000 + seed)
        passed = random.random(150) > 0.2
        found += any(one.is_significant for one in separations(draws(150, seed), passed))
    assert found <= 10


def test_quarters_tell_where():
    """Failure rates of the lowest to the highest quarter."""
    values = list(range(40))
    (found,) = separations({'x': values}, [value < 30 for value in values])
    assert found.quarters == (0.0, 0.0, 0.0, 1.0)
    assert found.auc == 1.0


def test_without_failures_there_is_nothing_to_separate():
    """Nor with one or two of them."""
    assert separations({'x': [1.0, 2.0, 3.0, 4.0]}, [True] * 4) == []
    assert separations({'x': list(range(20))}, [False] * 2 + [True] * 18) == []
