"""The names on the pages docs/from_*.md exist.

A page has tables of three columns, `| theirs | ours | difference |`. What stands in the second
column between backticks is looked up here:

    package.module:Name.attribute     an attribute of a class may also be one of its instances
    config:KEY.KEY                    a key of a configuration file
    cnoid_control COMMAND             a command of the command line

A row whose second column has no such name says in the third what to do instead.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
import textwrap
import typing
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[2] / 'docs'
PAGES = sorted(DOCS.glob('from_*.md'))
HEAD = ['theirs', 'ours', 'difference']


def rows_of(page: Path) -> list[list[str]]:
    """Rows of the tables with our three columns."""
    rows: list[list[str]] = []
    inside = False
    for line in page.read_text(encoding='utf-8').splitlines():
        if not line.startswith('|'):
            inside = False
            continue
        cells = [cell.strip() for cell in re.split(r'(?<!\\)\|', line)[1:-1]]
        if cells == HEAD:
            inside = True
        elif inside and not set(''.join(cells)) <= set('-: '):
            rows.append(cells)
    return rows


def names_on(page: Path) -> list[str]:
    """Everything between backticks in the second columns."""
    return [name for row in rows_of(page) for name in re.findall(r'`([^`]+)`', row[1])]


def look_up(name: str) -> None:
    """Raise LookupError where a name of a page does not exist."""
    if name.startswith('cnoid_control '):
        _look_up_command(name.split()[1])
    elif name.startswith('config:'):
        _look_up_key(name.removeprefix('config:').split('.'))
    else:
        module, _, path = name.partition(':')
        try:
            found: Any = importlib.import_module(module)
        except ImportError as error:
            raise LookupError(f'{name}: {error}') from error
        for part in path.split('.') if path else []:
            if found is None or not (hasattr(found, part) or _is_of_instances(found, part)):
                raise LookupError(f'{name}: no {part!r}')
            found = getattr(found, part, None)


def _look_up_command(command: str) -> None:
    from cnoid_control.cli.command import COMMANDS

    if command not in COMMANDS:
        raise LookupError(f'no command {command!r}')


def _look_up_key(keys: list[str]) -> None:
    from cnoid_control.runtime.config import ROS_KEYS, RunParameters

    if len(keys) == 1 and keys[0] in ROS_KEYS:
        return
    kind: Any = RunParameters
    for key in keys:
        if not dataclasses.is_dataclass(kind):
            return  # A section whose keys belong to somebody else: a controller, a hardware.
        known = {field.name for field in dataclasses.fields(kind)}
        if key not in known:
            raise LookupError(f'no key {key!r} in a configuration')
        kind = typing.get_type_hints(kind)[key]


def _is_of_instances(owner: Any, attribute: str) -> bool:
    """Whether the instances of a class have an attribute: annotated, or set by a method."""
    if not inspect.isclass(owner):
        return False
    for base in owner.__mro__[:-1]:
        if attribute in getattr(base, '__annotations__', {}):
            return True
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
        except (OSError, TypeError):
            continue
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and node.attr == attribute
                and isinstance(node.value, ast.Name)
                and node.value.id == 'self'
            ):
                return True
    return False


@pytest.mark.parametrize(
    ('page', 'name'), [(page.name, name) for page in PAGES for name in names_on(page)]
)
def test_every_name_exists(page, name):
    """What a page offers in the place of another system's name can be imported."""
    look_up(name)


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_every_row_has_three_columns_and_an_answer(page):
    """A row names its own thing and says what differs, or what to do where there is none."""
    rows = rows_of(page)
    assert rows, f'{page.name} has no table | {" | ".join(HEAD)} |'
    for row in rows:
        assert len(row) == 3, row
        assert '`' in row[0], row
        assert '`' in row[1] or row[2], row


def test_names_that_do_not_exist_are_found():
    """The look-up is no rubber stamp."""
    look_up('cnoid_control:ControllerIO.time_step')
    look_up('cnoid_control.body:Link.q_target')
    look_up('cnoid_control run')
    look_up('config:controller')
    for name in (
        'cnoid_control:ControllerIO.time_stop',
        'cnoid_control.bodies:Link',
        'cnoid_control.body:Link.q.nothing',
        'cnoid_control jump',
        'config:controler',
    ):
        with pytest.raises(LookupError):
            look_up(name)
