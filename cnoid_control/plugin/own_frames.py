"""Where an exception of a controller comes from, without the calls of this package around it."""

from __future__ import annotations

import importlib
import itertools
import os
import traceback
from pathlib import Path

# Rooms of the package whose calls are around every controller's.
FRAMEWORK = ('plugin', 'ros', 'runtime')


def own_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Calls that led to an exception, from the controller's own file on."""
    package = Path(__file__).parents[1]
    around = [str(package / room) + os.sep for room in FRAMEWORK]
    around.append(str(Path(importlib.__file__).parent) + os.sep)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith('<frozen importlib')
    ]
    own = itertools.dropwhile(lambda frame: frame.filename.startswith(tuple(around)), frames)
    return list(own)


def place_text(frames: list[traceback.FrameSummary]) -> str:
    """File, line and function of the innermost call and of the controller's own."""
    if not frames:
        return ''
    first, last = frames[0], frames[-1]
    place = f' ({Path(last.filename).name}:{last.lineno} in {last.name}'
    if last is not first:
        place += f', called from {Path(first.filename).name}:{first.lineno} in {first.name}'
    return place + ')'


def calls_text(error: BaseException, frames: list[traceback.FrameSummary]) -> str:
    """Calls line by line; for wrong syntax, with the line that has it."""
    lines = traceback.format_list(frames)
    if isinstance(error, SyntaxError):
        lines += traceback.format_exception_only(error)[:-1]
    return ''.join(lines).rstrip()
