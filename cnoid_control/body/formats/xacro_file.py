"""Expands xacro files to URDF text."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.formats.resources import find_package
from cnoid_control.exceptions import choices

logger = logging.getLogger(__name__)

# xacro keeps what it is working on in variables of its module.
_one_at_a_time = threading.Lock()

# What xacro quotes of the file in its messages.
EXPRESSION = re.compile(r"expression '(.*?)'", re.DOTALL)
UNDEFINED = re.compile(r'Undefined substitution argument (\S+)')


class _Arguments(dict[str, str]):
    """Arguments by name that remember which names the file has asked for."""

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(values)
        self.asked: dict[str, None] = {}

    def __contains__(self, name: object) -> bool:
        self.asked[str(name)] = None
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.asked[name] = None
        return super().__getitem__(name)


def expand_xacro(path: Path, arguments: Mapping[str, Any] | None = None) -> str:
    """URDF text that a xacro file stands for.

    `$(find NAME)` is the folder that `package://NAME` would be: of the ament index, or around the
    file.

    Args:
        path: the file.
        arguments: values of its `<xacro:arg>` by name; those that are not given have the file's
            defaults.

    Raises:
        ModelError: xacro is not installed, or the file cannot be expanded; the message says in
            which file, where, and by which macros.
        ModelError: an argument that the file does not have.
    """
    try:
        import xacro
    except ImportError as error:
        raise ModelError(
            f'xacro is not installed ({error}): pip install xacro, or the ROS package xacro',
            str(path),
        ) from error
    given = _Arguments({name: _text(value) for name, value in (arguments or {}).items()})
    spoken = io.StringIO()
    with _one_at_a_time, _find_packages_around(path), contextlib.redirect_stderr(spoken):
        try:
            text = xacro.process_file(str(path), mappings=given).toxml()
        except Exception as error:
            # Expressions are evaluated: whatever they raise is a mistake of the file.
            raise ModelError(_message(error), _place(xacro, error, path)) from error
        finally:
            # A macro that failed would be named in the next file's messages.
            xacro.init_stacks(None)
    for line in spoken.getvalue().splitlines():
        logger.warning('%s: %s', path, line)
    unknown = sorted(given.keys() - given.asked)
    if unknown:
        raise ModelError(f'has no argument {unknown[0]!r}; {choices(given.asked)}', str(path))
    return text


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@contextlib.contextmanager
def _find_packages_around(path: Path) -> Iterator[None]:
    """Have `$(find NAME)` look where `package://NAME` is looked for.

    xacro itself looks in the ament index alone, which does not know a checkout that is not built.
    """
    from xacro import substitution_args

    own: Callable[[str], str] = substitution_args._eval_find

    def find(name: str) -> str:
        return str(find_package(name, path.parent))

    substitution_args._eval_find = find
    substitution_args._eval_dict['find'] = find
    try:
        yield
    finally:
        substitution_args._eval_find = own
        substitution_args._eval_dict['find'] = own


def _message(error: Exception) -> str:
    if isinstance(error, ExpatError):
        return f'is not XML that can be read: {error}'
    for cause in (error, getattr(error, 'exc', None), error.__cause__, error.__context__):
        if isinstance(cause, ModelError):
            return str(cause)
    said = ' '.join(str(error).split()) or repr(error)
    undefined = UNDEFINED.search(said)
    if undefined:
        name = undefined.group(1)
        return (
            f'needs a value for its argument {name!r}: give it as robot.arguments.{name} of a '
            f'configuration, or by --argument {name}=VALUE to a command that loads the model alone'
        )
    return f'cannot be expanded: {said}'


def _place(xacro: Any, error: Exception, path: Path) -> str:
    """File and line of a mistake, with the macros and files that led there."""
    files = [file for file in xacro.filestack or [] if file] or [str(path)]
    place = str(files[-1])
    line = _line(place, str(error))
    if line:
        place += f':{line}'
    macros = [macro.body.getAttribute('name') for macro in reversed(xacro.macrostack or [])]
    if macros:
        place += f' (in macro {", called by ".join(repr(name) for name in macros)})'
    if len(files) > 1:
        place += f' (included by {", ".join(str(file) for file in reversed(files[:-1]))})'
    return place


def _line(file: str, message: str) -> int:
    """Number of the first line that has what a message quotes; 0 where there is none."""
    quoted = EXPRESSION.search(message) or UNDEFINED.search(message)
    if quoted is None:
        return 0
    try:
        lines = Path(file).read_text(encoding='utf-8').splitlines()
    except (OSError, UnicodeDecodeError):
        return 0
    return next((at for at, line in enumerate(lines, 1) if quoted.group(1) in line), 0)
