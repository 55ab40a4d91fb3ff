"""What can be wrong with a controller."""

from __future__ import annotations

from collections.abc import Iterable

from cnoid_control.exceptions import CnoidControlError, choices


class ControllerError(CnoidControlError):
    """A controller cannot be used as it is."""


class ControllerLoadError(ControllerError):
    """A controller class, or another class that a configuration names, cannot be loaded.

    Attributes:
        traceback: the calls that led to what its file raised, from that file on, line by line.
    """

    def __init__(self, message: str, traceback: str = '') -> None:
        """Say what is wrong, and where it was raised."""
        self.traceback = traceback
        super().__init__(message)


def unknown_plugin(kind: str, name: str, known: Iterable[str]) -> ControllerLoadError:
    """The error about a short name of a kind of class that nothing is registered under."""
    return ControllerLoadError(
        f'unknown {kind} {name!r}; {choices(known)}; '
        "or give 'package.module:Class' or 'path/to/file.py:Class'"
    )


def unknown_controller(name: str, known: Iterable[str]) -> ControllerLoadError:
    """The error about a controller name that nothing is registered under."""
    return unknown_plugin('controller', name, known)
