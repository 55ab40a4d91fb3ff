"""What can be wrong with composed controllers."""

from __future__ import annotations

from collections.abc import Iterable

from cnoid_control.exceptions import CnoidControlError, choices


class CompositionError(CnoidControlError):
    """Controllers that cannot be put together or run as they are."""


def composition_cycle(names: Iterable[str]) -> CompositionError:
    """The error about controllers that wait for each other in a tick or contain themselves."""
    return CompositionError(f'cycle without delay: {" -> ".join(names)}')


def unknown_item(item: str, known: Iterable[str]) -> CompositionError:
    """The error about an item that no message has."""
    return CompositionError(f'unknown item {item!r}; {choices(known)}')
