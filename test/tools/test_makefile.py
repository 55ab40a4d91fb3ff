"""make in a checkout whose path has a blank, with an interpreter whose path has one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which('make') is None, reason='make is not installed')
# Stands for the interpreter of the environment: says with what it was called.
STUB = '#!/bin/sh\necho "called with $*"\n'


@pytest.fixture
def checkout(tmp_path: Path, root: Path) -> Path:
    """Return a folder with the Makefile and stubs for environment and set-up."""
    folder = tmp_path / 'my robots' / 'cnoid control'
    (folder / '.venv' / 'bin').mkdir(parents=True)
    (folder / 'tools').mkdir()
    shutil.copy(root / 'Makefile', folder)
    stub = folder / '.venv' / 'bin' / 'python'
    stub.write_text(STUB)
    stub.chmod(0o755)
    speak = 'import os, sys; print(os.environ["HOME"], sys.executable, sep="\\n")'
    (folder / 'tools' / 'setup_env.py').write_text(speak)
    return folder


def make(folder: Path, *words: str, **variables: str) -> list[str]:
    """Lines that make prints, without HOME unless it is given."""
    # Nor with what a make hands down to those that it runs, as `make test` does.
    left_out = {'HOME', 'MAKEFLAGS', 'MAKELEVEL', 'MAKEOVERRIDES', 'MFLAGS', 'PYTHON'}
    environment = {key: value for key, value in os.environ.items() if key not in left_out}
    done = subprocess.run(
        ['make', *words],
        cwd=folder,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_step_runs_where_a_path_has_a_blank(checkout: Path) -> None:
    """The set-up by the given interpreter, what follows by that of the environment."""
    python = checkout / 'an interpreter'
    python.symlink_to(sys.executable)
    _, setup, *calls = make(checkout, 'test', f'PYTHON={python}')
    assert setup == str(python)
    assert [call.split()[3] for call in calls] == ['ruff', 'ruff', 'mypy', 'pytest']


def test_without_a_home_folder_the_environment_is_one(checkout: Path) -> None:
    """What libraries keep for a user does not go to the root folder; a given home is left."""
    assert make(checkout, 'setup', f'PYTHON={sys.executable}')[0] == str(checkout / '.venv')
    assert make(checkout, 'setup', f'PYTHON={sys.executable}', HOME='/tmp')[0] == '/tmp'


def test_an_interpreter_that_is_too_old_gives_way(checkout: Path) -> None:
    """To the first of the path that is new enough; where there is none, what to do is said."""
    old = checkout / 'old'
    old.write_text('#!/bin/sh\nexit 1\n')
    old.chmod(0o755)
    tools = checkout / 'path'
    tools.mkdir()
    for name in ('sh', 'make'):
        (tools / name).symlink_to(str(shutil.which(name)))
    (tools / 'python3.12').symlink_to(sys.executable)
    found = make(checkout, 'setup', f'PYTHON={old}', PATH=str(tools))[1]
    assert Path(found).name == 'python3.12'
    (tools / 'python3.12').unlink()
    done = subprocess.run(
        ['make', 'setup', f'PYTHON={old}'],
        cwd=checkout,
        env={'PATH': str(tools)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert 'Python 3.10 or newer is needed' in done.stdout
