"""`--json`: one object on the standard output, alone, whatever happens."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, TextIO

from cnoid_control.exceptions import CnoidControlError, describe

# Where the object goes, while `one_object` lasts; None once it is there.
_stream: ContextVar[TextIO | None] = ContextVar('stream', default=None)


def print_object(value: Any) -> None:
    """Print the object of a command; a text is JSON already."""
    text = value if isinstance(value, str) else json.dumps(value)
    print(text, file=_stream.get() or sys.stdout, flush=True)
    _stream.set(None)


def failure(reason: str, traceback: str = '') -> dict[str, str]:
    """The object of a command that failed."""
    found = {'exit': 'failed', 'reason': reason}
    return found | ({'traceback': traceback} if traceback else {})


@contextlib.contextmanager
def one_object() -> Iterator[None]:
    """Have nothing but one object on the standard output: all else goes to the standard error.

    What ends the command before it has printed its object is said in one, and raised on.
    """
    with _stdout_to_stderr() as stream:
        token = _stream.set(stream)
        try:
            yield
        except CnoidControlError as error:
            _tell(failure(str(error), getattr(error, 'traceback', '')))
            raise
        except KeyboardInterrupt:
            _tell(failure('interrupted'))
            raise
        except BrokenPipeError:
            raise
        except Exception as error:
            _tell(failure(describe(error)))
            raise
        finally:
            _stream.reset(token)


def _tell(found: dict[str, str]) -> None:
    if _stream.get() is not None:
        print_object(found)


@contextlib.contextmanager
def _stdout_to_stderr() -> Iterator[TextIO]:
    """What the standard output was; other processes that are started write to the error, too."""
    out = sys.stdout
    out.flush()
    try:
        is_own = out.fileno() == 1
    except (AttributeError, io.UnsupportedOperation):
        is_own = False
    if not is_own:
        with contextlib.redirect_stdout(sys.stderr):
            yield out
        return
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with (
            open(kept, 'w', encoding='utf-8', closefd=False) as stream,
            contextlib.redirect_stdout(sys.stderr),
        ):
            yield stream
    finally:
        os.dup2(kept, 1)
        os.close(kept)
