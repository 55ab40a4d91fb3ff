"""YAML whose aliases and merges unfold without end is read in bounded time, or refused."""

from __future__ import annotations

import pytest
import yaml

from cnoid_control.strict_yaml import load_yaml


def test_merges_of_merges_stay_as_small_as_their_keys() -> None:
    """Each level names the one before twice: 2^60 entries, if they were all kept."""
    lines = ['a0: &a0 {x: 1, y: 2}']
    lines += [f'a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}], k{i}: {i}}}' for i in range(1, 61)]
    data = load_yaml('\n'.join(lines))
    assert data['a60'] == {'x': 1, 'y': 2} | {f'k{i}': i for i in range(1, 61)}


def test_what_a_mapping_says_itself_counts_before_what_it_merges() -> None:
    """And of several, the first one counts."""
    text = 'a: &a {x: 1, y: 1}\nb: &b {x: 2, z: 2}\nc: {<<: [*a, *b], y: 3}'
    assert load_yaml(text)['c'] == {'x': 1, 'y': 3, 'z': 2}


def test_a_key_given_twice_is_refused_in_a_mapping_that_merges() -> None:
    """Merges hide no slip."""
    text = 'a: &a {x: 1}\nb: &b {<<: *a, y: 1, y: 2}\nc: {<<: *b}'
    with pytest.raises(yaml.YAMLError, match="'y' is given twice"):
        load_yaml(text)


@pytest.mark.parametrize(
    'text',
    [
        'a: &a {b: *a}',
        'a: &a [*a]',
        '\n'.join(['a0: &a0 [1]', *(f'a{i}: &a{i} [*a{i - 1}]' for i in range(1, 3000))]),
    ],
    ids=['mapping', 'list', 'chain'],
)
def test_what_is_a_part_of_itself_is_refused(text: str) -> None:
    """A recursion without end would come later, without a word on the file."""
    with pytest.raises(yaml.YAMLError, match='nested more than 50 deep'):
        load_yaml(text)
