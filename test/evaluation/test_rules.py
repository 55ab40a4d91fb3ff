"""Rules on named values."""

from __future__ import annotations

import math

import pytest

from cnoid_control.evaluation.rules import Rule
from cnoid_control.exceptions import CnoidControlError

VALUES = {
    'fell': False,
    'max_tilt_deg': 12.5,
    'root_position.x': -0.5,
    'exit': 'completed',
    'missing': None,
    'bad': math.nan,
}


@pytest.mark.parametrize(
    ('text', 'wanted'),
    [
        ('not fell', True),
        ('max_tilt_deg < 20', True),
        ('max_tilt_deg < 20 and root_position.x > 0', False),
        ('max_tilt_deg < 12 or not fell', True),
        ('abs(root_position.x) <= 0.5', True),
        ('0 < max_tilt_deg < 12', False),
        ('-root_position.x * 2 + 1 == 2', True),
        ("exit != 'failed'", True),
        ('max(max_tilt_deg, 30) >= 30', True),
        ('missing < 1', False),
        ('missing > 1', False),
        ('bad != 1', False),
        ('fell == 0', True),
    ],
)
def test_rules_hold_or_not(text, wanted):
    """Comparisons, arithmetic and words; nothing holds of what is no number."""
    assert Rule(text).holds(VALUES) is wanted


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('tilt < 20', "no value 'tilt'; choose from: fell, max_tilt_deg"),
        ('max_tilt_deg <', 'cannot be read'),
        ('__import__("os").system("true")', 'nothing else'),
        ('[x for x in exit]', 'nothing else'),
        ('max_tilt_deg ** 2 > 3', 'nothing else'),
        ('exit < 3', 'not supported'),
        ('max_tilt_deg / 0 > 1', 'division'),
        ('', 'cannot be read'),
    ],
)
def test_wrong_rules_are_refused(text, message):
    """Unknown names, what is no rule, and code."""
    with pytest.raises(CnoidControlError, match=message):
        Rule(text).holds(VALUES)


def test_names_are_found():
    """What a rule needs is known before it is used."""
    assert Rule('a.b < c and not d').names == ['a.b', 'c', 'd']
