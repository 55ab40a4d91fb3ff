"""`--json`: one object on the standard output, alone, whatever happens."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cnoid_control.cli.json_output import print_object
from cnoid_control.cli.main import main

MAIN = [sys.executable, '-m', 'cnoid_control.cli.main']
NOISY = """
def control(robot, t):
    print('noise')
"""
FAILING = """
from cnoid_control import SimpleController

class Failing(SimpleController):
    def initialize(self, io):
        return self.prepare()

    def prepare(self):
        return [][1]
"""


@pytest.mark.parametrize(
    'words',
    [
        ['run', 'nothing'],
        ['run', 'pendulum', '--controller', 'gone.py:Gone'],
        ['show', 'nothing'],
        ['evaluate', 'pendulum', '--pass', 'tilt <'],
        ['tune', 'nothing', '--vary', 'pd.kp=1..2', '--minimize', 'x'],
        ['list', 'nothing'],
        ['get', 'nothing'],
        ['replay', 'gone.mcap'],
        ['policy', 'pendulum'],
        ['bench', 'nothing'],
        ['faults', 'nothing', '--where', 'embedded'],
    ],
)
def test_errors_of_every_command_are_an_object(capsys, words):
    """With the reason that stands on the standard error, too."""
    assert main([*words, '--json']) == 1
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found['exit'] == 'failed'
    assert found['reason'] in err


@pytest.mark.parametrize('time', ['-1', 'inf', 'nan', 'soon'])
def test_wrong_arguments_are_one_line_and_an_object(capsys, time):
    """The status is that of wrong usage."""
    with pytest.raises(SystemExit) as caught:
        main(['run', 'sr1_pd', '--duration', time, '--json'])
    assert caught.value.code == 2
    out, err = capsys.readouterr()
    reason = f"argument --duration: '{time}' is not a finite time of 0 s or more"
    assert json.loads(out) == {'exit': 'failed', 'reason': reason}
    assert err == f'cnoid_control run: {reason}; see cnoid_control run --help\n'


def test_a_defect_is_an_object_too(capsys, monkeypatch):
    """An exception that nobody expected ends the program with its traceback."""
    monkeypatch.setattr('cnoid_control.catalog.find_model', lambda name: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        main(['show', 'pendulum', '--json'])
    assert 'ZeroDivisionError' in json.loads(capsys.readouterr().out)['reason']


def test_what_fails_in_initialize_has_its_calls(capsys, tmp_path, monkeypatch):
    """And so has what fails while its file is imported; the package's own calls are left out."""
    monkeypatch.chdir(tmp_path)
    Path('mine.py').write_text(FAILING)
    words = ['run', 'pendulum', '--duration', '0.01', '--json', '--controller']
    assert main([*words, 'mine.py:Failing']) == 1
    found = json.loads(capsys.readouterr().out)
    assert 'mine.py:9 in prepare, called from mine.py:6 in initialize' in found['reason']
    assert (
        found['traceback'].splitlines()[0] == f'  File "{tmp_path}/mine.py", line 6, in initialize'
    )
    Path('mine.py').write_text('import nothing_of_that_name')
    assert main([*words, 'mine.py:Failing']) == 1
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert len(found['reason'].splitlines()) == 1
    assert 'importlib' not in found['traceback']
    assert found['traceback'] in err


@pytest.mark.parametrize('workers', ['0', '1'])
def test_what_controllers_print_goes_to_the_error(tmp_path, workers):
    """Also from the processes that do the runs of an evaluation."""
    (tmp_path / 'mine.py').write_text(NOISY)
    words = ['evaluate', 'pendulum', '--controller', 'mine.py:control', '--runs', '1']
    result = subprocess.run(
        [*MAIN, *words, '--duration', '0.01', '--workers', workers, '--json'],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert json.loads(result.stdout)['runs'] == 1, result.stderr
    assert 'noise' in result.stderr


def test_without_the_option_objects_go_to_the_output(capsys):
    """As those of a function that is called from elsewhere do."""
    print_object({'a': 1})
    assert json.loads(capsys.readouterr().out) == {'a': 1}


def test_a_controller_that_prints_outlives_its_reader(tmp_path):
    """The pipe is closed after one line: the run goes on to its end, and nothing is reported."""
    (tmp_path / 'mine.py').write_text(
        'def control(robot, t):\n'
        '    print("noise " * 1000, flush=True)\n'
        '    if t > 0.045:\n        open("done", "w").close()\n'
    )
    words = ['run', 'pendulum', '--controller', 'mine.py:control', '--duration', '0.05']
    with subprocess.Popen(
        [*MAIN, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith('noise')
        process.stdout.close()
        error = process.stderr.read()
    assert process.returncode == 141
    assert 'BrokenPipe' not in error
    assert 'Traceback' not in error
    assert (tmp_path / 'done').exists()
