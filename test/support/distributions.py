"""The package as others get it: sdist, the wheel from it, and an environment with that wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What is made while one works: anywhere, and in the checkout's own folder.
MADE = ('.*', '__pycache__', '*.py[co]', '*.egg-info')
MADE_ON_TOP = ('build', 'install', 'log', 'out', 'dist')
# A folder with a blank in its name, as home folders may have.
BUILT = 'built from it'


def project_files() -> set[str]:
    """Paths of the checkout's own files, hidden ones left out, relative to it."""
    found: set[str] = set()
    for folder, folders, files in os.walk(ROOT):
        inside = Path(folder).relative_to(ROOT)
        made = (*MADE, *MADE_ON_TOP) if inside == Path() else MADE
        folders[:] = [name for name in folders if not _matches(name, made)]
        found |= {str(inside / name) for name in files if not _matches(name, made)}
    return found


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def copy_project(folder: Path) -> None:
    """Copy the checkout's own files, for tools that write beside the sources."""
    for name in project_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


def run(command: list[str | Path], folder: Path, **variables: str) -> str:
    """Run a command in a folder, without a way to the checkout; return its standard output."""
    inherited = {name: value for name, value in os.environ.items() if name != 'PYTHONPATH'}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**inherited, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f'{command}: {done.stdout}{done.stderr}'
    return done.stdout


@dataclass(frozen=True)
class Installation:
    """An environment with the wheel, that sees the requirements of the present one."""

    prefix: Path
    empty: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.prefix / 'bin' / 'python'

    def command(self, *arguments: str) -> str:
        """Output of the command line, called in an empty folder."""
        return run([self.prefix / 'bin' / 'cnoid_control', *arguments], self.empty)


def _visible_folders() -> list[str]:
    """Where this interpreter finds what is installed, except in the checkout itself."""
    own = (ROOT, ROOT / 'test', ROOT / 'test' / 'support')
    return [
        entry for entry in sys.path if entry and Path(entry).is_dir() and Path(entry) not in own
    ]


@pytest.fixture(scope='session')
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist once."""
    folder = tmp_path_factory.mktemp('sdist') / 'with a blank'
    copy_project(folder / 'source')
    code = f'from setuptools import build_meta; build_meta.build_sdist({str(folder)!r})'
    run([sys.executable, '-c', code], folder / 'source')
    (path,) = folder.glob('*.tar.gz')
    return path


@pytest.fixture(scope='session')
def wheel_path(sdist: Path) -> Path:
    """Build the wheel from the sdist, without a network."""
    folder = sdist.parent / BUILT
    pip = [sys.executable, '-m', 'pip', 'wheel', '--no-deps', '--no-build-isolation', '--no-index']
    run([*pip, '-q', '-w', folder, sdist], sdist.parent)
    (path,) = folder.glob('*.whl')
    return path


@pytest.fixture(scope='session')
def installation(wheel_path: Path) -> Installation:
    """Install the wheel into an environment of its own."""
    prefix, empty = wheel_path.parent / 'environment', wheel_path.parent / 'empty'
    empty.mkdir()
    run([sys.executable, '-m', 'venv', '--without-pip', prefix], empty)
    install = ['install', '--no-deps', '--no-index', '-q', wheel_path]
    run([sys.executable, '-m', 'pip', '--python', prefix / 'bin' / 'python', *install], empty)
    (site,) = prefix.glob('lib/python3*/site-packages')
    (site / 'requirements.pth').write_text('\n'.join(_visible_folders()) + '\n')
    return Installation(prefix, empty)
