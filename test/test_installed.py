"""The wheel that is built from the sdist, installed and used away from the checkout."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest
from distributions import Installation, project_files, run

from cnoid_control import __version__


def git_files(root: Path) -> list[str]:
    """Files that git knows; none where this is not a repository."""
    if not (root / '.git').exists() or not shutil.which('git'):
        return []
    return run(['git', 'ls-files'], root).splitlines()


def test_the_sdist_holds_the_whole_project(sdist: Path, root: Path) -> None:
    """Tests, docs, examples and interfaces too: an unpacked one serves as a checkout."""
    top = f'cnoid_control-{__version__}'
    with tarfile.open(sdist) as archive:
        names = {member.name.removeprefix(f'{top}/') for member in archive if member.isfile()}
    names = {name for name in names if '.egg-info/' not in name}
    assert names - project_files() <= {'PKG-INFO'}
    tracked = set(git_files(root)) or project_files()
    assert {name for name in tracked if not name.startswith('.')} - names == set()


def test_it_is_the_installed_package_that_runs(installation: Installation) -> None:
    """Modules and shared files are those of the wheel; the checkout is not seen."""
    code = 'import cnoid_control.share as s; print(s.__file__, s.share_folder(), sep="\\n")'
    module, shared = run([installation.python, '-c', code], installation.empty).splitlines()
    (site,) = installation.prefix.glob('lib/python3*/site-packages')
    assert Path(module) == site / 'cnoid_control' / 'share.py'
    assert Path(shared) == installation.prefix / 'share' / 'cnoid_control'


def test_it_says_its_version_and_lists_what_came_with_it(installation: Installation) -> None:
    """Controllers and hardware by their entry points, configurations from the shared files."""
    assert installation.command('--version').strip() == f'cnoid_control {__version__}'
    listed = installation.command('list')
    for name in ('sr1_walk', 'trotter_walk', 'ros2_control'):
        assert name in listed


@pytest.mark.parametrize('name', ['sr1_pd', 'trotter_walk'])
def test_it_runs_configurations_that_came_with_it(name: str, installation: Installation) -> None:
    """With model, motion and policy from the shared files."""
    pytest.importorskip('mujoco')
    if name == 'trotter_walk':
        pytest.importorskip('onnxruntime')
    result = json.loads(installation.command('run', name, '--duration', '0.2', '--json'))
    assert result['exit'] == 'completed'
    assert result['duration'] == 0.2


def test_it_shows_a_model_that_came_with_it(installation: Installation) -> None:
    """By its name alone."""
    assert 'joint7' in installation.command('show', 'arm.urdf')


def test_a_new_controller_runs_in_it(installation: Installation) -> None:
    """What `new` writes runs where it was written."""
    pytest.importorskip('mujoco')
    installation.command('new', 'my_controller')
    command = ('run', 'my_controller', '--duration', '0.2', '--json')
    assert json.loads(installation.command(*command))['exit'] == 'completed'


def test_the_page_of_the_viewer_is_in_it(installation: Installation) -> None:
    """The script that the browser gets lies beside the module that sends it."""
    (site,) = installation.prefix.glob('lib/python3*/site-packages')
    assert (site / 'cnoid_control' / 'viewer' / 'overlay.js').is_file()
