"""Option strings are split and parsed as Choreonoid does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnoid_control.plugin.options import format_option_string, parse_option_string, split_options


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('', []),
        ('torque', ['torque']),
        ('  a   b ', ['a', 'b']),
        ('"a b" c', ['a b', 'c']),
        (r'a\ b c', ['a b', 'c']),
        (r'say \"hi\"', ['say', '"hi"']),
        ('x"y z"w', ['xy zw']),
        ('ends\\', ['ends']),
    ],
)
def test_splits_at_spaces_with_quotes_and_escapes(text, words):
    """Quotes keep spaces, backslashes escape, empty words are dropped."""
    assert split_options(text) == words


def test_parses_yaml_mappings():
    """An empty string is an empty mapping."""
    assert parse_option_string('') == {}
    assert parse_option_string('{mode: torque, gains: [1, 2]}') == {
        'mode': 'torque',
        'gains': [1, 2],
    }


@pytest.mark.parametrize('text', ['torque', '[1, 2]', '{a: '])
def test_refuses_what_is_no_mapping(text):
    """The message shows the string."""
    with pytest.raises(ValueError, match='option string'):
        parse_option_string(text)


scalars = st.one_of(
    st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)


@given(st.dictionaries(st.text(min_size=1), st.one_of(scalars, st.lists(scalars)), max_size=4))
def test_round_trip(values):
    """What is formatted is parsed to the same mapping."""
    assert parse_option_string(format_option_string(values)) == values
