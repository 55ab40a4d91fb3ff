"""The root of every error that cnoid_control raises on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterable


class CnoidControlError(Exception):
    """Base of all errors of this package: catch this one to catch them all."""


def choices(names: Iterable[object]) -> str:
    """Text that lists the valid choices of an error message, in their own order."""
    listed = ', '.join(str(name) for name in names)
    return f'choose from: {listed}' if listed else 'there is none to choose from'


def listed(names: Iterable[object], most: int = 4) -> str:
    """Text that lists the first of many names, and says how many more there are."""
    every = [str(name) for name in names]
    if len(every) <= most + 1:
        return ', '.join(every)
    return f'{", ".join(every[:most])} and {len(every) - most} more'


def safe_str(value: object, to_text: Callable[[object], str] = str) -> str:
    """Text of an object of a controller, even if its own `__str__` raises."""
    try:
        return f'{to_text(value)}'
    except BaseException:
        # Ctrl-C, too: the text is for a message about a run that is ending already.
        return f'<unprintable {type(value).__name__}>'


def describe(error: BaseException) -> str:
    """Class and text of an exception, in one line of a message."""
    return f'{type(error).__name__}: {safe_str(error)}'
