"""The mutation test: what it changes, and that it sees whether tests notice."""

import ast

import mutants

SOURCE = """\
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    assert 1 < 2


def limit(value: 'float < 3', most=2.0):
    print('called')
    if value > most and not most == 0.0:
        return most * 1.0
    return value
"""
TEST = """\
from cnoid_control.room.limit import limit


def test_limit():
    assert limit({}) == {}
"""


def test_comparisons_operators_negations_and_calls_are_changed(tmp_path):
    """Each kind of change is found once per place, outside of annotations and type checks."""
    path = tmp_path / 'limit.py'
    path.write_text(SOURCE)
    found = {(mutant.before, mutant.after) for mutant in mutants.mutants_of(path)}
    assert found == {
        ("print('called')", 'pass'),
        ('value > most and not most == 0.0', '(value > most or not most == 0.0)'),
        ('value > most', '(value <= most)'),
        ('not most == 0.0', '(most == 0.0)'),
        ('most == 0.0', '(most != 0.0)'),
        ('most * 1.0', '(most / 1.0)'),
    }


def test_every_mutant_of_a_room_can_be_parsed():
    """Places and texts fit: the changed files are Python again."""
    for path in sorted((mutants.ROOT / 'cnoid_control' / 'runtime' / 'safety').glob('*.py')):
        source = path.read_bytes()
        for mutant in mutants.mutants_of(path):
            ast.parse(source[: mutant.begin] + mutant.after.encode() + source[mutant.end :])


def test_a_mutant_survives_where_no_test_notices(tmp_path):
    """A test that reaches the changed place kills the mutant, one that does not lets it live."""
    room = tmp_path / 'cnoid_control' / 'room'
    room.mkdir(parents=True)
    (room.parent / '__init__.py').touch()
    (room / '__init__.py').touch()
    path = room / 'limit.py'
    path.write_text(SOURCE)
    tests = tmp_path / 'test'
    tests.mkdir()
    mutant = next(one for one in mutants.mutants_of(path) if one.after == '(value <= most)')
    mutant = mutant._replace(path=path.relative_to(tmp_path))
    for value, result, lives in ((3.0, 2.0, False), (2.0, 2.0, True)):
        (tests / 'test_limit.py').write_text(TEST.format(value, result))
        assert mutants.survives(mutant, tmp_path, tests.relative_to(tmp_path)) is lives
    assert path.read_text() == SOURCE
