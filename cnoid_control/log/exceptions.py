"""What can be wrong with a log file: one class per fact."""

from __future__ import annotations

from collections.abc import Iterable

from cnoid_control.exceptions import CnoidControlError, choices


class LogError(CnoidControlError):
    """A log file cannot be written or used."""


class LogNotWritable(LogError):
    """A log file that cannot be created."""

    def __init__(self, path: object, error: OSError) -> None:
        """Name the file and what the system says."""
        super().__init__(f'{path} cannot be written: {error.strerror or error}')


class LogNotReadable(LogError):
    """A file that is no log of this package, or is damaged."""

    def __init__(self, path: object, message: str) -> None:
        """Name the file and what is wrong with it."""
        super().__init__(f'{path}: {message}')


class UnknownTopic(LogError):
    """A topic that a log does not have."""

    def __init__(self, path: object, topic: str, known: Iterable[str]) -> None:
        """Name the file, the topic and those that there are."""
        super().__init__(f'{path} has no topic {topic!r}; {choices(known)}')
