"""`cnoid_control list --graph`: what a configuration's controller is composed of."""

from __future__ import annotations

from cnoid_control.cli.main import main


def test_the_graph_of_a_composition(capsys, tmp_path):
    """States and transitions are printed, and drawn where asked."""
    picture = tmp_path / 'graph.png'
    assert main(['list', '--graph', 'sr1_routine', '--draw', str(picture)]) == 0
    text = capsys.readouterr().out
    assert text.startswith('sr1_routine: TransitionStateMachineController')
    assert '→ end: finished' in text
    assert picture.stat().st_size > 5000


def test_the_graph_of_a_single_controller(capsys):
    """A controller that is not composed is a graph of one."""
    assert main(['list', '--graph', 'sr1_pd']) == 0
    assert capsys.readouterr().out == 'sr1_pd: SR1MinimumController\n'


def test_an_unknown_config_is_refused(capsys):
    """The message names it and those that there are."""
    assert main(['list', '--graph', 'nothing']) == 1
    assert "'nothing'" in capsys.readouterr().err
