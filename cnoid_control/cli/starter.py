"""Folders to start from: names of what is written, and writing it."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from pathlib import Path

from cnoid_control.exceptions import CnoidControlError


def check_name(name: str) -> None:
    """Refuse what cannot be the name of a Python module.

    Raises:
        CnoidControlError: it is no Python name in lower case.
    """
    valid = name.isidentifier() and name.isascii() and name == name.lower()
    if not valid or keyword.iskeyword(name) or name.startswith('_'):
        raise CnoidControlError(
            f'{name!r} is no name for a controller; '
            'use lower-case letters, digits and underscores, a letter first: my_controller'
        )


def module_name(text: str) -> str:
    """Name of a Python module that is close to a text: `My-Robot 2` becomes `my_robot_2`."""
    name = re.sub(r'[^0-9a-z]+', '_', text.lower()).strip('_')
    if not name or name[0].isdigit() or keyword.iskeyword(name):
        name = f'robot_{name}'.rstrip('_')
    return name


def class_name(name: str) -> str:
    """Name of the class in a module: `my_robot` has MyRobot."""
    return ''.join(part.capitalize() for part in name.split('_'))


def write_files(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write files into a folder, which is made where it is not there; nothing is overwritten.

    Args:
        folder: the folder.
        files: texts by file name.

    Returns:
        The files.

    Raises:
        CnoidControlError: a file is there already, and nothing was written; or the folder cannot
            be written.
    """
    refuse_existing(folder, files)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            # Whoever has made it meanwhile keeps it, too.
            with (folder / name).open('x', encoding='utf-8') as file:
                file.write(text)
    except FileExistsError as error:
        raise CnoidControlError(f'{error.filename or folder} exists already') from error
    except OSError as error:
        raise CnoidControlError(
            f'{folder} cannot be written: {error.strerror or error}'
        ) from error
    return [folder / name for name in files]


def refuse_existing(folder: Path, names: Mapping[str, str] | list[str]) -> None:
    """Refuse to write into a folder that has one of these files.

    Raises:
        CnoidControlError: it has.
    """
    there = [name for name in names if (folder / name).exists()]
    if there:
        raise CnoidControlError(
            f'{folder} exists already and has {", ".join(there)}: nothing was written; choose '
            'another folder or remove them'
        )
