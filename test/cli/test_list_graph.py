"""`cnoid_control list --graph`: what a configuration's controller is composed of."""

from __future__ import annotations

import pytest

from cnoid_control.cli.main import main


def test_the_graph_of_a_composition(capsys, tmp_path):
    """States and transitions are printed, and drawn where asked."""
    picture = tmp_path / 'new' / 'graph.png'
    assert main(['list', '--graph', 'sr1_routine', '--draw', str(picture)]) == 0
    text = capsys.readouterr().out
    assert text.startswith('sr1_routine: TransitionStateMachineController')
    assert '→ end: finished' in text
    assert picture.stat().st_size > 5000


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (
            ['--graph', 'sr1_routine', '--draw', 'x.doc'],
            '--draw x.doc cannot be written: its name',
        ),
        (['--graph', 'sr1_routine', '--draw', '.'], '--draw . cannot be written: '),
        (['--graph', './mine.yaml', '--draw', 'mine.png'], 'what is there is no .png file'),
        (['--draw', 'x.png'], '--draw draws a graph: name a configuration with --graph'),
    ],
)
def test_a_drawing_that_cannot_be_made_is_refused(words, message, capsys, tmp_path, monkeypatch):
    """In one line, before the graph is made; what is there stays."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'mine.png').write_text('no picture')
    (tmp_path / 'mine.yaml').write_text(
        '/**: {ros__parameters: {robot: {model: sr1}, controller: sr1_minimum}}'
    )
    assert main(['list', *words]) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ''
    assert (tmp_path / 'mine.png').read_text() == 'no picture'


def test_the_graph_of_a_single_controller(capsys):
    """A controller that is not composed is a graph of one."""
    assert main(['list', '--graph', 'sr1_pd']) == 0
    assert capsys.readouterr().out == 'sr1_pd: SR1MinimumController\n'


def test_an_unknown_config_is_refused(capsys):
    """The message names it and those that there are."""
    assert main(['list', '--graph', 'nothing']) == 1
    assert "'nothing'" in capsys.readouterr().err


def test_graph_of_a_function_with_options_for_the_actuators(tmp_path, capsys):
    """They are no options of the function."""
    (tmp_path / 'mine.py').write_text(
        'from cnoid_control.controllers.composition import BaseController\n'
        'def make(robot, goal: float = 0.0):\n    return BaseController()\n'
    )
    (tmp_path / 'mine.yaml').write_text(
        '/**: {ros__parameters: {robot: {model: sr1}, controller: "mine.py:make", '
        'make: {goal: 1.0, kp: 3.0}}}'
    )
    assert main(['list', '--graph', str(tmp_path / 'mine.yaml')]) == 0
    assert 'mine: make()' in capsys.readouterr().out
