"""`cnoid_control get`, with an index that is a folder of wheels made by the tests."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from cnoid_control.catalog import fetch as fetching
from cnoid_control.catalog import models, table
from cnoid_control.cli import get_command
from cnoid_control.cli.main import main
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.runtime.config import RobotParameters
from cnoid_control.runtime.defaults import make_robot

URDF = '<robot name="stick"><link name="rod"/></robot>'
FILE = 'sticks/robots/stick/stick.urdf'
DIST_INFO = 'sticks-1.0.dist-info'
CONTENTS = {
    FILE: URDF,
    'sticks/robots/stick/meshes/rod.stl': 'solid rod\nendsolid rod\n',
    'sticks/robots/stones/stone.urdf': URDF,
    'sticks/train.py': 'raise SystemExit("never run")\n',
    f'{DIST_INFO}/METADATA': 'Metadata-Version: 2.1\nName: sticks\nVersion: 1.0\n',
    f'{DIST_INFO}/WHEEL': 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    f'{DIST_INFO}/licenses/LICENSE': 'Do as you like.\n',
    f'{DIST_INFO}/RECORD': '',
}


def make_wheel(folder: Path) -> table.Wheel:
    """Write a wheel with two robots into a folder."""
    path = folder / 'sticks-1.0-py3-none-any.whl'
    with zipfile.ZipFile(path, 'w') as archive:
        for name, text in CONTENTS.items():
            archive.writestr(name, text)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return table.Wheel('sticks', '1.0', digest, path.stat().st_size)


def use(monkeypatch: pytest.MonkeyPatch, wheel: table.Wheel) -> None:
    """Offer the two robots of the wheel and nothing else."""
    items = {}
    for name in ('stick', 'stone'):
        folder = 'sticks/robots/stick' if name == 'stick' else 'sticks/robots/stones'
        items[name] = table.Item(name, wheel, f'{folder}/{name}.urdf', (folder,), 'Fair', 99)
    for module in (models, get_command):
        monkeypatch.setattr(module, 'ITEMS', items)


@pytest.fixture
def index(tmp_path, monkeypatch):
    """Let pip see a folder with one wheel and nothing else; the folder."""
    folder = tmp_path / 'index'
    folder.mkdir()
    for key in [key for key in os.environ if key.startswith('PIP_')]:
        monkeypatch.delenv(key)
    monkeypatch.setenv('PIP_CONFIG_FILE', os.devnull)
    monkeypatch.setenv('PIP_NO_INDEX', '1')
    monkeypatch.setenv('PIP_FIND_LINKS', str(folder))
    monkeypatch.setenv('CNOID_CONTROL_CACHE', str(tmp_path / 'cache'))
    use(monkeypatch, make_wheel(folder))
    return folder


@pytest.fixture
def downloaded(index, tmp_path):
    """The same, with the wheel in the cache already, so that pip is not needed."""
    store = tmp_path / 'cache' / 'wheels'
    store.mkdir(parents=True)
    shutil.copy(index / 'sticks-1.0-py3-none-any.whl', store / 'sticks-1.0.whl')
    return store / 'sticks-1.0.whl'


def files(folder: Path) -> set[str]:
    """All files below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob('*') if path.is_file()}


def test_get_unpacks_what_is_needed(index, tmp_path, capsys, monkeypatch):
    """The robot's folder and the licence; then it is a model by name, also in configurations."""
    assert main(['get', 'stick']) == 0
    captured = capsys.readouterr()
    assert 'licence Fair' in captured.err
    assert 'cnoid_control run stick' in captured.err
    path = Path(captured.out.strip())
    assert path.read_text() == URDF
    folder = tmp_path / 'cache' / 'robots' / 'sticks-1.0' / 'stick'
    assert path == folder / FILE
    assert files(folder) == {
        FILE,
        'sticks/robots/stick/meshes/rod.stl',
        f'{DIST_INFO}/METADATA',
        f'{DIST_INFO}/licenses/LICENSE',
    }
    assert models.find_model('stick') == str(path)
    assert make_robot(RobotParameters(model='stick'), tmp_path).name == 'stick'
    # A second time needs neither pip nor the wheel.
    shutil.rmtree(tmp_path / 'cache' / 'wheels')
    monkeypatch.setattr(subprocess, 'run', None)
    assert main(['get', 'stick', '--json']) == 0
    assert json.loads(capsys.readouterr().out) == {'stick': str(path)}


