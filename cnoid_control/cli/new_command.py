"""`cnoid_control new`: a working controller to start from."""

from __future__ import annotations

import argparse
import keyword
from pathlib import Path
from string import Template

from cnoid_control.cli.command import Command
from cnoid_control.cli.new_template import CONFIG, CONTROLLER, TEST
from cnoid_control.exceptions import CnoidControlError


class InvalidControllerName(CnoidControlError):
    """A name that cannot be that of a Python module."""

    def __init__(self, name: str) -> None:
        """Show the name and say what is valid."""
        super().__init__(
            f'{name!r} is no name for a controller; '
            'use lower-case letters, digits and underscores, a letter first: my_controller'
        )


class FolderExists(CnoidControlError):
    """A folder or file that is there already and is not overwritten."""

    def __init__(self, path: Path) -> None:
        """Name it."""
        super().__init__(f'{path} exists already; choose another name or remove it')


class FolderNotWritable(CnoidControlError):
    """A folder that cannot be made."""

    def __init__(self, path: Path, error: OSError) -> None:
        """Name it and what the system says."""
        super().__init__(f'{path} cannot be written: {error.strerror or error}')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument('name', metavar='NAME', help='name in snake case: my_controller')


def create_controller(name: str, parent: Path) -> list[Path]:
    """Write a controller with its config and test into a new folder of that name.

    Args:
        name: name in snake case.
        parent: folder to put the new one in.

    Returns:
        The files.

    Raises:
        InvalidControllerName: the name is no Python name in lower case.
        FolderExists: there is something of that name.
        FolderNotWritable: it cannot be made.
    """
    valid = name.isidentifier() and name.isascii() and name == name.lower()
    if not valid or keyword.iskeyword(name) or name.startswith('_'):
        raise InvalidControllerName(name)
    folder = parent / name
    class_name = ''.join(part.capitalize() for part in name.split('_'))
    words = {'name': name, 'class_name': class_name}
    files = {
        folder / f'{name}.py': CONTROLLER,
        folder / f'{name}.yaml': CONFIG,
        folder / f'test_{name}.py': TEST,
    }
    try:
        folder.mkdir()
        for path, template in files.items():
            path.write_text(Template(template).substitute(words), encoding='utf-8')
    except FileExistsError as error:
        raise FolderExists(folder) from error
    except OSError as error:
        raise FolderNotWritable(folder, error) from error
    return list(files)


def run(args: argparse.Namespace) -> int:
    """Write the files and say how to go on."""
    for path in create_controller(args.name, Path()):
        print(f'wrote {path}')
    print(f'\nrun it:   cnoid_control run {args.name} --duration 10')
    print(f'test it:  python3 -m pytest {args.name}')
    return 0


NEW = Command('new', 'write a working controller with its config and test', add_arguments, run)
