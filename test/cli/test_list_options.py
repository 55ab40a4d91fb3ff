"""`list NAME`: the options of a controller, of hardware and of a configuration; `--version`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from cnoid_control.cli.main import main
from cnoid_control.controllers.pd import PDParameters
from cnoid_control.parameters import parse_parameters
from cnoid_control.plugin.registry import controller_names

SOURCE = '''
from dataclasses import dataclass, field
from typing import Literal
from cnoid_control import SimpleController, parameter

@dataclass
class Inner:
    depth: int = parameter(2, 'how deep', minimum=1, maximum=5)

@dataclass
class MyParameters:
    gain: float = parameter(description='how strong', unit='N m')
    way: Literal['left', 'right'] = parameter('left', 'which way')
    box: tuple[float, float] = parameter((1.0, 2.0), 'edges', unit='m')
    inner: Inner = field(default_factory=Inner)
    by_name: dict[str, Inner] = parameter({}, 'several', read_only=True)

class Mine(SimpleController):
    """Does little."""

    Parameters = MyParameters
'''


def listed(capsys, name: str) -> dict:
    """What `list NAME --json` says."""
    assert main(['list', name, '--json']) == 0
    return json.loads(capsys.readouterr().out)


def test_options_of_a_file_of_ones_own(capsys, tmp_path: Path, monkeypatch) -> None:
    """Key, type, default, unit, range and meaning, nested ones by their full key."""
    monkeypatch.chdir(tmp_path)
    Path('mine.py').write_text(SOURCE)
    Path('mine.py').write_text(SOURCE.replace('class Mine(', 'class MyOwn('))
    assert listed(capsys, 'mine.py:MyOwn')['example'].splitlines()[1] == 'my_own:'
    Path('mine.py').write_text(SOURCE)
    found = listed(capsys, 'mine.py:Mine')
    assert found['about'] == 'Does little.'
    rows = {row['key']: row for row in found['options']}
    assert list(rows) == [
        'mine.gain', 'mine.way', 'mine.box', 'mine.inner.depth', 'mine.by_name.NAME.depth'
    ]  # fmt: skip
    assert rows['mine.gain']['default'] == 'required'
    assert rows['mine.gain']['unit'] == 'N m'
    assert rows['mine.way']['type'] == 'left, right'
    assert rows['mine.box']['default'] == '[1, 2]'
    assert rows['mine.inner.depth']['range'] == '1 to 5'
    assert rows['mine.by_name.NAME.depth']['read_only']
    assert found['example'].splitlines()[:3] == [
        'controller: mine.py:Mine', 'mine:', '  gain: ???'
    ]  # fmt: skip


@pytest.mark.parametrize('name', [*controller_names(), 'mujoco', 'ros2_control', 'config'])
def test_everything_that_is_installed_can_be_listed(capsys, name: str) -> None:
    """For people and for machines; every option says what it is."""
    found = listed(capsys, name)
    assert all(row['description'] for row in found['options'])
    assert main(['list', name]) == 0
    text = capsys.readouterr().out
    assert all(row['key'] in text for row in found['options'])


def test_the_example_can_be_used(capsys) -> None:
    """It is YAML that the controller takes."""
    example = yaml.safe_load(listed(capsys, 'pd')['example'])
    assert example['controller'] == 'pd'
    parse_parameters(PDParameters, example['pd'], 'pd')


def test_a_name_that_is_not_there_lists_what_is(capsys) -> None:
    """Controllers and hardware."""
    assert main(['list', 'nothing_of_this_name']) == 1
    said = capsys.readouterr().err
    assert 'motion_queue' in said
    assert 'mujoco' in said


def test_version(capsys) -> None:
    """That of package.xml."""
    from cnoid_control.share import share_folder

    with pytest.raises(SystemExit) as end:
        main(['--version'])
    assert end.value.code == 0
    said = capsys.readouterr().out.split()
    assert said[0] == 'cnoid_control'
    manifest = share_folder() / 'package.xml'
    assert f'<version>{said[1]}</version>' in manifest.read_text()


def test_configurations_that_list_names_are_listed(capsys) -> None:
    """With what is in the whole comment at the top, and the options of their controller."""
    assert main(['list', '--json']) == 0
    configs = json.loads(capsys.readouterr().out)['configs']
    assert configs['tank'].endswith('by a scripted joystick.')
    assert [text for text in configs.values() if not text.endswith('.')] == []
    found = listed(capsys, 'motion_queue')
    assert found['name'] == 'motion_queue'
    found = listed(capsys, 'arm_circle')
    assert 'elbow stays inside a box. A configuration' in ' '.join(found['about'].split())
    assert found['example'] == 'cnoid_control run arm_circle'
    assert found['options'][0]['key'].startswith('tasks.')
    assert main(['list', 'nothing']) == 1
    assert 'arm_circle' in capsys.readouterr().err
