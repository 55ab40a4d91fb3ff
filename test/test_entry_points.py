"""What packages register is found as `importlib.metadata` finds it."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from cnoid_control.entry_points import EntryPoint, entry_points

GROUP = 'cnoid_control.things'
TEXT = """# what others read
[console_scripts]
run = elsewhere:main

[cnoid_control.things]
first = json:JSONDecoder.decode
# a remark
with.dots-and dashes= json:loads [extra]
whole = json
"""


def install(folder: Path, name: str, text: str = TEXT) -> None:
    """Put a package's metadata into a folder."""
    folder = folder / name
    folder.mkdir(parents=True)
    (folder / 'METADATA').write_text(f'Name: {name.partition("-")[0]}\nVersion: 1.0\n')
    (folder / 'entry_points.txt').write_text(text)


@pytest.mark.parametrize('group', ['cnoid_control.controllers', 'cnoid_control.hardware'])
def test_what_is_installed_here(group):
    """Names and values are the same."""
    expected = {point.name: point.value for point in metadata.entry_points(group=group)}
    assert expected
    assert {point.name: point.value for point in entry_points(group)} == expected


@pytest.mark.parametrize('name', ['thing-1.0.dist-info', 'thing-1.0-py3.11.egg-info'])
def test_the_lines_of_a_file(name, tmp_path, monkeypatch):
    """Comments, other groups and extras are left out; what is registered can be imported."""
    install(tmp_path, name)
    monkeypatch.syspath_prepend(tmp_path)
    found = {point.name: point for point in entry_points(GROUP)}
    assert list(found) == ['first', 'with.dots-and dashes', 'whole']
    assert found['first'].load().__name__ == 'decode'
    assert found['with.dots-and dashes'].load().__name__ == 'loads'
    assert found['whole'].load().__name__ == 'json'
    expected = metadata.entry_points(group=GROUP)
    assert {(p.name, p.module, p.attr) for p in found.values()} == {
        (p.name, p.module, p.attr or '') for p in expected
    }


def test_of_two_versions_the_first_counts(tmp_path, monkeypatch):
    """Spelt in another way it is still the same package."""
    install(tmp_path / 'a', 'my_thing-2.0.dist-info', f'[{GROUP}]\none = json:loads\n')
    install(tmp_path / 'b', 'My.Thing-1.0.dist-info', f'[{GROUP}]\ntwo = json:dumps\n')
    monkeypatch.setattr(sys, 'path', [str(tmp_path / 'a'), str(tmp_path / 'b')])
    assert entry_points(GROUP) == [EntryPoint('one', 'json:loads', GROUP)]


def test_other_finders_are_asked(monkeypatch):
    """Packages in archives, or wherever a program keeps its own, are found, too."""

    class Distribution(metadata.Distribution):
        def read_text(self, filename):
            return TEXT if filename == 'entry_points.txt' else 'Name: kept\nVersion: 1\n'

        def locate_file(self, path):
            return path

    class Finder(metadata.DistributionFinder):
        def find_spec(self, *args, **options):
            return None

        def find_distributions(self, context=None):
            return [Distribution()]

    monkeypatch.setattr(sys, 'meta_path', [Finder(), *sys.meta_path])
    assert [point.name for point in entry_points(GROUP)][-1] == 'whole'
