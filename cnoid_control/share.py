"""The shared files of the package: configurations, launch files and robot models."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.parameters import FileName

NAME = 'cnoid_control'
FOLDERS = ('config', 'launch', 'motion', 'policy', 'security', 'urdf')


@lru_cache(maxsize=1)
def share_folder() -> Path:
    """Folder that holds config/, launch/, motion/, policy/ and urdf/.

    In a checkout that is the checkout itself; where colcon or pip installed the package it is
    share/cnoid_control of the same installation.

    Raises:
        CnoidControlError: the package was copied without its shared files.
    """
    package = Path(__file__).resolve().parent
    if (package.parent / 'package.xml').is_file():
        return package.parent
    for prefix in package.parents:
        if (prefix / 'share' / NAME / 'package.xml').is_file():
            return prefix / 'share' / NAME
    raise CnoidControlError(f'no share/{NAME} beside {package}: install the package again')


def shared_file(folder: str, name: str | Path, suffix: str = '') -> Path:
    """Find a file by its path, or by its name among the package's shared files.

    Args:
        folder: one of FOLDERS.
        name: path of a file, or name of a shared file. A `FileName` that is relative is a name:
            it was not found in the folder of its configuration.
        suffix: ending that may be left out of the name, such as '.yaml'.

    Raises:
        CnoidControlError: there is no such file; the message lists those that exist.
    """
    path = Path(name)
    if path.is_file() and (path.is_absolute() or not isinstance(name, FileName)):
        return path
    shared = share_folder() / folder
    for candidate in (shared / name, shared / f'{name}{suffix}'):
        if candidate.is_file():
            return candidate
    files = (path for path in shared.rglob(f'*{suffix}') if path.is_file())
    known = choices(sorted(str(path.relative_to(shared)) for path in files))
    raise CnoidControlError(f'{str(name)!r} is neither a file nor in {shared}; {known}')
