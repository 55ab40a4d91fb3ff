"""Standard output and error that nobody reads any more, as after `| head -1`."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, TextIO


class _Guarded:
    """A stream that drops what is written to it from the moment on that its pipe is closed.

    Attributes:
        is_closed: whether its pipe is.
    """

    def __init__(self, stream: TextIO) -> None:
        """Stand in front of a stream."""
        self._stream = stream
        self.is_closed = False

    def write(self, text: str) -> int:
        """Write, or drop it."""
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            self._drop()
            return len(text)

    def flush(self) -> None:
        """Flush, or drop what is left."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._drop()

    def _drop(self) -> None:
        self.is_closed = True
        # What is buffered is written there, too, at the end of the process at last.
        with open(os.devnull, 'wb') as nothing:
            os.dup2(nothing.fileno(), self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        """Everything else is the stream's."""
        return getattr(self._stream, name)


class GuardedStreams:
    """Have a print() into a closed pipe do nothing, while this is entered.

    A controller that prints is not at fault when the reader of its output ends: the robot is not
    to be stopped for that.
    """

    def __init__(self) -> None:
        """Take the streams of this moment."""
        self._before = sys.stdout, sys.stderr
        self._output, self._error = _Guarded(sys.stdout), _Guarded(sys.stderr)

    @property
    def is_closed(self) -> bool:
        """Whether the pipe of the standard output has been closed."""
        return self._output.is_closed

    def __enter__(self) -> GuardedStreams:
        """Put the guards in front."""
        sys.stdout, sys.stderr = self._output, self._error  # type: ignore[assignment]
        return self

    def __exit__(self, *error: object) -> None:
        """Write what is buffered, and have the streams as they were."""
        with contextlib.suppress(ValueError):
            self._output.flush()
        sys.stdout, sys.stderr = self._before
