"""Spoilt robot models: loaded or refused by name, in bounded time, touching no other file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnoid_control.body import Body
from cnoid_control.body.description import BodyDescription
from cnoid_control.body.exceptions import ModelError, PathOutsidePackage
from cnoid_control.body.formats.choreonoid import parse_body
from cnoid_control.body.formats.resources import resolve_uri
from cnoid_control.body.formats.urdf import parse_urdf
from cnoid_control.share import shared_file

HERE = Path(__file__).parent
SR1_URDF = Path(shared_file('urdf', 'sr1.urdf')).read_text(encoding='utf-8')
SR1_BODY = (HERE.parent / 'body' / 'sr1.body').read_text(encoding='utf-8')
WORDS = [
    'nan',
    '-1',
    '0',
    '1e400',
    'inf',
    '',
    'WAIST',
    '"',
    '<',
    '&',
    '[',
    '{',
    '*a',
    '&a',
    '- ',
    ':',
]
CHANGES = st.lists(
    st.tuples(
        st.integers(0, 10**6),
        st.integers(0, 40),
        st.one_of(st.sampled_from(WORDS), st.text(max_size=6)),
    ),
    min_size=1,
    max_size=4,
)


def corrupt(text: str, changes: list[tuple[int, int, str]]) -> str:
    """Text with pieces of it replaced."""
    for place, length, word in changes:
        place %= len(text) + 1
        text = text[:place] + word + text[place + length :]
    return text


def is_robot_or_refused(load: Callable[[], BodyDescription]) -> bool:
    """Load a robot; whether it came, or was refused with a reason."""
    try:
        return Body(load()).num_links > 0
    except ModelError as error:
        return bool(str(error))


@given(changes=CHANGES)
def test_fuzz_urdf(changes: list[tuple[int, int, str]]) -> None:
    """A URDF with replaced pieces becomes a robot or a ModelError."""
    text = corrupt(SR1_URDF, changes)
    assert is_robot_or_refused(lambda: parse_urdf(text, 'fuzz', folder=HERE))


@given(changes=CHANGES)
def test_fuzz_body(changes: list[tuple[int, int, str]]) -> None:
    """A .body file with replaced pieces becomes a robot or a ModelError."""
    text = corrupt(SR1_BODY, changes)
    assert is_robot_or_refused(lambda: parse_body(text, 'fuzz', HERE))


@given(
    parts=st.lists(st.sampled_from(['..', '.', 'a', '', '%2e%2e', '~', '//', '\\..']), max_size=8)
)
def test_fuzz_package_addresses(parts: list[str]) -> None:
    """A package address never leads out of its package."""
    package = resolve_uri('package://cnoid_control/x').parent
    try:
        path = resolve_uri('package://cnoid_control/' + '/'.join(parts))
    except (PathOutsidePackage, ModelError):
        return
    assert package in (path, *path.parents)


@pytest.mark.parametrize('depth', [50, 5000])
def test_deep_nesting_is_refused_or_read(depth: int) -> None:
    """Neither XML nor YAML of great depth exhausts the stack."""
    for parse, text in (
        (lambda text: parse_urdf(text, 'deep'), '<robot>' + '<link>' * depth + '</link>' * depth),
        (lambda text: parse_body(text, 'deep', HERE), '[' * depth + ']' * depth),
        (lambda text: parse_body(text, 'deep', HERE), '{a: ' * depth + '}' * depth),
    ):
        with pytest.raises(ModelError):
            parse(text)


def test_entity_and_alias_bombs_are_refused() -> None:
    """Texts that grow without bound when they are expanded are refused at once."""
    entities = ''.join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 12))
    xml = f'<!DOCTYPE robot [<!ENTITY e0 "x">{entities}]><robot name="&e11;"/>'
    with pytest.raises(ModelError):
        parse_urdf(xml, 'bomb')
    yaml = 'a0: &a0 [x, x]\n' + ''.join(
        f'a{i}: &a{i} [{", ".join([f"*a{i - 1}"] * 10)}]\n' for i in range(1, 12)
    )
    with pytest.raises(ModelError):
        parse_body(yaml, 'bomb', HERE)
