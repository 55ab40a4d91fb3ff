"""Distributions by name: what they draw, how they are written, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cnoid_control.evaluation.distributions import distribution_from_text, parse_distribution
from cnoid_control.exceptions import CnoidControlError

REFERENCES = {
    'uniform': ([0.3, 1.0], stats.uniform(0.3, 0.7)),
    'log_uniform': ([0.01, 10.0], stats.loguniform(0.01, 10.0)),
    'normal': ([1.0, 0.2], stats.norm(1.0, 0.2)),
    'truncated_normal': ([1.0, 0.2, 0.9, 1.5], stats.truncnorm(-0.5, 2.5, 1.0, 0.2)),
    'triangular': ([0.0, 1.0, 4.0], stats.triang(0.25, 0.0, 4.0)),
}


@pytest.mark.parametrize('name', REFERENCES)
def test_draws_have_the_distribution(name):
    """Of 4000 draws the largest deviation from the distribution function is one of chance."""
    given, reference = REFERENCES[name]
    distribution = parse_distribution('x', {name: given})
    random = np.random.default_rng(3)
    values = [distribution.draw(random) for _ in range(4000)]
    assert stats.kstest(values, reference.cdf).pvalue > 0.01


def test_integers_and_choices_are_all_drawn():
    """Both ends of integers are drawn, and every choice, equally often."""
    random = np.random.default_rng(3)
    for value, wanted in (
        ({'integer': [-1, 2]}, [-1, 0, 1, 2]),
        ({'choice': ['a', 'b', 7]}, ['a', 'b', 7]),
    ):
        distribution = parse_distribution('x', value)
        values = [distribution.draw(random) for _ in range(4000)]
        counts = [values.count(one) for one in wanted]
        assert sum(counts) == 4000
        assert stats.chisquare(counts).pvalue > 0.01


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('0.3..1.0', {'uniform': [0.3, 1.0]}),
        ('-1..1', {'uniform': [-1, 1]}),
        ('.5..1.', {'uniform': [0.5, 1.0]}),
        ('-0.5..-.25', {'uniform': [-0.5, -0.25]}),
        ('100..8000:log', {'log_uniform': [100, 8000]}),
        ('0.9..1.1:scale', {'uniform': [0.9, 1.1], 'as': 'scale'}),
        ('1..2:log:scale', {'log_uniform': [1, 2], 'as': 'scale'}),
        ('normal(0, 0.1)', {'normal': [0, 0.1]}),
        ('choice(a, b):set', {'choice': ['a', 'b'], 'as': 'set'}),
        ('{normal: [0, 1]}', {'normal': [0, 1]}),
        ('WAIST', {'constant': 'WAIST'}),
        ('2.5', {'constant': 2.5}),
        ('constant(2.5)', {'constant': 2.5}),
        ('[1.0, 0.0, 0.0]', {'constant': [1.0, 0.0, 0.0]}),
    ],
)
def test_texts_of_the_command_line(text, value):
    """Ranges, named distributions, YAML and constants."""
    assert distribution_from_text('x', text) == value


@pytest.mark.parametrize(
    ('value', 'text'),
    [
        ({'gauss': [0, 1]}, 'choose from: uniform, log_uniform, normal'),
        ({'uniform': [0, 1], 'normal': [0, 1]}, 'is not a distribution'),
        ({'uniform': [0, 1], 'how': 'scale'}, 'is not a distribution'),
        ({'uniform': [0]}, r'2 numbers expected \(low, high\)'),
        ({'uniform': [0, 'x']}, '2 numbers expected'),
        ({'uniform': [0, float('nan')]}, '2 numbers expected'),
        ({'uniform': 3}, 'a list expected'),
        ({'uniform': [1, 0]}, 'not ascending'),
        ({'log_uniform': [0, 1]}, 'not above 0'),
        ({'normal': [0, -1]}, 'negative'),
        ({'truncated_normal': [0, 1, 2, 1]}, 'the range is empty'),
        ({'truncated_normal': [0, 1, 5, 6]}, '3 standard deviations'),
        ({'integer': [0.5, 2]}, 'not whole'),
        ({'choice': []}, 'none to choose from'),
        ({'uniform': [0, 1], 'as': 'times'}, 'choose from: set, add, scale'),
    ],
)
def test_what_makes_no_distribution_is_refused(value, text):
    """The message names the key, the value and what there is."""
    with pytest.raises(CnoidControlError, match=text) as caught:
        parse_distribution('randomize.x', value).check('randomize.x')
    assert 'randomize.x' in str(caught.value)
