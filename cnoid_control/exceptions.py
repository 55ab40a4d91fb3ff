"""The root of every error that cnoid_control raises on purpose."""

from __future__ import annotations

from collections.abc import Iterable


class CnoidControlError(Exception):
    """Base of all errors of this package: catch this one to catch them all."""


def choices(names: Iterable[object]) -> str:
    """Text that lists the valid choices of an error message, in their own order."""
    listed = ', '.join(str(name) for name in names)
    return f'choose from: {listed}' if listed else 'there is none to choose from'
