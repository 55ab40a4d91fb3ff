"""What can be wrong with tasks and constraints."""

from __future__ import annotations

from collections.abc import Iterable

from cnoid_control.exceptions import CnoidControlError, choices


class TaskError(CnoidControlError):
    """A task or a constraint cannot be used as it was given."""


def unknown_type(kind: str, name: object, known: Iterable[str]) -> TaskError:
    """The error about a kind of task, constraint or interpolator that does not exist."""
    return TaskError(f'unknown {kind} type {name!r}; {choices(known)}')


def unknown_task(kind: str, name: str, known: Iterable[str]) -> TaskError:
    """The error about a task, constraint or configuration that was not added."""
    return TaskError(f'unknown {kind} {name!r}; {choices(known)}')


def duplicate_task(kind: str, name: str) -> TaskError:
    """The error about two tasks (or constraints) of one name in one place."""
    return TaskError(f'there is already a {kind} named {name!r}')


def foreign_task(kind: str, name: str) -> TaskError:
    """The error about a task or constraint that is in use somewhere already."""
    return TaskError(
        f'{kind} {name!r} belongs to another controller, {kind} or place of this one; remove it '
        'there first'
    )


def wrong_target(name: str, value: object, expected: str) -> TaskError:
    """The error about a target of the wrong size or with non-finite values."""
    return TaskError(f'target of {name!r}: {expected} expected, got {value}')
