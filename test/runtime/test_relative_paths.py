"""A relative path in a configuration starts at the configuration's folder, in every section."""

from __future__ import annotations

import dataclasses
import io
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.hardware.registry import hardware_kind, hardware_names
from cnoid_control.parameters import FileName, PluginName, parameter, parse_parameters
from cnoid_control.plugin.registry import controller_names, find_controller
from cnoid_control.runtime.build import make_loop, make_robot
from cnoid_control.runtime.config import RunConfig, RunParameters, load_config

URDF = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><mass value="2"/><origin xyz="0 0 -0.15"/>
<inertia ixx="0.05" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
<axis xyz="0 1 0"/><origin xyz="0 0 1"/>
<limit lower="-2" upper="2" velocity="4" effort="80"/></joint></robot>"""
MINE = """
from cnoid_control import SimpleController
from cnoid_control.controllers.pd import PDController
from cnoid_control.controllers.trajectory.controller import TrajectoryController
class Mine(PDController): pass
class Other(SimpleController): pass
class Follow(TrajectoryController): pass
"""
YAML = """
/**:
  ros__parameters:
    robot: {model: models/arm.urdf, base: fixed}
    rate: 100.0
    controller: code/mine.py:Follow
    follow: {file: motions/way.txt, finish: true}
    safe_state: {fallback: code/mine.py:Mine}
    other_controllers: {other: {type: code/mine.py:Other}}
    hardware: {mujoco: {floor: false}, replay: {file: logs/run.mcap}}
    multi:
      stages:
        follow: {controller: code/mine.py:Follow, options: {file: motions/way.txt}}
    sequence:
      stages:
        follow:
          {controller: code/mine.py:Follow, until: 1.0, options: {file: motions/way.txt}}
    state_machine:
      states:
        follow: {controller: code/mine.py:Follow, options: {file: motions/way.txt}}
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunConfig:
    """Return a configuration of a folder that is not the working folder."""
    folder, elsewhere = tmp_path / 'mine', tmp_path / 'elsewhere'
    for name in ('models', 'code', 'motions', 'logs'):
        (folder / name).mkdir(parents=True)
        (elsewhere / name).mkdir(parents=True)
    (folder / 'models/arm.urdf').write_text(URDF)
    (folder / 'code/mine.py').write_text(MINE)
    (folder / 'motions/way.txt').write_text('0 1 0.0\n0.5 1 0.4\n')
    (folder / 'mine.yaml').write_text(YAML)
    # Of the same name, and wrong.
    (elsewhere / 'models/arm.urdf').write_text('<nonsense/>')
    (elsewhere / 'code/mine.py').write_text('1/0')
    (elsewhere / 'motions/way.txt').write_text('nonsense')
    monkeypatch.chdir(elsewhere)
    return load_config(folder / 'mine.yaml')


def test_model_controllers_and_motion(config: RunConfig) -> None:
    """All of them in one run, from another folder."""
    loop = make_loop(config, os=io.StringIO())
    outcome = loop.run(2.0)
    assert outcome.exit != 'failed', outcome.reason
    np.testing.assert_allclose(loop.hardware.body.q, [0.4], atol=0.05)


@pytest.mark.parametrize('controller', ['multi', 'sequence', 'state_machine'])
def test_parts_of_a_composition(config: RunConfig, controller: str) -> None:
    """Their controllers and their options too."""
    values = {**config.values, 'controller': controller}
    del values['other_controllers'], values['follow']
    from cnoid_control.runtime.config import parse_config

    loop = make_loop(parse_config(values, 'x', config.folder), os=io.StringIO())
    outcome = loop.run(0.8)
    assert outcome.exit == 'completed', outcome.reason
    np.testing.assert_allclose(loop.hardware.body.q, [0.4], atol=0.05)


def test_fallback_and_log(config: RunConfig) -> None:
    """The rest of the sections, as they are parsed."""
    folder = config.folder
    assert config.parameters.safe_state.fallback == f'{folder}/code/mine.py:Mine'
    assert config.parameters.other_controllers['other'].type == f'{folder}/code/mine.py:Other'
    assert config.hardware['replay'].file == folder / 'logs/run.mcap'


def test_a_file_of_the_working_folder_is_not_taken(config: RunConfig) -> None:
    """What is not in the configuration's folder is not there."""
    (config.folder / 'models/arm.urdf').unlink()
    again = load_config(config.folder / 'mine.yaml')
    with pytest.raises(CnoidControlError, match=r"no model 'models/arm\.urdf'"):
        make_robot(again.parameters.robot, again.folder)
    (config.folder / 'motions/way.txt').unlink()
    (config.folder / 'models/arm.urdf').write_text(URDF)
    assert Path('motions/way.txt').is_file()
    messages = io.StringIO()
    make_loop(load_config(config.folder / 'mine.yaml'), os=messages).run(0.1)
    assert "'motions/way.txt' is neither a file nor in" in messages.getvalue()


def test_paths_of_a_controllers_own(tmp_path: Path) -> None:
    """An option of the type Path is absolute once parsed, alone, in lists, maps and nested."""

    @dataclasses.dataclass
    class Inner:
        file: Path = parameter(description='a file')

    @dataclasses.dataclass
    class Options:
        one: Path
        many: list[Path]
        named: dict[str, Inner]
        perhaps: Path | None = None
        usual: Path = parameter(Path('motions/way.csv'), 'a default')
        nothing: Path = parameter(Path(), 'none by default')
        plugin: PluginName = parameter('pd')
        shared: FileName = parameter('')

    globals()['Inner'] = Inner
    (tmp_path / 'there.npz').touch()
    given: dict[str, Any] = {
        'one': 'a.txt',
        'many': ['b.txt', '/abs/c.txt'],
        'named': {'x': {'file': '~/d.txt'}},
        'perhaps': '../e.txt',
        'plugin': 'f.py:F',
        'shared': 'there.npz',
    }
    parsed = parse_parameters(Options, given, folder=tmp_path)
    assert parsed.one == tmp_path / 'a.txt'
    assert parsed.usual == tmp_path / 'motions/way.csv'
    assert parsed.nothing == Path()
    assert parsed.many == [tmp_path / 'b.txt', Path('/abs/c.txt')]
    assert parsed.named['x'].file == Path.home() / 'd.txt'
    assert parsed.perhaps == tmp_path / '../e.txt'
    assert parsed.plugin == f'{tmp_path}/f.py:F'
    assert parsed.shared == str(tmp_path / 'there.npz')
    with pytest.raises(CnoidControlError, match='one: a path expected, got 3'):
        parse_parameters(Options, {**given, 'one': 3})


def text_options(schema: type, prefix: str) -> Iterator[tuple[str, Any, str]]:
    """All options of a dataclass, nested ones too: key, type and description."""
    hints = typing.get_type_hints(schema)
    for field in dataclasses.fields(schema):
        kind, key = hints[field.name], f'{prefix}.{field.name}'
        for part in (kind, *typing.get_args(kind)):
            if dataclasses.is_dataclass(part) and part is not schema:
                yield from text_options(typing.cast(type, part), key)
        info = field.metadata.get('parameter')
        yield key, kind, info.description if info else ''


def schemas() -> Iterator[tuple[str, type]]:
    """Every dataclass of options that a configuration has a place for."""
    yield 'run', RunParameters
    for name in hardware_names():
        if name != 'ros2_control':
            yield f'hardware.{name}', hardware_kind(name).parameters
    for name in controller_names():
        schema = find_controller(name).Parameters
        if schema is not None:
            yield name, schema


# Options whose description speaks of files, and that name none.
NO_PATHS = {'run.devices', 'run.robot.arguments'}


def test_every_option_that_is_a_path_has_the_type_of_one() -> None:
    """A new option that names a file as a plain text would start at the working folder."""
    found = 0
    for name, schema in schemas():
        for key, kind, description in text_options(schema, name):
            words = set(description.lower().replace("'", ' ').replace(',', ' ').split())
            speaks = words & {'file', 'path', 'folder', 'file.py:class'}
            kinds = {kind, *typing.get_args(kind)}
            if kinds & {FileName, PluginName, Path}:
                found += 1
            elif speaks and kinds & {str} and key not in NO_PATHS:
                pytest.fail(f'{key} is a text, and is described as {description!r}')
    assert found >= 8
