"""`cnoid_control new`: what it writes works as it is."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from cnoid_control.cli.main import main


def test_new_controller_runs_and_its_test_passes(tmp_path, monkeypatch, capsys):
    """`new NAME`, `run NAME`, and pytest on what was written; strict io has nothing to say."""
    monkeypatch.chdir(tmp_path)
    assert main(['new', 'my_controller']) == 0
    assert 'cnoid_control run my_controller' in capsys.readouterr().out
    assert main(['run', 'my_controller', '--duration', '2', '--json']) == 0
    captured = capsys.readouterr()
    summary = json.loads(captured.out)
    assert (summary['controller'], summary['exit']) == ('my_controller', 'completed')
    assert not summary['fell']
    assert 'enabled' not in captured.err
    assert 'warning' not in captured.err
    words = [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'my_controller']
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
    assert '2 passed' in result.stdout


def test_new_files_are_clean(tmp_path, monkeypatch):
    """They pass the linter that the package itself passes."""
    monkeypatch.chdir(tmp_path)
    main(['new', 'arm_waver2'])
    words = [sys.executable, '-m', 'ruff', 'check', '--select', 'E,F,W,D,Q', '--config']
    options = ['line-length = 99', "lint.flake8-quotes.inline-quotes = 'single'"]
    options += ["lint.pydocstyle.convention = 'google'"]
    words += [part for option in options for part in ('--config', option)][1:]
    result = subprocess.run([*words, '.'], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_options_reach_the_new_controller(tmp_path, monkeypatch, capsys):
    """Its parameters can be set on the command line, and are checked."""
    monkeypatch.chdir(tmp_path)
    main(['new', 'my_controller'])
    words = ['run', 'my_controller', '--duration', '0.1', '--json', '--option']
    assert main([*words, 'frequency=2']) == 0
    capsys.readouterr()
    assert main([*words, 'frequency=-2']) == 1
    assert 'my_controller.frequency: -2.0 is not allowed' in capsys.readouterr().err


@pytest.mark.parametrize(
    'name', ['MyController', '9lives', 'my-controller', 'class', '', '_x', 'ä']
)
def test_bad_names_are_refused(tmp_path, monkeypatch, capsys, name):
    """Nothing is written then."""
    monkeypatch.chdir(tmp_path)
    assert main(['new', name]) == 1
    assert 'is no name for a controller' in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path, monkeypatch, capsys):
    """A folder of that name stays as it is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'mine').mkdir()
    assert main(['new', 'mine']) == 1
    assert 'mine exists already' in capsys.readouterr().err
    assert list((tmp_path / 'mine').iterdir()) == []
