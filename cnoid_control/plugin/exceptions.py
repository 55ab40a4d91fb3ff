"""What can be wrong with a controller."""

from __future__ import annotations

from collections.abc import Iterable

from cnoid_control.exceptions import CnoidControlError, choices


class ControllerError(CnoidControlError):
    """A controller cannot be used as it is."""


class ControllerLoadError(ControllerError):
    """A controller class cannot be found or loaded."""


def unknown_controller(name: str, known: Iterable[str]) -> ControllerLoadError:
    """The error about a controller name that nothing is registered under."""
    return ControllerLoadError(
        f'unknown controller {name!r}; {choices(known)}; '
        "or give 'package.module:Class' or 'path/to/file.py:Class'"
    )
