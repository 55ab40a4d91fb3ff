"""`cnoid_control replay`: says whether the outputs are the same."""

from __future__ import annotations

import json

from cnoid_control.cli.main import main

SOURCE = """
from cnoid_control import SimpleController, StateFlag


class Mine(SimpleController):
    def initialize(self, io):
        self.body = io.body
        for joint in io.body.joints:
            io.enable_output(joint, StateFlag.JOINT_TORQUE)
        return True

    def control(self):
        self.body.u[:] = GAIN
        return True
"""


def test_tells_same_from_different(capsys, tmp_path):
    """Status 0 for the same, 1 for anything else; as text and as JSON."""
    source, log = tmp_path / 'mine.py', str(tmp_path / 'x.mcap')
    source.write_text(SOURCE.replace('GAIN', '1.0'))
    words = ['run', 'sr1_pd', '--controller', f'{source}:Mine', '--duration', '0.02']
    assert main([*words, '--log', log]) == 0
    capsys.readouterr()
    assert main(['replay', log]) == 0
    assert 'identical: 20 ticks' in capsys.readouterr().out
    source.write_text(SOURCE.replace('GAIN', '2.0'))
    assert main(['replay', log]) == 1
    text = capsys.readouterr().out
    assert 'different: 20 of 20 recorded ticks' in text
    assert 'first at tick 0 (0 s): u of RLEG_HIP_R was 1.0 and is 2.0' in text
    assert main(['replay', log, '--json']) == 1
    result = json.loads(capsys.readouterr().out)
    assert (result['identical'], result['differing_ticks']) == (False, 20)


def test_mistakes_are_explained(capsys, tmp_path):
    """A missing file is named."""
    assert main(['replay', str(tmp_path / 'gone.mcap')]) == 1
    assert 'gone.mcap: cannot be read' in capsys.readouterr().err
