"""What can be wrong with tasks and constraints: one class per fact."""

from __future__ import annotations

from collections.abc import Iterable

from cnoid_control.exceptions import CnoidControlError, choices


class TaskError(CnoidControlError):
    """A task or a constraint cannot be used as it was given."""


class UnknownTaskType(TaskError):
    """A kind of task, constraint or interpolator that the controller does not have."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        """Name what was asked for and what exists."""
        super().__init__(f'unknown {kind} type {name!r}; {choices(known)}')


class UnknownTask(TaskError):
    """A task, constraint or configuration that was not added."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        """Name it and those that were added."""
        super().__init__(f'unknown {kind} {name!r}; {choices(known)}')


class DuplicateTask(TaskError):
    """Two tasks (or constraints) of one name in one place."""

    def __init__(self, kind: str, name: str) -> None:
        """Name it."""
        super().__init__(f'there is already a {kind} named {name!r}')


class ForeignTask(TaskError):
    """A task or constraint that was made for another controller."""

    def __init__(self, kind: str, name: str) -> None:
        """Name it."""
        super().__init__(f'{kind} {name!r} belongs to another controller')


class WrongTarget(TaskError):
    """A target of the wrong size, with non-finite values or in an unknown frame."""

    def __init__(self, name: str, value: object, expected: str) -> None:
        """Name the task, the value and what was expected."""
        super().__init__(f'target of {name!r}: {expected} expected, got {value}')


class UnknownGroup(TaskError):
    """A joint group that was not defined."""

    def __init__(self, key: str, name: str, known: Iterable[str]) -> None:
        """Name the option, the group asked for and those that exist."""
        super().__init__(f'{key}: unknown joint group {name!r}; {choices(known)}')
