"""The layout of PlotJuggler: well-formed, of every joint, on the topics that the node has."""

from __future__ import annotations

from xml.etree import ElementTree

from cnoid_control.cli.main import main
from cnoid_control.viewer.plotjuggler import COMMANDS, FIELDS, STATES


def test_every_joint_is_in_the_layout(tmp_path, capsys):
    """Measured and commanded, in each of the three quantities, each once."""
    out = tmp_path / 'sr1.xml'
    assert main(['plot', 'sr1_pd', '-o', str(out)]) == 0
    assert 'for 29 joints' in capsys.readouterr().out
    root = ElementTree.fromstring(out.read_text())
    names = [curve.get('name') for curve in root.iter('curve')]
    assert len(names) == len(set(names)) == 29 * 2 * len(FIELDS)
    assert f'{STATES}/RLEG_KNEE/position' in names
    assert f'{COMMANDS}/RLEG_KNEE/effort' in names
    assert len(root.findall('.//Tab')) == len(FIELDS)


def test_a_layout_is_of_one_robot(tmp_path, capsys):
    """Two are refused by name."""
    assert main(['plot', 'sr1_pd', 'arm', '-o', str(tmp_path / 'x.xml')]) == 1
    assert 'a layout is of one robot, and 2 are given' in capsys.readouterr().err
