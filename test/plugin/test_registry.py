"""Controllers are found by entry point, module and file, and errors say what there is."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from cnoid_control.controllers.sr1.minimum import SR1MinimumController
from cnoid_control.parameters import parse_parameters
from cnoid_control.plugin.exceptions import (
    ControllerLoadError,
)
from cnoid_control.plugin.registry import controller_names, find_controller, instance_name

SOURCE = """
from dataclasses import dataclass

from cnoid_control import SimpleController


class Mine(SimpleController):
    @dataclass
    class Parameters:
        gain: float = 1.0


other = 3
"""


def test_finds_registered_controllers():
    """By the name of the entry point."""
    assert 'sr1_minimum' in controller_names()
    assert find_controller('sr1_minimum') is SR1MinimumController


def test_a_package_that_is_installed_meanwhile_is_seen(tmp_path, monkeypatch):
    """Its entry points are there at once, and gone when it is."""
    monkeypatch.syspath_prepend(tmp_path)
    assert 'newcomer' not in controller_names()
    package = tmp_path / 'newcomer-1.0.dist-info'
    package.mkdir()
    (package / 'METADATA').write_text('Metadata-Version: 2.1\nName: newcomer\nVersion: 1.0\n')
    (package / 'entry_points.txt').write_text(
        '[cnoid_control.controllers]\n'
        'newcomer = cnoid_control.controllers.sr1.minimum:SR1MinimumController\n'
    )
    os.utime(tmp_path, ns=(1, 1))
    assert find_controller('newcomer') is SR1MinimumController
    shutil.rmtree(package)
    os.utime(tmp_path, ns=(2, 2))
    assert 'newcomer' not in controller_names()


def test_finds_classes_in_modules():
    """By package.module:Class."""
    name = 'cnoid_control.controllers.sr1.minimum:SR1MinimumController'
    assert find_controller(name) is SR1MinimumController


def test_finds_classes_in_files(tmp_path):
    """By a path, absolute or relative to a folder; two files of one name do not mix."""
    for folder in ('a', 'b'):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / 'mine.py').write_text(SOURCE + f'Mine.folder = {folder!r}\n')
    first = find_controller(f'{tmp_path}/a/mine.py:Mine')
    second = find_controller('mine.py:Mine', tmp_path / 'b')
    assert (first.folder, second.folder) == ('a', 'b')


def test_an_edit_in_the_same_second_is_seen(tmp_path):
    """A file of the same size and time stamp, but other text, is loaded anew."""
    path = tmp_path / 'edited.py'
    text = (
        'from cnoid_control import SimpleController\n\nclass Mine(SimpleController):\n    gain = '
    )
    for gain in (1, 2):
        path.write_text(f'{text}{gain}\n')
        os.utime(path, (1e9, 1e9))
        assert find_controller(f'{path}:Mine').gain == gain


def test_unknown_name_lists_what_exists():
    """And says how else a controller can be named."""
    with pytest.raises(ControllerLoadError) as caught:
        find_controller('sr1_minimal')
    message = str(caught.value)
    assert "unknown controller 'sr1_minimal'" in message
    assert 'sr1_minimum' in message
    assert 'path/to/file.py:Class' in message


def test_a_file_without_a_class_lists_its_controllers(tmp_path):
    """The user forgot the second half of the name."""
    (tmp_path / 'mine.py').write_text(SOURCE)
    with pytest.raises(ControllerLoadError, match=r'no class .*; choose from: mine.py:Mine$'):
        find_controller('mine.py', tmp_path)


def test_unknown_class_lists_the_controllers_of_the_module(tmp_path):
    """The imported base class is not among them."""
    (tmp_path / 'mine.py').write_text(SOURCE)
    with pytest.raises(ControllerLoadError, match=r"'Yours'; choose from: Mine$"):
        find_controller('mine.py:Yours', tmp_path)


def test_class_that_is_no_controller_says_so(tmp_path):
    """Whatever it is."""
    (tmp_path / 'mine.py').write_text(SOURCE)
    with pytest.raises(ControllerLoadError, match='3, which is neither a controller class nor'):
        find_controller('mine.py:other', tmp_path)


def test_import_error_is_shown_with_its_place(tmp_path):
    """One line with the place, and the calls from the file on; a second try reads it again."""
    path = tmp_path / 'mine.py'
    path.write_text('import nothing_of_that_name\n' + SOURCE)
    with pytest.raises(ControllerLoadError) as caught:
        find_controller('mine.py:Mine', tmp_path)
    message = str(caught.value)
    assert "controller 'mine.py:Mine' cannot be imported" in message
    assert message.endswith('(mine.py:1 in <module>)')
    assert caught.value.traceback.splitlines() == [
        f'  File "{path}", line 1, in <module>',
        '    import nothing_of_that_name',
    ]
    (tmp_path / 'beside.py').write_text('1 / 0\n')
    path.write_text('import beside\n' + SOURCE)
    with pytest.raises(ControllerLoadError) as caught:
        find_controller('mine.py:Mine', tmp_path)
    assert str(caught.value).endswith(
        '(beside.py:1 in <module>, called from mine.py:1 in <module>)'
    )
    assert 'importlib' not in caught.value.traceback
    path.write_text('def f(:\n' + SOURCE)
    with pytest.raises(ControllerLoadError, match=r'SyntaxError: .*mine.py, line 1') as caught:
        find_controller('mine.py:Mine', tmp_path)
    assert 'def f(:' in caught.value.traceback
    assert "No module named 'nothing_of_that_name'" in message
    path.write_text(SOURCE)
    assert find_controller('mine.py:Mine', tmp_path).__name__ == 'Mine'


@pytest.mark.parametrize('name', ['no.such.module:Class', 'missing.py:Class'])
def test_missing_module_or_file_is_an_import_error(name):
    """It names what was asked for."""
    with pytest.raises(ControllerLoadError, match=name.split(':')[0]):
        find_controller(name)


@pytest.mark.parametrize(
    ('controller', 'name'),
    [
        ('sr1_walk', 'sr1_walk'),
        ('pkg.mod:MyController', 'my_controller'),
        ('dir/file.py:SR1MinimumController', 'sr1_minimum_controller'),
        ('a:PDController', 'pd_controller'),
        ('ur5e.py:Ur5e', 'ur5e'),
        ('a:UR5eReach', 'ur5e_reach'),
        ('a:Sr1Walk2', 'sr1_walk2'),
    ],
)
def test_name_in_a_run(controller, name):
    """An entry point's own name, or the class's in snake case."""
    assert instance_name(controller) == name


def test_a_failed_reload_leaves_the_old_class_whole(tmp_path):
    """Options of a controller that runs are still understood when its file no longer loads."""
    path = tmp_path / 'mine.py'
    path.write_text(
        'from __future__ import annotations\n'
        'from dataclasses import dataclass\n'
        'from cnoid_control import SimpleController\n'
        '@dataclass\nclass Part:\n    gain: float = 1.0\n'
        '@dataclass\nclass Options:\n    part: Part\n'
        'class Mine(SimpleController):\n    Parameters = Options\n'
    )
    mine = find_controller(f'{path}:Mine')
    path.write_text('class Mine(')
    with pytest.raises(ControllerLoadError, match='cannot be imported'):
        find_controller(f'{path}:Mine')
    assert parse_parameters(mine.Parameters, {'part': {'gain': 2.0}}).part.gain == 2.0


def test_a_file_imports_what_is_beside_it(tmp_path):
    """Each folder its own module of the same name, as it is now; nothing installed is replaced."""
    import json

    for folder in ('a', 'b'):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / 'beside.py').write_text(f'WHERE = {folder!r}\n')
        (tmp_path / folder / 'json.py').write_text('raise RuntimeError\n')
        source = 'import json\nimport beside\n' + SOURCE
        (tmp_path / folder / 'mine.py').write_text(source + 'Mine.where = beside.WHERE\n')
    path = list(sys.path)
    assert find_controller('mine.py:Mine', tmp_path / 'a').where == 'a'
    assert find_controller('mine.py:Mine', tmp_path / 'b').where == 'b'
    (tmp_path / 'b' / 'beside.py').write_text("WHERE = 'changed'\n")
    assert find_controller('mine.py:Mine', tmp_path / 'b').where == 'changed'
    assert find_controller('mine.py:Mine', tmp_path / 'a').where == 'a'
    assert sys.modules['json'] is json
    # Behind everything that is installed, and once.
    assert sys.path == [*path, str(tmp_path / 'a'), str(tmp_path / 'b')]
    sys.path[:] = path
