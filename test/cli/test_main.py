"""The command line as a whole: list, convert, bench, and the way to the ROS node."""

from __future__ import annotations

import json
import sys
import types

import pytest

from cnoid_control.body.formats.load import load_body
from cnoid_control.cli.main import main
from cnoid_control.share import share_folder


def test_list_names_what_is_installed(capsys):
    """Controllers, configs and hardware, each with a line on what it is."""
    assert main(['list', '--json']) == 0
    found = json.loads(capsys.readouterr().out)
    assert 'initial posture' in found['controllers']['sr1_minimum']
    assert found['configs']['sr1_pd'] == 'SR1 holds its posture by joint torques.'
    assert set(found['hardware']) == {'mujoco', 'kinematic', 'ros2_control', 'replay'}
    assert main(['list']) == 0
    text = capsys.readouterr().out
    assert 'sr1_minimum' in text
    assert 'kinematic' in text


def test_every_config_says_what_it_is(capsys):
    """The first line of a config is a comment for the list."""
    main(['list', '--json'])
    found = json.loads(capsys.readouterr().out)
    assert [name for name, text in found['configs'].items() if not text] == []
    assert [name for name, text in found['controllers'].items() if not text] == []


def test_convert_writes_a_model(capsys, tmp_path):
    """What is written loads to a robot of the same make."""
    out = tmp_path / 'out.urdf'
    assert main(['convert', str(share_folder() / 'urdf' / 'sr1.urdf'), str(out)]) == 0
    assert 'SR1, 30 links, 29 joints, 7 devices' in capsys.readouterr().out
    body = load_body(out)
    assert (body.num_links, body.num_joints, body.num_devices) == (30, 29, 7)
    assert body.mass == pytest.approx(130.8)


def test_convert_explains_mistakes(capsys, tmp_path):
    """A model that is not there is named."""
    assert main(['convert', 'gone.body', str(tmp_path / 'out.urdf')]) == 1
    assert 'gone.body' in capsys.readouterr().err


def test_bench_lists_and_measures(capsys, tmp_path):
    """A table for people, JSON for programs."""
    assert main(['bench', '--list']) == 0
    assert 'loop_numpy: embedded loop' in capsys.readouterr().out
    assert main(['bench', 'loop_numpy', '--repeats', '1', '--json']) == 0
    report = json.loads(capsys.readouterr().out)
    assert [row['name'] for row in report['rows']] == ['loop_numpy']
    assert report['rows'][0]['subject_median'] > 0.0
    file = tmp_path / 'bench.json'
    assert main(['bench', 'loop_numpy', '--repeats', '1', '--json', str(file)]) == 0
    assert 'loop_numpy' in capsys.readouterr().out
    assert len(json.loads(file.read_text())['rows']) == 1
    assert main(['bench', 'nothing']) == 1
    assert "unknown row 'nothing'" in capsys.readouterr().err


def test_ros_arguments_start_the_node(monkeypatch):
    """`ros2 run cnoid_control cnoid_control --ros-args ...` is the node, with all arguments."""
    calls = []

    def node_main(words):
        calls.append(words)
        return 3

    monkeypatch.setitem(
        sys.modules, 'cnoid_control.ros.node.control_node', types.SimpleNamespace(main=node_main)
    )
    assert main(['--ros-args', '-p', 'rate:=5.0']) == 3
    assert calls == [['--ros-args', '-p', 'rate:=5.0']]


@pytest.mark.parametrize('words', [[], ['dance']])
def test_unknown_commands_are_refused(words, capsys):
    """With the usage on the standard error."""
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert 'usage: cnoid_control' in capsys.readouterr().err