def test_another_robot_of_the_wheel_needs_no_download(index, monkeypatch):
    """The wheel stays in the cache; one that was damaged there is downloaded again."""
    main(['get', 'stick'])
    with monkeypatch.context() as patch:
        patch.setattr(fetching, '_run_pip', lambda *_: pytest.fail('a download'))
        assert main(['get', 'stone']) == 0
    shutil.rmtree(models.cache_folder() / 'robots')
    wheel = models.cache_folder() / 'wheels' / 'sticks-1.0.whl'
    good = wheel.read_bytes()
    wheel.write_bytes(good[:-1])
    assert main(['get', 'stone']) == 0
    assert wheel.read_bytes() == good


def test_list(downloaded, capsys):
    """Name, format, licence, size, and whether it is in the cache."""
    main(['get', 'stone'])
    capsys.readouterr()
    assert main(['get']) == 0
    lines = capsys.readouterr().out.splitlines()
    (stick,) = (line.split() for line in lines if line.startswith('  stick'))
    (stone,) = (line.split() for line in lines if line.startswith('  stone'))
    assert stick == ['stick', 'URDF', 'Fair', '0.0']
    assert stone == ['stone', 'URDF', 'Fair', '0.0', 'yes']
    assert main(['get', '--json']) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed['stick']['path'] is None
    assert Path(listed['stone']['path']).is_file()
    assert listed['stone']['licence'] == 'Fair'


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return the one line with which a command refuses."""
    assert main(list(words)) == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith('cnoid_control: ')
    return message


def nothing_unpacked() -> bool:
    """Whether the cache holds no robot, whole or in part."""
    return not files(models.cache_folder() / 'robots')


def test_an_unknown_name_is_refused(index, capsys):
    """With the choices."""
    assert "'twig'; choose from: stick, stone" in refused(capsys, 'get', 'stick', 'twig')
    assert nothing_unpacked()


def test_a_wrong_hash_is_refused(index, capsys, monkeypatch):
    """Whatever the index gives for the version, and whether or not pip compares it."""
    path = index / 'sticks-1.0-py3-none-any.whl'
    with zipfile.ZipFile(path, 'a') as archive:
        archive.writestr('sticks/robots/stick/more.txt', 'not expected')
    assert 'not the one that is expected' in refused(capsys, 'get', 'stick')
    monkeypatch.setattr(fetching, '_run_pip', lambda _, folder: shutil.copy(path, folder))
    assert 'not the one that is expected' in refused(capsys, 'get', 'stick')
    assert nothing_unpacked()
    assert not files(models.cache_folder())


def test_an_index_without_it(index, capsys):
    """Says so."""
    (index / 'sticks-1.0-py3-none-any.whl').unlink()
    message = refused(capsys, 'get', 'stick')
    assert 'sticks 1.0 cannot be downloaded: the package index' in message
    assert nothing_unpacked()


def test_no_network(index, capsys, monkeypatch):
    """An index that nobody serves."""
    monkeypatch.setenv('PIP_NO_INDEX', '0')
    monkeypatch.setenv('PIP_RETRIES', '1')
    monkeypatch.setenv('PIP_INDEX_URL', 'http://127.0.0.1:9/simple')
    monkeypatch.delenv('PIP_FIND_LINKS')
    for key in ('http_proxy', 'https_proxy', 'all_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'):
        monkeypatch.delenv(key, raising=False)
    assert 'pip reaches no package index' in refused(capsys, 'get', 'stick')


def test_no_space(downloaded, capsys, monkeypatch):
    """Before anything is downloaded, and where the disk fills up meanwhile."""
    usage = shutil.disk_usage('/')._replace(free=5_000_000)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, 'disk_usage', lambda _: usage)
        assert 'has 5 MB of free space, and 10 MB are needed' in refused(capsys, 'get', 'stick')

    def fail(*_):
        raise OSError(errno.ENOSPC, 'No space left on device')

    with monkeypatch.context() as patch:
        patch.setattr(shutil, 'copyfileobj', fail)
        assert 'No space left on device; make room' in refused(capsys, 'get', 'stick')
    assert nothing_unpacked()
    assert main(['get', 'stick']) == 0


def test_an_interrupted_get_leaves_nothing(downloaded, capsys, monkeypatch):
    """Ctrl-C while files are written."""
    with monkeypatch.context() as patch:

        def interrupt(source, file):
            file.write(b'half')
            raise KeyboardInterrupt

        patch.setattr(shutil, 'copyfileobj', interrupt)
        assert main(['get', 'stick']) == 130
    assert nothing_unpacked()
    assert models.cached_model('stick') is None
    assert main(['get', 'stick']) == 0


def test_what_a_killed_process_left_is_removed_later(downloaded, tmp_path):
    """A day old; younger ones may be in use."""
    parent = tmp_path / 'cache' / 'robots' / 'sticks-1.0'
    for name, age in (('.partial-old', 2e5), ('.partial-new', 10.0)):
        (parent / name).mkdir(parents=True)
        then = (parent / name).stat().st_mtime - age
        os.utime(parent / name, (then, then))
    main(['get', 'stick'])
    assert sorted(path.name for path in parent.iterdir()) == ['.partial-new', 'stick']


def test_another_process_that_was_faster(downloaded, tmp_path, monkeypatch):
    """Its folder stays, and this one is no error."""
    unpack = fetching._unpack

    def slow(wheel, item, folder):
        unpack(wheel, item, folder)
        shutil.copytree(folder, models.item_folder(item))
        (models.item_folder(item) / 'first').touch()

    monkeypatch.setattr(fetching, '_unpack', slow)
    assert main(['get', 'stick']) == 0
    folder = tmp_path / 'cache' / 'robots' / 'sticks-1.0'
    assert [path.name for path in folder.iterdir()] == ['stick']
    assert (folder / 'stick' / 'first').exists()


def test_a_policy_is_no_robot():
    """The message says what it is for."""
    with pytest.raises(CnoidControlError, match=r"'g1_walk_ppo' is a policy .* `policy\.file`"):
        models.find_model('g1_walk_ppo')


def test_find_model_says_where_it_has_looked(downloaded, tmp_path):
    """A path, the package's own models, the cache; what could be had is suggested."""
    own = models.find_model('arm')
    assert own == models.find_model('arm.urdf')
    assert Path(own).name == 'arm.urdf'
    (tmp_path / 'mine.urdf').write_text(URDF)
    assert models.find_model('mine.urdf', tmp_path) == str(tmp_path / 'mine.urdf')
    assert models.find_model('package://a/b.urdf') == 'package://a/b.urdf'
    with pytest.raises(CnoidControlError, match='run `cnoid_control get stick`'):
        models.find_model('stick')
    main(['get', 'stone'])
    with pytest.raises(CnoidControlError, match=r'no file .*twig.* \(arm, .*\(stone\); `cnoid'):
        models.find_model('twig', tmp_path)


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    """Its own variable, then that of the desktop, then the home folder."""
    monkeypatch.setenv('CNOID_CONTROL_CACHE', str(tmp_path / 'own'))
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'xdg'))
    monkeypatch.setenv('HOME', str(tmp_path / 'home'))
    assert models.cache_folder() == tmp_path / 'own'
    monkeypatch.delenv('CNOID_CONTROL_CACHE')
    assert models.cache_folder() == tmp_path / 'xdg' / 'cnoid_control'
    monkeypatch.setenv('XDG_CACHE_HOME', 'relative')
    assert models.cache_folder() == tmp_path / 'home' / '.cache' / 'cnoid_control'


def test_the_table_is_consistent():
    """Each name is a plain word and no configuration's; each file lies in a folder of its own."""
    assert len(table.ITEMS) == len(table._items())
    examples = [i for i in table.ITEMS.values() if i.wheel is table.EXAMPLE_ROBOT_DATA]
    assert len({item.file for item in examples}) == 69
    for name, item in table.ITEMS.items():
        assert name.isidentifier(), name
        formats = {'robot': ('URDF', 'MJCF'), 'policy': ('ONNX',)}
        assert item.format in formats[item.kind]
        assert item.kind in models.FOLDERS
        assert any(item.file.startswith(f'{folder}/') for folder in item.folders)
        assert item.size > 0
        assert item.licence


def test_the_robot_of_every_policy_can_be_had() -> None:
    """It is named with the policy, so that one leads to the other."""
    from cnoid_control.catalog.table import ITEMS

    for item in ITEMS.values():
        if item.kind == 'policy':
            assert ITEMS[item.robot].kind == 'robot'
        else:
            assert not item.robot
