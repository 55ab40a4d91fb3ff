"""The mutation test: what it changes, and that it sees whether tests notice."""

import ast
from pathlib import Path

import mutants
import pytest
from room_tests import RoomTests

SOURCE = """\
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    assert 1 < 2 & 3


def limit(value: 'float | 3', most=2.0):
    print('called')
    if value > most and not most == 0.0:
        return most * 1.0
    value += 0 & 1
    return value
"""
TESTS = """\
import subprocess
import sys
import threading
import time

import pytest

from cnoid_control.room.limit import limit


def test_slow():
    time.sleep(0.1)
    assert limit(3.0) == 2.0


def test_quick():
    assert limit(3.0) == 2.0


def test_little():
    assert limit(1.0) == 1.0


@pytest.mark.parametrize('value', [1, 2])
def test_nothing(value):
    pass


def test_thread():
    thread = threading.Thread(target=limit, args=(3.0,))
    thread.start()
    thread.join()


def test_process():
    program = 'from cnoid_control.room.limit import limit; print(limit(0.0, -0.0))'
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert done.stdout == 'called\\n0.0\\n'
"""


@pytest.fixture(scope='module')
def tree(tmp_path_factory):
    """A checkout with one room, one file and its tests."""
    tree = tmp_path_factory.mktemp('tree')
    room = tree / 'cnoid_control' / 'room'
    room.mkdir(parents=True)
    (room.parent / '__init__.py').touch()
    (room / '__init__.py').touch()
    (room / 'limit.py').write_text(SOURCE)
    (tree / 'test').mkdir()
    (tree / 'test' / 'test_limit.py').write_text(TESTS)
    return tree


@pytest.fixture(scope='module')
def tests(tree):
    """The process that runs those tests."""
    tests = RoomTests(tree, Path('test'))
    yield tests
    tests.close()


@pytest.fixture(scope='module')
def record(tests):
    """What they execute."""
    return tests.record(Path('cnoid_control') / 'room')


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
        ('value += 0 & 1', 'value -= 0 & 1'),
        ('0 & 1', '(0 | 1)'),
    }


def test_every_mutant_of_a_room_can_be_parsed():
    """Places and texts fit: the changed files are Python again."""
    for path in sorted((mutants.ROOT / 'cnoid_control' / 'runtime' / 'safety').glob('*.py')):
        source = path.read_bytes()
        for mutant in mutants.mutants_of(path):
            ast.parse(source[: mutant.begin] + mutant.after.encode() + source[mutant.end :])


def test_lines_belong_to_their_statement(tmp_path):
    """A statement ends where the statements inside of it begin."""
    path = tmp_path / 'lines.py'
    path.write_text('if (\n    a < b\n    or c\n):\n    f(\n        a + b\n    )\n')
    found = {mutant.before: mutant.lines for mutant in mutants.mutants_of(path)}
    assert found.pop('a < b') == range(1, 5)
    assert found.pop('a + b') == range(5, 8)


def names(tests):
    """Names of tests, without their file."""
    return [test.split('::')[1] for test in tests]


def test_a_line_is_tried_by_the_tests_that_execute_it(record):
    """Those are found in threads and processes too, and sorted by the time that they take."""
    file = 'cnoid_control/room/limit.py'
    condition, most, value = record.tests[file][9], record.tests[file][10], record.tests[file][12]
    assert sorted(names(condition)) == sorted(
        ['test_slow', 'test_quick', 'test_little', 'test_thread', 'test_process']
    )
    assert sorted(names(most)) == sorted(['test_slow', 'test_quick', 'test_thread'])
    assert sorted(names(value)) == sorted(['test_little', 'test_process'])
    assert names(record.executing(file, [10]))[-1] == 'test_slow'
    assert record.executing(file, [2, 6]) == []
    # Every test depends on what is executed when the file is imported.
    assert set(record.executing(file, [7])) == set(record.durations)
    assert len(record.durations) == 7


@pytest.mark.parametrize(
    ('change', 'test'),
    [
        ('(value <= most)', 'test_'),
        ('pass', 'test_process'),
        ('(most == 0.0)', 'test_'),
        # Equivalent: times and through one.
        ('(most / 1.0)', None),
    ],
)
def test_a_mutant_survives_where_no_test_notices(tree, tests, record, change, test):
    """The tests that execute the changed place are asked, and the file is as it was then."""
    path = tree / 'cnoid_control' / 'room' / 'limit.py'
    mutant = next(one for one in mutants.mutants_of(path) if one.after == change)
    mutant = mutant._replace(path=path.relative_to(tree))
    killer = mutants.killer(mutant, tree, tests, record)
    assert killer is None if test is None else f'::{test}' in killer
    assert path.read_text() == SOURCE


def test_a_mutant_that_hangs_is_killed(tree, tests, record, monkeypatch):
    """A test that takes much longer than without a mutant counts as failed."""
    monkeypatch.setattr('room_tests.PATIENCE', 0.5)
    path = tree / 'cnoid_control' / 'room' / 'limit.py'
    after = '(time := __import__("time")).sleep(60.0)'
    mutant = next(one for one in mutants.mutants_of(path) if one.after == 'pass')
    mutant = mutant._replace(path=path.relative_to(tree), after=after)
    assert mutants.killer(mutant, tree, tests, record) is not None


def test_mutants_are_not_tried_where_tests_fail_without(tree, tests):
    """A room whose tests fail is refused with what they print."""
    broken = tree / 'test' / 'test_broken.py'
    broken.write_text('def test_broken():\n    raise ValueError(17)\n')
    try:
        with pytest.raises(RuntimeError, match=r'test_broken.*\n(.*\n)*.*ValueError: 17'):
            tests.record(Path('cnoid_control') / 'room')
    finally:
        broken.unlink()
